//! How far the addresses of an interface reach: public, private or link-local.
//!
//! Only the scope is a fact; the addresses stay on the host. IPv6 addresses stand in /proc/net/if_inet6 with their
//! interface. For IPv4 /proc has the addresses (fib_trie) and the networks of each interface (route) apart; an
//! address belongs to the interfaces whose route covers it best.

use super::routes::{Route, ipv6_hex};
use super::source::{ONE_TABLE, ReadError, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Nobody was asked yet whether the address is taken (`IFA_F_TENTATIVE`).
const TENTATIVE: u32 = 0x40;
/// It is taken by another node (`IFA_F_DADFAILED`).
const TAKEN: u32 = 0x08;

/// How far an address reaches; later variants reach further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Only on its link.
    LinkLocal,
    /// Inside a site: RFC 1918, carrier-grade NAT, unique local.
    Private,
    /// All others.
    Public,
}

impl Scope {
    /// The word in a report.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Scope::LinkLocal => "link-local",
            Scope::Private => "private",
            Scope::Public => "public",
        }
    }

    /// The scope of an address; `None` for loopback, multicast and the unspecified one.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        if address.is_loopback() || address.is_multicast() || address.is_unspecified() {
            return None;
        }
        Some(match address {
            IpAddr::V4(v4) if v4.is_link_local() => Scope::LinkLocal,
            IpAddr::V4(v4) if v4.is_private() || is_carrier_nat(v4) => Scope::Private,
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Scope::LinkLocal,
            IpAddr::V6(v6) if v6.is_unique_local() => Scope::Private,
            _ => Scope::Public,
        })
    }
}

/// 100.64.0.0/10, RFC 6598.
fn is_carrier_nat(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 100 && second & 0xc0 == 64
}

/// The widest scope of each interface that has an address.
///
/// # Errors
/// The file that could not be read, and why.
pub(crate) fn scopes(
    source: &dyn Source,
    routes: &[Route],
) -> Result<BTreeMap<String, Scope>, (&'static str, ReadError)> {
    let mut addresses = Vec::new();
    let fib = text(source, "/proc/net/fib_trie")?;
    for address in parse_fib_trie(&fib) {
        addresses.extend(owners(routes, address).map(|interface| (interface, address)));
    }
    addresses.extend(parse_if_inet6(&text(source, "/proc/net/if_inet6")?));
    let mut scopes = BTreeMap::new();
    for (interface, address) in addresses {
        if let Some(scope) = Scope::of(address) {
            let widest = scopes.entry(interface).or_insert(scope);
            *widest = scope.max(*widest);
        }
    }
    Ok(scopes)
}

fn text(source: &dyn Source, path: &'static str) -> Result<String, (&'static str, ReadError)> {
    match source.text(path, ONE_TABLE) {
        Err(ReadError::Missing) => Ok(String::new()),
        result => result.map_err(|error| (path, error)),
    }
}

/// The interfaces whose route covers a local address best: those of the longest prefix.
fn owners(routes: &[Route], address: IpAddr) -> impl Iterator<Item = String> {
    let covering = routes.iter().filter(move |route| route.covers(address));
    let longest = covering.clone().map(|route| route.prefix).max();
    let owners: BTreeSet<String> = covering
        .filter(|route| Some(route.prefix) == longest)
        .map(|route| route.interface.clone())
        .collect();
    owners.into_iter()
}

/// The host's own IPv4 addresses: in the trie a leaf `|-- ADDRESS` whose next line is `/32 host LOCAL`.
fn parse_fib_trie(text: &str) -> BTreeSet<IpAddr> {
    let mut addresses = BTreeSet::new();
    let mut leaf: Option<Ipv4Addr> = None;
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = leaf
        {
            addresses.insert(address.into());
        }
    }
    addresses
}

/// /proc/net/if_inet6: `address index prefix scope flags interface`. An address that another node has, or that is
/// still being asked about, is none yet.
fn parse_if_inet6(text: &str) -> Vec<(String, IpAddr)> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, _, _, flags, interface] = fields[..] else {
            return None;
        };
        let flags = u32::from_str_radix(flags, 16).ok()?;
        (flags & (TENTATIVE | TAKEN) == 0).then_some(())?;
        Some((interface.to_owned(), ipv6_hex(address)?.into()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(interface: &str, destination: &str, prefix: u8) -> Route {
        Route {
            interface: interface.into(),
            destination: destination.parse().unwrap(),
            prefix,
            gateway: None,
            metric: 0,
        }
    }

    #[test]
    fn each_range_has_its_scope() {
        for (address, scope) in [
            ("10.1.2.3", Some(Scope::Private)),
            ("172.31.0.1", Some(Scope::Private)),
            ("100.64.0.1", Some(Scope::Private)),
            ("100.128.0.1", Some(Scope::Public)),
            ("169.254.1.1", Some(Scope::LinkLocal)),
            ("8.8.8.8", Some(Scope::Public)),
            ("127.0.0.1", None),
            ("fe80::1", Some(Scope::LinkLocal)),
            ("fd00::1", Some(Scope::Private)),
            ("2001:db8::1", Some(Scope::Public)),
            ("::1", None),
        ] {
            assert_eq!(Scope::of(address.parse().unwrap()), scope, "{address}");
        }
    }

    #[test]
    fn an_address_belongs_to_the_interface_whose_network_holds_it() {
        let routes = [
            route("mgmt", "0.0.0.0", 0),
            route("data", "203.0.113.0", 24),
            route("mgmt", "10.0.0.0", 8),
        ];
        let owner = |address: &str| owners(&routes, address.parse().unwrap()).collect::<Vec<_>>();
        assert_eq!(owner("203.0.113.9"), ["data"]);
        assert_eq!(owner("10.9.9.9"), ["mgmt"]);
        // An address without a network, as some clouds give it: the default route's interface has it.
        assert_eq!(owner("198.51.100.1"), ["mgmt"]);
        assert_eq!(owner("2001:db8::1"), [""; 0]);
    }

    #[test]
    fn only_addresses_of_our_own_are_taken_from_the_trie() {
        let text = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.0\n        /24 link UNICAST\n     |-- 192.0.2.2\n        \
                    /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link BROADCAST\n";
        let found: Vec<String> = parse_fib_trie(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["192.0.2.2"]);
    }

    #[test]
    fn ipv6_addresses_name_their_interface_once_they_are_its_own() {
        let text = "fe8000000000000000fc00fffe000001 04 40 20 80     eth0\nshort\n\
                    20010db8000000000000000000000001 04 40 00 c0     eth0\n\
                    20010db8000000000000000000000002 04 40 00 88     eth0\n";
        let found = parse_if_inet6(text);
        assert_eq!(
            found,
            [("eth0".to_owned(), "fe80::fc:ff:fe00:1".parse().unwrap())]
        );
    }
}
