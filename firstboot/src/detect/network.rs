//! All network interfaces of a host, what lies below what, and which of them carries its address.

use super::address;
use super::nic::{self, CLASS_NET};
use super::routes::{self, Route};
use super::source::{ONE_VALUE, ReadError, Source};
use super::{pci, stack};
use crate::{host::Host, netdev};
use dtnforge_profiles::facts;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// ARP hardware type of the loopback (`ARPHRD_LOOPBACK`).
const LOOPBACK: &str = "772";

/// Reads all interfaces, sorted by name, then the functions without one. Failures that belong to no single interface
/// go to `errors`.
pub(super) fn read(
    host: &Host,
    source: &dyn Source,
    errors: &mut BTreeMap<String, String>,
) -> Vec<facts::Nic> {
    let vlans = keep(
        errors,
        "vlan",
        stack::vlans(source).map_err(|error| ("/proc/net/vlan/config", error)),
    );
    let mut nics: Vec<facts::Nic> = names(source, errors)
        .iter()
        .map(|name| nic::read(host, source, name, &vlans))
        .collect();
    stack::complete(&mut nics);
    reach(source, &mut nics, errors);
    let taken: BTreeSet<String> = nics.iter().filter_map(|nic| nic.pci_slot.clone()).collect();
    nics.extend(pci::without_interface(source, &taken));
    nics
}

/// Keeps what was read, or notes the file and the cause and goes on with nothing.
fn keep<T: Default>(
    errors: &mut BTreeMap<String, String>,
    fact: &str,
    result: Result<T, (&'static str, ReadError)>,
) -> T {
    result.unwrap_or_else(|(path, error)| {
        errors.insert(fact.to_owned(), format!("{path}: {error}"));
        T::default()
    })
}

/// The interfaces but for the loopback. A name that the kernel would never give is noted and left out.
fn names(source: &dyn Source, errors: &mut BTreeMap<String, String>) -> Vec<String> {
    let all = keep(
        errors,
        "nic",
        source.list(CLASS_NET).map_err(|error| (CLASS_NET, error)),
    );
    let (good, odd): (Vec<_>, Vec<_>) = all.into_iter().partition(|name| netdev::is_interface_name(name));
    if !odd.is_empty() {
        errors.insert(
            "nic".to_owned(),
            format!("{CLASS_NET}: no names of interfaces: {odd:?}"),
        );
    }
    let is_interface = |name: &String| {
        // `bonding_masters` is a file in the same directory.
        match source.text(&format!("{CLASS_NET}/{name}/type"), ONE_VALUE) {
            Ok(text) => text.trim() != LOOPBACK,
            Err(ReadError::Missing) => source.list(&format!("{CLASS_NET}/{name}")).is_ok(),
            Err(_) => true,
        }
    };
    good.into_iter().filter(is_interface).collect()
}

/// Routes and addresses.
fn reach(source: &dyn Source, nics: &mut [facts::Nic], errors: &mut BTreeMap<String, String>) {
    let routes = match routes::read(source) {
        Ok(routes) => routes,
        Err((path, error)) => {
            errors.insert("routes".to_owned(), format!("{path}: {error}"));
            return;
        }
    };
    let scopes = keep(errors, "addr_scope", address::scopes(source, &routes));
    let carrying = carrying(nics, &routes);
    let routed: BTreeSet<&str> = routes
        .iter()
        .filter(|route| leaves_the_link(route))
        .map(|route| route.interface.as_str())
        .collect();
    for nic in nics {
        let name = nic.name.clone().unwrap_or_default();
        nic.addr_scope = scopes.get(&name).map(|scope| scope.word().into());
        nic.route_active = Some(routed.contains(name.as_str()));
        nic.default_network = Some(carrying.contains(&name));
    }
}

/// The interfaces of the default routes and the ports below them: all of these carry the node's traffic.
fn carrying(nics: &[facts::Nic], routes: &[Route]) -> BTreeSet<String> {
    routes
        .iter()
        .filter(|route| route.is_default())
        .flat_map(|route| stack::with_all_below(nics, &route.interface))
        .collect()
}

/// Every interface that is up has routes for link-local addresses and multicast; these say nothing.
fn leaves_the_link(route: &Route) -> bool {
    match route.destination {
        IpAddr::V4(network) => !network.is_link_local() && !network.is_multicast(),
        IpAddr::V6(network) => !network.is_unicast_link_local() && !network.is_multicast(),
    }
}
