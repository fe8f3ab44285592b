//! ethtool over generic netlink (`linux/ethtool_netlink.h`; kernel 5.8 and later for all that is used here).

use super::super::netlink::{self, Message, NetlinkError, nest, number, with_number, with_text};
use super::{Channels, Coalesce, EthtoolError, Feature, Pause, Rings, Side};
use netlink_packet_core::DefaultNla;
use netlink_sys::protocols::NETLINK_GENERIC;
use nix::errno::Errno;

// The family that knows the others (`linux/genetlink.h`).
const CONTROL: u16 = 0x10;
const CONTROL_GET_FAMILY: u8 = 3;
const CONTROL_FAMILY_ID: u16 = 1;
const CONTROL_FAMILY_NAME: u16 = 2;

/// Length of the header of a generic message: command, version, two unused bytes.
const HEADER: usize = 4;

// Commands.
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const RINGS_GET: u8 = 15;
const RINGS_SET: u8 = 16;
const CHANNELS_GET: u8 = 17;
const CHANNELS_SET: u8 = 18;
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;
const PAUSE_GET: u8 = 21;
const PAUSE_SET: u8 = 22;

// Attributes of all commands.
const DEVICE: u16 = 1;
const DEVICE_NAME: u16 = 2;
const DEVICE_FLAGS: u16 = 3;
/// "No answer beside the acknowledgement": a set of features answers with what came out, and we read back anyway.
const OMIT_REPLY: u32 = 2;

// Attributes of rings.
const RX_RING_MAX: u16 = 2;
const TX_RING_MAX: u16 = 5;
const RX_RING: u16 = 6;
const TX_RING: u16 = 9;

// Attributes of channels.
const RX_CHANNELS_MAX: u16 = 2;
const TX_CHANNELS_MAX: u16 = 3;
const COMBINED_MAX: u16 = 5;
const RX_CHANNELS: u16 = 6;
const TX_CHANNELS: u16 = 7;
const COMBINED: u16 = 9;

// Attributes of coalescing.
const ADAPTIVE_RX: u16 = 11;
const ADAPTIVE_TX: u16 = 12;

// Attributes of pause frames.
const PAUSE_RX: u16 = 3;
const PAUSE_TX: u16 = 4;

// Attributes of features and of the bit sets in them.
const FEATURES_HARDWARE: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const FEATURES_NO_CHANGE: u16 = 5;
const SET_NO_MASK: u16 = 1;
const SET_BITS: u16 = 3;
const BITS_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

pub(super) fn rings(ifname: &str) -> Result<Rings, EthtoolError> {
    Ok(parse_rings(&get(ifname, RINGS_GET)?)?)
}

pub(super) fn set_rings(ifname: &str, rx: Option<u32>, tx: Option<u32>) -> Result<(), EthtoolError> {
    let rings = [(RX_RING, rx), (TX_RING, tx)];
    let given = rings
        .iter()
        .filter_map(|(kind, size)| Some(with_number(*kind, (*size)?)));
    set(ifname, RINGS_SET, given.collect())
}

pub(super) fn channels(ifname: &str) -> Result<Channels, EthtoolError> {
    Ok(parse_channels(&get(ifname, CHANNELS_GET)?)?)
}

pub(super) fn set_combined(ifname: &str, combined: u32) -> Result<(), EthtoolError> {
    set(ifname, CHANNELS_SET, vec![with_number(COMBINED, combined)])
}

pub(super) fn coalesce(ifname: &str) -> Result<Coalesce, EthtoolError> {
    Ok(parse_coalesce(&get(ifname, COALESCE_GET)?)?)
}

pub(super) fn set_adaptive(ifname: &str, side: Side, on: bool) -> Result<(), EthtoolError> {
    let kind = match side {
        Side::Rx => ADAPTIVE_RX,
        Side::Tx => ADAPTIVE_TX,
    };
    set(
        ifname,
        COALESCE_SET,
        vec![DefaultNla::new(kind, vec![u8::from(on)])],
    )
}

pub(super) fn pause(ifname: &str) -> Result<Pause, EthtoolError> {
    parse_pause(&get(ifname, PAUSE_GET)?)?
        .ok_or_else(|| EthtoolError::Unsupported("the driver has no pause frames".to_owned()))
}

pub(super) fn set_pause(ifname: &str, pause: Pause) -> Result<(), EthtoolError> {
    let side = |kind, on: bool| DefaultNla::new(kind, vec![u8::from(on)]);
    set(
        ifname,
        PAUSE_SET,
        vec![side(PAUSE_RX, pause.rx), side(PAUSE_TX, pause.tx)],
    )
}

pub(super) fn feature(ifname: &str, name: &str) -> Result<Feature, EthtoolError> {
    parse_feature(&get(ifname, FEATURES_GET)?, name)?
        .ok_or_else(|| EthtoolError::Unsupported(format!("the kernel knows no feature {name}")))
}

pub(super) fn set_feature(ifname: &str, name: &str, on: bool) -> Result<(), EthtoolError> {
    let mut bit = vec![with_text(BIT_NAME, name)];
    if on {
        bit.push(DefaultNla::new(BIT_VALUE, vec![]));
    }
    // Without the no-mask flag, bits that are not listed stay as they are.
    let wanted = nest(FEATURES_WANTED, &[nest(SET_BITS, &[nest(BITS_BIT, &bit)])]);
    set(ifname, FEATURES_SET, vec![wanted])
}

/// The attributes of the answer to a get.
fn get(ifname: &str, command: u8) -> Result<Vec<u8>, EthtoolError> {
    let device = nest(DEVICE, &[with_text(DEVICE_NAME, ifname)]);
    let answers = call(family()?, command, &[device])?;
    answers
        .into_iter()
        .next()
        .and_then(|answer| answer.body.get(HEADER..).map(<[u8]>::to_vec))
        .ok_or_else(|| EthtoolError::Broken("netlink answer: empty".to_owned()))
}

/// Sends a set.
fn set(ifname: &str, command: u8, attributes: Vec<DefaultNla>) -> Result<(), EthtoolError> {
    let device = nest(
        DEVICE,
        &[
            with_text(DEVICE_NAME, ifname),
            with_number(DEVICE_FLAGS, OMIT_REPLY),
        ],
    );
    let all: Vec<DefaultNla> = std::iter::once(device).chain(attributes).collect();
    call(family()?, command, &all)?;
    Ok(())
}

/// The number of the ethtool family.
fn family() -> Result<u16, EthtoolError> {
    let name = [with_text(CONTROL_FAMILY_NAME, "ethtool")];
    let answers = match call(CONTROL, CONTROL_GET_FAMILY, &name) {
        Err(NetlinkError::Refused {
            errno: Errno::ENOENT, ..
        }) => {
            return Err(EthtoolError::Unsupported(
                "this kernel has no ethtool netlink".to_owned(),
            ));
        }
        other => other?,
    };
    let parse = |message: &Message| {
        let attributes = netlink::attributes(message.body.get(HEADER..)?).ok()?;
        let id = netlink::find(&attributes, CONTROL_FAMILY_ID)?;
        Some(u16::from_ne_bytes(id.try_into().ok()?))
    };
    answers
        .iter()
        .find_map(parse)
        .ok_or_else(|| EthtoolError::Broken("netlink answer: no family number".to_owned()))
}

fn call(family: u16, command: u8, attributes: &[DefaultNla]) -> Result<Vec<Message>, NetlinkError> {
    let mut body = vec![command, 1, 0, 0];
    body.extend(netlink::bytes_of(attributes));
    netlink::call(NETLINK_GENERIC, Message { kind: family, body })
}

fn parse_rings(bytes: &[u8]) -> Result<Rings, NetlinkError> {
    let attributes = netlink::attributes(bytes)?;
    let field = |kind| netlink::find(&attributes, kind).and_then(number);
    Ok(Rings {
        rx: field(RX_RING),
        tx: field(TX_RING),
        rx_max: field(RX_RING_MAX),
        tx_max: field(TX_RING_MAX),
    })
}

fn parse_channels(bytes: &[u8]) -> Result<Channels, NetlinkError> {
    let attributes = netlink::attributes(bytes)?;
    let field = |kind| netlink::find(&attributes, kind).and_then(number);
    Ok(Channels {
        rx: field(RX_CHANNELS),
        tx: field(TX_CHANNELS),
        combined: field(COMBINED),
        rx_max: field(RX_CHANNELS_MAX),
        tx_max: field(TX_CHANNELS_MAX),
        combined_max: field(COMBINED_MAX),
    })
}

fn parse_coalesce(bytes: &[u8]) -> Result<Coalesce, NetlinkError> {
    let attributes = netlink::attributes(bytes)?;
    let switch = |kind| netlink::find(&attributes, kind)?.first().map(|byte| *byte != 0);
    Ok(Coalesce {
        adaptive_rx: switch(ADAPTIVE_RX),
        adaptive_tx: switch(ADAPTIVE_TX),
    })
}

/// Pause frames in the answer; `None` when the driver does not list both sides.
fn parse_pause(bytes: &[u8]) -> Result<Option<Pause>, NetlinkError> {
    let attributes = netlink::attributes(bytes)?;
    let switch = |kind| netlink::find(&attributes, kind)?.first().map(|byte| *byte != 0);
    let sides = switch(PAUSE_RX).zip(switch(PAUSE_TX));
    Ok(sides.map(|(rx, tx)| Pause { rx, tx }))
}

/// A feature in the answer; `None` when the kernel does not list it.
fn parse_feature(bytes: &[u8], name: &str) -> Result<Option<Feature>, NetlinkError> {
    let attributes = netlink::attributes(bytes)?;
    let state = |kind| match netlink::find(&attributes, kind) {
        Some(set) => bit(set, name),
        None => Ok(None),
    };
    // The hardware set has a mask of all features, so one that it does not list is unknown to the kernel.
    let Some(changeable) = state(FEATURES_HARDWARE)? else {
        return Ok(None);
    };
    Ok(Some(Feature {
        active: state(FEATURES_ACTIVE)?.unwrap_or(false),
        fixed: !changeable || state(FEATURES_NO_CHANGE)?.unwrap_or(false),
    }))
}

/// The bit `name` of a bit set in list form; `None` when it is not listed.
fn bit(set: &[u8], name: &str) -> Result<Option<bool>, NetlinkError> {
    let set = netlink::attributes(set)?;
    // A set without a mask lists the bits that are on, and says nothing else about them.
    let listed_is_on = netlink::find(&set, SET_NO_MASK).is_some();
    for (_, bit) in netlink::attributes(netlink::find(&set, SET_BITS).unwrap_or_default())? {
        let bit = netlink::attributes(bit)?;
        if netlink::find(&bit, BIT_NAME).map(netlink::text).as_deref() == Some(name) {
            return Ok(Some(listed_is_on || netlink::find(&bit, BIT_VALUE).is_some()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink::bytes_of;
    use proptest::prelude::*;

    /// A bit set: with a mask each bit has a value, without one it is on when listed.
    fn bits(kind: u16, masked: bool, bits: &[(&str, bool)]) -> DefaultNla {
        let bits: Vec<DefaultNla> = bits
            .iter()
            .map(|(name, on)| {
                let mut bit = vec![with_text(BIT_NAME, name)];
                if *on && masked {
                    bit.push(DefaultNla::new(BIT_VALUE, vec![]));
                }
                nest(BITS_BIT, &bit)
            })
            .collect();
        let mut set = vec![nest(SET_BITS, &bits)];
        if !masked {
            set.insert(0, DefaultNla::new(SET_NO_MASK, vec![]));
        }
        nest(kind, &set)
    }

    /// An answer as ethtool's documentation describes it.
    fn features() -> Vec<u8> {
        bytes_of(&[
            bits(
                FEATURES_HARDWARE,
                true,
                &[("rx-lro", true), ("rx-gro", true), ("netns-local", false)],
            ),
            bits(FEATURES_WANTED, false, &[("rx-gro", true)]),
            bits(FEATURES_ACTIVE, false, &[("rx-gro", true), ("netns-local", true)]),
            bits(FEATURES_NO_CHANGE, false, &[("netns-local", true)]),
        ])
    }

    #[test]
    fn a_feature_is_on_off_or_fixed() {
        let feature = |name| parse_feature(&features(), name).unwrap();
        let is = |active, fixed| Some(Feature { active, fixed });
        assert_eq!(feature("rx-lro"), is(false, false));
        assert_eq!(feature("rx-gro"), is(true, false));
        assert_eq!(feature("netns-local"), is(true, true));
        assert_eq!(feature("tx-teleport"), None);
    }

    #[test]
    fn rings_that_a_driver_has_not_are_absent() {
        let bytes = bytes_of(&[
            with_number(RX_RING_MAX, 4096),
            with_number(RX_RING, 512),
            with_number(40, 1),
        ]);
        let expected = Rings {
            rx: Some(512),
            rx_max: Some(4096),
            ..Rings::default()
        };
        assert_eq!(parse_rings(&bytes).unwrap(), expected);
    }

    #[test]
    fn channels_and_moderation_are_read() {
        let bytes = bytes_of(&[with_number(COMBINED_MAX, 8), with_number(COMBINED, 2)]);
        let channels = parse_channels(&bytes).unwrap();
        assert_eq!((channels.combined, channels.combined_max), (Some(2), Some(8)));
        let bytes = bytes_of(&[DefaultNla::new(ADAPTIVE_RX, vec![1])]);
        let expected = Coalesce {
            adaptive_rx: Some(true),
            adaptive_tx: None,
        };
        assert_eq!(parse_coalesce(&bytes).unwrap(), expected);
    }

    #[test]
    fn pause_frames_are_read_where_both_sides_are_listed() {
        let side = |kind, on| DefaultNla::new(kind, vec![on]);
        let both = bytes_of(&[side(PAUSE_RX, 1), side(PAUSE_TX, 0)]);
        assert_eq!(parse_pause(&both).unwrap(), Some(Pause { rx: true, tx: false }));
        assert_eq!(parse_pause(&bytes_of(&[side(PAUSE_RX, 1)])).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = parse_rings(&bytes);
            let _ = parse_channels(&bytes);
            let _ = parse_coalesce(&bytes);
            let _ = parse_pause(&bytes);
            let _ = parse_feature(&bytes, "rx-lro");
        }

        #[test]
        fn a_damaged_answer_gives_a_value_or_an_error(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = features();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = parse_feature(&bytes, "rx-lro");
        }
    }
}
