//! ethtool: rings, channels, coalescing and features of a NIC.
//!
//! [`KernelEthtool`] speaks generic netlink, which sets one thing and leaves the others alone and says in words why
//! it refused, and turns to the old ioctl where a kernel lacks the family or the command. "Not supported" comes from
//! a driver and from a kernel without the command alike, so each such answer is asked for again by ioctl; the second
//! no is final.

mod generic;
mod ioctl;

use super::netlink::NetlinkError;
use nix::errno::Errno;
use std::fmt;

/// Descriptor rings; `None` where the driver has no such ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rings {
    /// Receive descriptors of each queue.
    pub rx: Option<u32>,
    /// Transmit descriptors of each queue.
    pub tx: Option<u32>,
    /// Most receive descriptors.
    pub rx_max: Option<u32>,
    /// Most transmit descriptors.
    pub tx_max: Option<u32>,
}

/// Queues; `None` where the driver has no such kind of queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Channels {
    /// Queues for one direction: receive.
    pub rx: Option<u32>,
    /// Queues for one direction: transmit.
    pub tx: Option<u32>,
    /// Queues for both directions.
    pub combined: Option<u32>,
    /// Most receive queues.
    pub rx_max: Option<u32>,
    /// Most transmit queues.
    pub tx_max: Option<u32>,
    /// Most combined queues.
    pub combined_max: Option<u32>,
}

/// Adaptive interrupt moderation; `None` where the driver does not offer it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coalesce {
    /// Receive side.
    pub adaptive_rx: Option<bool>,
    /// Transmit side.
    pub adaptive_tx: Option<bool>,
}

/// Pause frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pause {
    /// Whether frames of the switch are obeyed.
    pub rx: bool,
    /// Whether frames are sent.
    pub tx: bool,
}

/// A direction of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Receive.
    Rx,
    /// Transmit.
    Tx,
}

/// An offload feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Whether it is on.
    pub active: bool,
    /// Whether the driver keeps it as it is.
    pub fixed: bool,
}

/// Why ethtool did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EthtoolError {
    /// The driver or the kernel does not have it.
    #[error("not supported ({0})")]
    Unsupported(String),
    /// There is no such interface.
    #[error("no such device")]
    NoDevice,
    /// The driver refused.
    #[error("{errno}{}", .explanation.as_deref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// Its error.
        errno: Errno,
        /// Its words, where it gave some.
        explanation: Option<String>,
    },
    /// The socket failed, or the answer makes no sense.
    #[error("{0}")]
    Broken(String),
}

/// Reads and sets what ethtool(8) does, by interface name.
///
/// # Errors
/// All methods: [`EthtoolError`].
pub trait Ethtool: fmt::Debug + Send + Sync {
    /// The rings.
    fn rings(&self, ifname: &str) -> Result<Rings, EthtoolError>;
    /// Sets the rings that are given.
    fn set_rings(&self, ifname: &str, rx: Option<u32>, tx: Option<u32>) -> Result<(), EthtoolError>;
    /// The queues.
    fn channels(&self, ifname: &str) -> Result<Channels, EthtoolError>;
    /// Sets the number of combined queues.
    fn set_combined(&self, ifname: &str, combined: u32) -> Result<(), EthtoolError>;
    /// Adaptive moderation.
    fn coalesce(&self, ifname: &str) -> Result<Coalesce, EthtoolError>;
    /// Sets adaptive moderation of one side.
    fn set_adaptive(&self, ifname: &str, side: Side, on: bool) -> Result<(), EthtoolError>;
    /// Pause frames.
    fn pause(&self, ifname: &str) -> Result<Pause, EthtoolError>;
    /// Sets pause frames of both sides; whether they are negotiated stays as it is.
    fn set_pause(&self, ifname: &str, pause: Pause) -> Result<(), EthtoolError>;
    /// A feature by its kernel name (`rx-lro`).
    fn feature(&self, ifname: &str, name: &str) -> Result<Feature, EthtoolError>;
    /// Switches a feature by its kernel name.
    fn set_feature(&self, ifname: &str, name: &str, on: bool) -> Result<(), EthtoolError>;
}

/// The kernel's own, in the network namespace of the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelEthtool;

/// The first answer, or the second where the first says that the way is not there.
fn either<T>(
    first: Result<T, EthtoolError>,
    second: impl FnOnce() -> Result<T, EthtoolError>,
) -> Result<T, EthtoolError> {
    match first {
        Err(EthtoolError::Unsupported(why)) => match second() {
            // The words of netlink tell more than a bare errno.
            Err(EthtoolError::Unsupported(_)) => Err(EthtoolError::Unsupported(why)),
            other => other,
        },
        other => other,
    }
}

impl Ethtool for KernelEthtool {
    fn rings(&self, ifname: &str) -> Result<Rings, EthtoolError> {
        either(generic::rings(ifname), || ioctl::rings(ifname))
    }

    fn set_rings(&self, ifname: &str, rx: Option<u32>, tx: Option<u32>) -> Result<(), EthtoolError> {
        either(generic::set_rings(ifname, rx, tx), || {
            ioctl::set_rings(ifname, rx, tx)
        })
    }

    fn channels(&self, ifname: &str) -> Result<Channels, EthtoolError> {
        either(generic::channels(ifname), || ioctl::channels(ifname))
    }

    fn set_combined(&self, ifname: &str, combined: u32) -> Result<(), EthtoolError> {
        either(generic::set_combined(ifname, combined), || {
            ioctl::set_combined(ifname, combined)
        })
    }

    fn coalesce(&self, ifname: &str) -> Result<Coalesce, EthtoolError> {
        either(generic::coalesce(ifname), || ioctl::coalesce(ifname))
    }

    fn set_adaptive(&self, ifname: &str, side: Side, on: bool) -> Result<(), EthtoolError> {
        either(generic::set_adaptive(ifname, side, on), || {
            ioctl::set_adaptive(ifname, side, on)
        })
    }

    fn pause(&self, ifname: &str) -> Result<Pause, EthtoolError> {
        either(generic::pause(ifname), || ioctl::pause(ifname))
    }

    fn set_pause(&self, ifname: &str, pause: Pause) -> Result<(), EthtoolError> {
        either(generic::set_pause(ifname, pause), || {
            ioctl::set_pause(ifname, pause)
        })
    }

    fn feature(&self, ifname: &str, name: &str) -> Result<Feature, EthtoolError> {
        either(generic::feature(ifname, name), || ioctl::feature(ifname, name))
    }

    fn set_feature(&self, ifname: &str, name: &str, on: bool) -> Result<(), EthtoolError> {
        either(generic::set_feature(ifname, name, on), || {
            ioctl::set_feature(ifname, name, on)
        })
    }
}

impl EthtoolError {
    fn from_errno(errno: Errno, explanation: Option<String>) -> Self {
        match errno {
            Errno::EOPNOTSUPP => Self::Unsupported(explanation.unwrap_or_else(|| "EOPNOTSUPP".to_owned())),
            Errno::ENODEV => Self::NoDevice,
            errno => Self::Refused { errno, explanation },
        }
    }
}

impl From<NetlinkError> for EthtoolError {
    fn from(error: NetlinkError) -> Self {
        match error {
            NetlinkError::Refused { errno, explanation } => Self::from_errno(errno, explanation),
            other => Self::Broken(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsupported<T>() -> Result<T, EthtoolError> {
        Err(EthtoolError::Unsupported("no such command".to_owned()))
    }

    #[test]
    fn the_second_way_is_taken_only_when_the_first_is_not_there() {
        assert_eq!(either(unsupported(), || Ok(7)).unwrap(), 7);
        assert_eq!(either(Ok(1), || panic!("asked twice")).unwrap(), 1);
        let refused = Err::<u32, _>(EthtoolError::NoDevice);
        let error = either(refused, || panic!("asked twice")).unwrap_err();
        assert!(matches!(error, EthtoolError::NoDevice));
    }

    #[test]
    fn two_refusals_keep_the_words_of_the_first() {
        let second = || Err::<u32, _>(EthtoolError::from_errno(Errno::EOPNOTSUPP, None));
        let error = either(unsupported(), second).unwrap_err();
        assert_eq!(error.to_string(), "not supported (no such command)");
    }

    #[test]
    fn both_ways_to_the_kernel_agree_on_the_loopback() {
        let by_netlink = generic::feature("lo", "rx-lro").unwrap();
        let by_ioctl = ioctl::feature("lo", "rx-lro").unwrap();
        assert_eq!(by_netlink, by_ioctl);
        assert!(by_netlink.fixed, "lo cannot do LRO: {by_netlink:?}");
        let by_netlink = generic::feature("lo", "tx-tcp-segmentation").unwrap();
        assert_eq!(by_netlink, ioctl::feature("lo", "tx-tcp-segmentation").unwrap());
        assert!(!by_netlink.fixed, "{by_netlink:?}");
    }

    #[test]
    fn what_the_loopback_has_not_is_unsupported_by_both_ways() {
        for answer in [
            KernelEthtool.rings("lo").map(|_| ()),
            KernelEthtool.channels("lo").map(|_| ()),
            KernelEthtool.coalesce("lo").map(|_| ()),
            KernelEthtool.pause("lo").map(|_| ()),
            KernelEthtool.feature("lo", "no-such-feature").map(|_| ()),
        ] {
            assert!(matches!(answer, Err(EthtoolError::Unsupported(_))), "{answer:?}");
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_named_so() {
        let error = KernelEthtool.rings("dtnt-nosuch").unwrap_err();
        assert!(matches!(error, EthtoolError::NoDevice), "{error}");
    }

    /// On the namespace rung: a thread in a network namespace of its own, with a veth in it.
    #[test]
    fn both_ways_to_the_kernel_switch_a_feature() {
        if std::env::var("DTNFORGE_NS").as_deref() != Ok("1") || !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs DTNFORGE_NS=1 and root, to make a network namespace");
            return;
        }
        // The namespace goes away with the thread, and the veth with it.
        let thread = std::thread::spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
            let made = std::process::Command::new("ip")
                .args(["link", "add", "dtnt-veth-long", "type", "veth"])
                .status()
                .unwrap();
            assert!(made.success());
            let feature = |name| generic::feature("dtnt-veth-long", name).unwrap().active;
            let name = "tx-tcp-segmentation";
            for on in [false, true] {
                generic::set_feature("dtnt-veth-long", name, on).unwrap();
                assert_eq!(feature(name), on, "by netlink");
                ioctl::set_feature("dtnt-veth-long", name, !on).unwrap();
                assert_eq!(feature(name), !on, "by ioctl");
            }
            assert!(feature("tx-checksum-ip-generic"), "another feature was changed");
            let channels = generic::channels("dtnt-veth-long").unwrap();
            assert_eq!(channels, ioctl::channels("dtnt-veth-long").unwrap());
        });
        thread.join().unwrap();
    }
}
