//! ethtool by the `SIOCETHTOOL` ioctl, for kernels without the netlink family or a command of it.
//!
//! A request is an array of 32-bit words that starts with the command; the kernel writes its answer over it. The
//! structures are those of `linux/ethtool.h`, as offsets in words.

use super::{Channels, Coalesce, EthtoolError, Feature, Pause, Rings, Side};
use nix::errno::Errno;
use nix::libc;
use std::os::fd::AsRawFd;

nix::ioctl_readwrite_bad!(siocethtool, 0x8946, libc::ifreq);

/// A request with the space that its answer takes.
struct Request {
    words: Vec<u32>,
}

// Commands, and the length of their structures in words.
const GET_COALESCE: (u32, usize) = (0x0e, 23);
const SET_COALESCE: u32 = 0x0f;
const GET_RINGS: (u32, usize) = (0x10, 9);
const SET_RINGS: u32 = 0x11;
const GET_PAUSE: (u32, usize) = (0x12, 4);
const SET_PAUSE: u32 = 0x13;
const GET_STRINGS: u32 = 0x1b;
const GET_STRING_SET_INFO: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_CHANNELS: (u32, usize) = (0x3c, 9);
const SET_CHANNELS: u32 = 0x3d;

/// The string set that names the features.
const FEATURE_NAMES: u32 = 4;

/// Length of a name in a string set, byte.
const NAME_LENGTH: usize = 32;

/// More features than any kernel has (64 in 6.18), so that no answer outgrows its space.
const MOST_FEATURES: usize = 1024;

// Words of `struct ethtool_ringparam`.
const RX_RING_MAX: usize = 1;
const TX_RING_MAX: usize = 4;
const RX_RING: usize = 5;
const TX_RING: usize = 8;

// Words of `struct ethtool_channels`.
const RX_CHANNELS_MAX: usize = 1;
const TX_CHANNELS_MAX: usize = 2;
const COMBINED_MAX: usize = 4;
const RX_CHANNELS: usize = 5;
const TX_CHANNELS: usize = 6;
const COMBINED: usize = 8;

// Words of `struct ethtool_coalesce`.
const ADAPTIVE_RX: usize = 10;
const ADAPTIVE_TX: usize = 11;

// Words of `struct ethtool_pauseparam`.
const PAUSE_RX: usize = 2;
const PAUSE_TX: usize = 3;

pub(super) fn rings(ifname: &str) -> Result<Rings, EthtoolError> {
    Ok(parse_rings(&Request::fixed(GET_RINGS).ask(ifname)?))
}

pub(super) fn set_rings(ifname: &str, rx: Option<u32>, tx: Option<u32>) -> Result<(), EthtoolError> {
    let mut words = Request::fixed(GET_RINGS).ask(ifname)?;
    replace(&mut words, RX_RING, rx);
    replace(&mut words, TX_RING, tx);
    Request::again(SET_RINGS, words).ask(ifname).map(drop)
}

pub(super) fn channels(ifname: &str) -> Result<Channels, EthtoolError> {
    Ok(parse_channels(&Request::fixed(GET_CHANNELS).ask(ifname)?))
}

pub(super) fn set_combined(ifname: &str, combined: u32) -> Result<(), EthtoolError> {
    let mut words = Request::fixed(GET_CHANNELS).ask(ifname)?;
    replace(&mut words, COMBINED, Some(combined));
    Request::again(SET_CHANNELS, words).ask(ifname).map(drop)
}

/// The ioctl cannot say that a driver does not offer adaptive moderation: it then reads as off, and setting it is
/// refused.
pub(super) fn coalesce(ifname: &str) -> Result<Coalesce, EthtoolError> {
    let words = Request::fixed(GET_COALESCE).ask(ifname)?;
    let switch = |at: usize| words.get(at).map(|word| *word != 0);
    Ok(Coalesce {
        adaptive_rx: switch(ADAPTIVE_RX),
        adaptive_tx: switch(ADAPTIVE_TX),
    })
}

pub(super) fn set_adaptive(ifname: &str, side: Side, on: bool) -> Result<(), EthtoolError> {
    let mut words = Request::fixed(GET_COALESCE).ask(ifname)?;
    let at = match side {
        Side::Rx => ADAPTIVE_RX,
        Side::Tx => ADAPTIVE_TX,
    };
    replace(&mut words, at, Some(u32::from(on)));
    Request::again(SET_COALESCE, words).ask(ifname).map(drop)
}

pub(super) fn pause(ifname: &str) -> Result<Pause, EthtoolError> {
    let words = Request::fixed(GET_PAUSE).ask(ifname)?;
    let is_on = |at: usize| words.get(at).is_some_and(|word| *word != 0);
    Ok(Pause {
        rx: is_on(PAUSE_RX),
        tx: is_on(PAUSE_TX),
    })
}

pub(super) fn set_pause(ifname: &str, pause: Pause) -> Result<(), EthtoolError> {
    let mut words = Request::fixed(GET_PAUSE).ask(ifname)?;
    replace(&mut words, PAUSE_RX, Some(u32::from(pause.rx)));
    replace(&mut words, PAUSE_TX, Some(u32::from(pause.tx)));
    Request::again(SET_PAUSE, words).ask(ifname).map(drop)
}

pub(super) fn feature(ifname: &str, name: &str) -> Result<Feature, EthtoolError> {
    let names = feature_names(ifname)?;
    let bit = position(&names, name)?;
    let blocks = names.len().div_ceil(32);
    parse_feature(&Request::features(blocks).ask(ifname)?, bit)
        .ok_or_else(|| EthtoolError::Broken("ethtool answer: no such block of features".to_owned()))
}

pub(super) fn set_feature(ifname: &str, name: &str, on: bool) -> Result<(), EthtoolError> {
    let names = feature_names(ifname)?;
    let bit = position(&names, name)?;
    let blocks = names.len().div_ceil(32);
    let mut words = vec![SET_FEATURES, u32::try_from(blocks).unwrap_or(u32::MAX)];
    for block in 0..blocks {
        let mask = if block == bit / 32 { 1_u32 << (bit % 32) } else { 0 };
        // Which bits are valid in this request, and their values.
        words.extend([mask, if on { mask } else { 0 }]);
    }
    Request { words }.ask(ifname).map(drop)
}

/// The number of the bit for a feature.
fn position(names: &[String], name: &str) -> Result<usize, EthtoolError> {
    names
        .iter()
        .position(|found| found == name)
        .ok_or_else(|| EthtoolError::Unsupported(format!("the kernel knows no feature {name}")))
}

/// The names of all features, in the order of their bits.
fn feature_names(ifname: &str) -> Result<Vec<String>, EthtoolError> {
    // command, reserved, mask of string sets (64 bits), then a count for each set that was asked for
    let mask = 1_u64 << FEATURE_NAMES;
    let [low, high] = halves(mask);
    let words = vec![GET_STRING_SET_INFO, 0, low, high, 0];
    let answer = Request { words }.ask(ifname)?;
    let count = answer.get(4).copied().unwrap_or_default();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > MOST_FEATURES {
        return Err(EthtoolError::Broken(format!("ethtool answer: {count} features")));
    }
    // The kernel writes all names whatever the space, so there is space for more than there can be.
    let mut words = vec![GET_STRINGS, FEATURE_NAMES, 0];
    words.resize(3 + MOST_FEATURES * NAME_LENGTH / 4, 0);
    Ok(parse_names(&Request { words }.ask(ifname)?, count))
}

/// The halves of a 64-bit mask as they lie in memory.
fn halves(mask: u64) -> [u32; 2] {
    let bytes = mask.to_ne_bytes();
    let half = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [half(0), half(4)]
}

fn parse_names(words: &[u32], count: usize) -> Vec<String> {
    let bytes: Vec<u8> = words.iter().skip(3).flat_map(|word| word.to_ne_bytes()).collect();
    bytes
        .chunks_exact(NAME_LENGTH)
        .take(count)
        .map(super::super::netlink::text)
        .collect()
}

fn parse_rings(words: &[u32]) -> Rings {
    // A ring that can hold nothing is no ring.
    let max = |at: usize| words.get(at).copied().filter(|max| *max > 0);
    let now = |at: usize, max: Option<u32>| words.get(at).copied().filter(|_| max.is_some());
    let (rx_max, tx_max) = (max(RX_RING_MAX), max(TX_RING_MAX));
    Rings {
        rx: now(RX_RING, rx_max),
        tx: now(TX_RING, tx_max),
        rx_max,
        tx_max,
    }
}

fn parse_channels(words: &[u32]) -> Channels {
    let max = |at: usize| words.get(at).copied().filter(|max| *max > 0);
    let now = |at: usize, max: Option<u32>| words.get(at).copied().filter(|_| max.is_some());
    let (rx_max, tx_max, combined_max) = (max(RX_CHANNELS_MAX), max(TX_CHANNELS_MAX), max(COMBINED_MAX));
    Channels {
        rx: now(RX_CHANNELS, rx_max),
        tx: now(TX_CHANNELS, tx_max),
        combined: now(COMBINED, combined_max),
        rx_max,
        tx_max,
        combined_max,
    }
}

/// A bit out of blocks of (available, requested, active, never changed).
fn parse_feature(words: &[u32], bit: usize) -> Option<Feature> {
    let block = words.get(2 + bit / 32 * 4..)?.get(..4)?;
    let mask = 1_u32 << (bit % 32);
    Some(Feature {
        active: block[2] & mask != 0,
        fixed: block[0] & mask == 0 || block[3] & mask != 0,
    })
}

fn replace(words: &mut [u32], at: usize, value: Option<u32>) {
    if let (Some(word), Some(value)) = (words.get_mut(at), value) {
        *word = value;
    }
}

impl Request {
    /// A get with a structure of fixed length.
    fn fixed((command, length): (u32, usize)) -> Self {
        let mut words = vec![0; length];
        replace(&mut words, 0, Some(command));
        Self { words }
    }

    /// A set with the structure that a get filled.
    fn again(command: u32, mut words: Vec<u32>) -> Self {
        replace(&mut words, 0, Some(command));
        Self { words }
    }

    /// A get of so many blocks of features.
    fn features(blocks: usize) -> Self {
        let mut words = vec![GET_FEATURES, u32::try_from(blocks).unwrap_or(u32::MAX)];
        words.resize(2 + blocks * 4, 0);
        Self { words }
    }

    /// Asks the kernel; returns the words with its answer in them.
    fn ask(mut self, ifname: &str) -> Result<Vec<u32>, EthtoolError> {
        let socket = nix::sys::socket::socket(
            nix::sys::socket::AddressFamily::Inet,
            nix::sys::socket::SockType::Datagram,
            nix::sys::socket::SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(|errno| EthtoolError::Broken(format!("no socket for an ioctl: {errno}")))?;
        let mut request = libc::ifreq {
            ifr_name: interface_name(ifname)?,
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_data: self.words.as_mut_ptr().cast(),
            },
        };
        // SAFETY: `request` lives through the call, and `ifru_data` points to `words`, which we own alone. The kernel
        // writes no further than the structure of the command: `fixed` and `again` make it of its full length,
        // `features` and the set of features state their number of blocks, and the lists of names and counts have
        // room for more than a kernel has.
        unsafe { siocethtool(socket.as_raw_fd(), &raw mut request) }
            .map_err(|errno| EthtoolError::from_errno(errno, None))?;
        Ok(self.words)
    }
}

/// The name as the kernel takes it: zero-terminated, 16 bytes.
fn interface_name(ifname: &str) -> Result<[libc::c_char; libc::IFNAMSIZ], EthtoolError> {
    if ifname.is_empty() || ifname.len() >= libc::IFNAMSIZ {
        return Err(EthtoolError::from_errno(Errno::ENODEV, None));
    }
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(ifname.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_can_hold_nothing_is_absent() {
        let mut words = vec![0; 9];
        words[RX_RING_MAX] = 4096;
        words[RX_RING] = 512;
        let expected = Rings {
            rx: Some(512),
            rx_max: Some(4096),
            ..Rings::default()
        };
        assert_eq!(parse_rings(&words), expected);
        assert_eq!(parse_rings(&[]), Rings::default());
    }

    #[test]
    fn a_feature_of_the_second_block_is_found() {
        let mut words = vec![GET_FEATURES, 2];
        words.extend([0, 0, 0, 0]);
        words.extend([0b10, 0b10, 0b10, 0]);
        let is = |active, fixed| Some(Feature { active, fixed });
        assert_eq!(parse_feature(&words, 33), is(true, false));
        assert_eq!(parse_feature(&words, 32), is(false, true));
        assert_eq!(parse_feature(&words, 64), None);
        assert_eq!(parse_feature(&[], 0), None);
    }

    #[test]
    fn names_end_at_their_first_zero() {
        let mut bytes = [0_u8; 2 * NAME_LENGTH];
        bytes[..6].copy_from_slice(b"rx-lro");
        bytes[NAME_LENGTH..NAME_LENGTH + 6].copy_from_slice(b"rx-gro");
        let mut words = vec![GET_STRINGS, FEATURE_NAMES, 2];
        words.extend(
            bytes
                .chunks(4)
                .map(|word| u32::from_ne_bytes(word.try_into().unwrap())),
        );
        assert_eq!(parse_names(&words, 2), ["rx-lro", "rx-gro"]);
        assert_eq!(parse_names(&words, 0), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_too_long_never_reaches_the_kernel() {
        let error = rings("averyverylongname").unwrap_err();
        assert!(matches!(error, EthtoolError::NoDevice), "{error}");
    }
}
