//! Has the node an address that others can reach, on an interface with a link?
//!
//! That is what *network configured* means: one interface with carrier and an address that is more than link-local.
//! Which interface it is does not matter, since a management port is a way in too. Two kinds are not a way in: what
//! rests on no hardware (the bridge of a container engine has an address of its own), and the USB link to the service
//! processor. Both count all the same where a default route leaves by them.

use super::judged;
use crate::detect::routes::Route;
use crate::detect::{Scope, Source, routes, scopes};
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::verdict::Check;
use std::collections::BTreeSet;

const CLASS_NET: &str = "/sys/class/net";
/// Depth at which a stack of interfaces is taken for a loop; the kernel allows 8.
const DEEPEST: usize = 16;

/// An interface that could be a way in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Interface {
    name: String,
    carrier: bool,
    /// The widest scope of its addresses.
    scope: Option<Scope>,
}

/// Whether the network is configured: by which interface, or why not.
///
/// # Errors
/// What is missing, one sentence.
pub fn configured(host: &Host) -> Result<String, String> {
    judge(&interfaces(host)?)
}

/// The interfaces with carrier that could be a way in, without an address that reaches beyond the link.
pub fn waiting_for_address(host: &Host) -> Vec<String> {
    let waits = |interface: &Interface| interface.carrier && !interface.is_reachable();
    let all = interfaces(host).unwrap_or_default();
    all.into_iter()
        .filter(waits)
        .map(|interface| interface.name)
        .collect()
}

fn interfaces(host: &Host) -> Result<Vec<Interface>, String> {
    let unread = |(path, error)| format!("{path}: {error}");
    let routes = routes::read(host).map_err(unread)?;
    let scopes = scopes(host, &routes).map_err(unread)?;
    let leading: BTreeSet<&str> = routes
        .iter()
        .filter(|route| route.is_default())
        .map(|route: &Route| route.interface.as_str())
        .collect();
    let is_way_in = |name: &String| leading.contains(name.as_str()) || rests_on_a_wire(host, name, DEEPEST);
    Ok(netdev::names(host)
        .into_iter()
        .filter(is_way_in)
        .map(|name| Interface {
            carrier: host.sign(&format!("{CLASS_NET}/{name}/carrier")).as_deref() == Some("1"),
            scope: scopes.get(&name).copied(),
            name,
        })
        .collect())
}

/// Whether an interface, or one below it, is hardware other than a USB link.
fn rests_on_a_wire(host: &Host, name: &str, depth: usize) -> bool {
    let directory = format!("{CLASS_NET}/{name}");
    if let Some(bus) = host.link_name(&format!("{directory}/device/subsystem")) {
        return bus != "usb";
    }
    let below = host.list(&directory).unwrap_or_default();
    let mut below = below.iter().filter_map(|entry| entry.strip_prefix("lower_"));
    host.exists(&format!("{directory}/device"))
        || depth > 0 && below.any(|lower| rests_on_a_wire(host, lower, depth - 1))
}

impl Interface {
    fn is_reachable(&self) -> bool {
        self.scope.is_some_and(|scope| scope > Scope::LinkLocal)
    }
}

fn judge(interfaces: &[Interface]) -> Result<String, String> {
    let linked: Vec<&Interface> = interfaces.iter().filter(|interface| interface.carrier).collect();
    let names = |list: &[&Interface]| {
        let names: Vec<&str> = list.iter().map(|interface| interface.name.as_str()).collect();
        names.join(", ")
    };
    let best = linked.iter().filter(|interface| interface.is_reachable());
    match best.max_by_key(|interface| interface.scope) {
        Some(Interface {
            name,
            scope: Some(scope),
            ..
        }) => Ok(format!("{name} has carrier and a {} address", scope.word())),
        _ if interfaces.is_empty() => Err("no network interface".to_owned()),
        _ if linked.is_empty() => {
            let all: Vec<&Interface> = interfaces.iter().collect();
            Err(format!("no carrier on {}", names(&all)))
        }
        _ => Err(format!(
            "carrier on {}, but no address that reaches beyond the link",
            names(&linked)
        )),
    }
}

/// What was configured before has to be so still.
pub(super) fn compare(before: &Result<String, String>, after: &Result<String, String>) -> Check {
    let detail = after.as_ref().unwrap_or_else(|why| why).clone();
    judged("network".to_owned(), before.is_ok(), after.is_ok(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn interface(name: &str, carrier: bool, scope: Option<Scope>) -> Interface {
        Interface {
            name: name.into(),
            carrier,
            scope,
        }
    }

    #[test]
    fn one_interface_with_carrier_and_a_routable_address_is_enough() {
        let table = [
            (vec![], Err("no network interface")),
            (
                vec![
                    interface("ens2", false, None),
                    interface("ens3", false, Some(Scope::Public)),
                ],
                Err("no carrier on ens2, ens3"),
            ),
            (
                vec![
                    interface("ens2", true, Some(Scope::LinkLocal)),
                    interface("ens3", false, Some(Scope::Public)),
                ],
                Err("carrier on ens2, but no address that reaches beyond the link"),
            ),
            (
                vec![
                    interface("ens2", true, Some(Scope::Private)),
                    interface("ens3", true, None),
                ],
                Ok("ens2 has carrier and a private address"),
            ),
            (
                vec![
                    interface("ens2", true, Some(Scope::Private)),
                    interface("ens3", true, Some(Scope::Public)),
                ],
                Ok("ens3 has carrier and a public address"),
            ),
        ];
        for (interfaces, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(judge(&interfaces), expected, "{interfaces:?}");
        }
    }

    /// A host in a directory, with an interface on each of these buses; an empty bus is none at all.
    fn host(root: &Path, interfaces: &[(&str, &str)]) -> Host {
        for (name, bus) in interfaces {
            let directory = root.join("sys/class/net").join(name);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("carrier"), "1\n").unwrap();
            if !bus.is_empty() {
                fs::create_dir_all(directory.join("device")).unwrap();
                symlink(format!("../../../bus/{bus}"), directory.join("device/subsystem")).unwrap();
            }
        }
        Host::at(root, None)
    }

    /// Addresses 10.0.N.2/24, one for each of these interfaces.
    fn addresses(root: &Path, interfaces: &[&str]) {
        let net = root.join("proc/net");
        fs::create_dir_all(&net).unwrap();
        let mut routes =
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n".to_owned();
        let mut trie = String::new();
        for (number, name) in interfaces.iter().enumerate() {
            let network = u32::from_ne_bytes([10, 0, u8::try_from(number).unwrap(), 0]);
            let mask = u32::from_ne_bytes([255, 255, 255, 0]);
            routes += &format!("{name}\t{network:08X}\t00000000\t0001\t0\t0\t0\t{mask:08X}\t0\t0\t0\n");
            trie += &format!("     |-- 10.0.{number}.2\n        /32 host LOCAL\n");
        }
        fs::write(net.join("route"), routes).unwrap();
        fs::write(net.join("fib_trie"), trie).unwrap();
    }

    #[test]
    fn the_bridge_of_a_container_engine_and_the_service_processor_are_no_way_in() {
        let dir = tempfile::tempdir().unwrap();
        let host = host(
            dir.path(),
            &[("docker0", ""), ("ens2", "pci"), ("usb0", "usb"), ("veth1", "")],
        );
        addresses(dir.path(), &["docker0", "usb0"]);
        let lower = dir.path().join("sys/class/net/docker0/lower_veth1");
        symlink("../veth1", lower).unwrap();
        assert_eq!(
            configured(&host),
            Err("carrier on ens2, but no address that reaches beyond the link".to_owned())
        );
        assert_eq!(waiting_for_address(&host), ["ens2"]);
        addresses(dir.path(), &["docker0", "ens2"]);
        assert_eq!(
            configured(&host),
            Ok("ens2 has carrier and a private address".to_owned())
        );
        assert!(waiting_for_address(&host).is_empty());
    }

    #[test]
    fn a_vlan_on_a_bond_of_ports_is_a_way_in() {
        let dir = tempfile::tempdir().unwrap();
        let host = host(dir.path(), &[("bond0", ""), ("bond0.7", ""), ("ens2", "pci")]);
        let net = dir.path().join("sys/class/net");
        symlink("../bond0", net.join("bond0.7/lower_bond0")).unwrap();
        symlink("../ens2", net.join("bond0/lower_ens2")).unwrap();
        addresses(dir.path(), &["bond0.7"]);
        assert_eq!(
            configured(&host),
            Ok("bond0.7 has carrier and a private address".to_owned())
        );
    }

    #[test]
    fn a_stack_that_loops_is_no_way_in_and_ends() {
        let dir = tempfile::tempdir().unwrap();
        let host = host(dir.path(), &[("a", ""), ("b", "")]);
        let net = dir.path().join("sys/class/net");
        symlink("../b", net.join("a/lower_b")).unwrap();
        symlink("../a", net.join("b/lower_a")).unwrap();
        assert_eq!(configured(&host), Err("no network interface".to_owned()));
    }
}
