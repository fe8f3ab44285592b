//! What the route family of netlink says about an interface and sysfs does not: its permanent MAC and its largest
//! MTU.

use super::netlink::{self, Message, NetlinkError};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::libc::{RTM_GETLINK, RTM_NEWLINK};

/// Length of `struct ifinfomsg`, byte.
const HEADER: usize = 16;

// Attributes of a link (`linux/if_link.h`).
const IFLA_IFNAME: u16 = 3;
const IFLA_MAX_MTU: u16 = 51;
const IFLA_PERM_ADDRESS: u16 = 54;

/// An interface as the route family describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// The MAC that the hardware came with, lower case; `None` for devices without hardware and kernels before 5.6.
    pub permanent_mac: Option<String>,
    /// Largest MTU, byte; `None` when the driver sets no limit.
    pub max_mtu: Option<u32>,
}

/// Asks the kernel about `ifname`, in the network namespace of this thread. `None` when there is no such interface
/// or no answer.
pub fn query(ifname: &str) -> Option<Link> {
    let mut body = vec![0; HEADER];
    body.extend(netlink::bytes_of(&[netlink::with_text(IFLA_IFNAME, ifname)]));
    let request = Message {
        kind: RTM_GETLINK,
        body,
    };
    match netlink::call(NETLINK_ROUTE, request) {
        Ok(answers) => answers
            .iter()
            .filter(|answer| answer.kind == RTM_NEWLINK)
            .find_map(|answer| parse(&answer.body).ok()),
        Err(error) => {
            log::debug!("{ifname}: no link information: {error}");
            None
        }
    }
}

/// Reads the body of an `RTM_NEWLINK`.
fn parse(body: &[u8]) -> Result<Link, NetlinkError> {
    let attributes = netlink::attributes(body.get(HEADER..).unwrap_or_default())?;
    let mac = netlink::find(&attributes, IFLA_PERM_ADDRESS).and_then(mac_text);
    let max_mtu = netlink::find(&attributes, IFLA_MAX_MTU).and_then(netlink::number);
    Ok(Link {
        permanent_mac: mac,
        // Zero is the kernel's word for "no limit".
        max_mtu: max_mtu.filter(|mtu| *mtu > 0),
    })
}

/// A hardware address as text; `None` when it is all zeros, which means unknown.
fn mac_text(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(parts.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::*;

    fn body(attributes: &[DefaultNla]) -> Vec<u8> {
        let mut body = vec![0; HEADER];
        body.extend(netlink::bytes_of(attributes));
        body
    }

    #[test]
    fn a_link_has_its_permanent_mac_and_largest_mtu() {
        let link = parse(&body(&[
            netlink::with_text(IFLA_IFNAME, "eth0"),
            netlink::with_number(IFLA_MAX_MTU, 9702),
            DefaultNla::new(IFLA_PERM_ADDRESS, vec![0x52, 0x54, 0, 0xAA, 0, 1]),
        ]))
        .unwrap();
        assert_eq!(link.permanent_mac.as_deref(), Some("52:54:00:aa:00:01"));
        assert_eq!(link.max_mtu, Some(9702));
    }

    #[test]
    fn zeros_mean_unknown_and_unlimited() {
        let link = parse(&body(&[
            netlink::with_number(IFLA_MAX_MTU, 0),
            DefaultNla::new(IFLA_PERM_ADDRESS, vec![0; 6]),
        ]))
        .unwrap();
        assert_eq!(link, Link::default());
    }

    #[test]
    fn the_kernel_knows_the_loopback_and_no_other_name() {
        assert_eq!(query("lo").unwrap().permanent_mac, None);
        assert_eq!(query("dtnt-nosuch"), None);
    }

    proptest! {
        #[test]
        fn any_body_gives_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..128)) {
            let _ = parse(&bytes);
        }
    }
}
