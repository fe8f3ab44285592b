//! Who is above and below: members of bonds and bridges, the lower device of a VLAN, VF or representor.

use super::attributes::Attributes;
use super::pci;
use super::source::{ONE_TABLE, ReadError, Source};
use dtnforge_profiles::facts;
use std::collections::{BTreeMap, BTreeSet};

/// Depth at which a stack of interfaces is taken for a loop; the kernel allows 8.
const DEEPEST: usize = 16;

/// A VLAN interface as 802.1Q lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vlan {
    /// Interface name.
    pub(super) name: String,
    /// VLAN number, 0 to 4095.
    pub(super) id: u32,
    /// The interface below.
    pub(super) parent: String,
}

/// All VLANs. None when the module is not loaded.
///
/// # Errors
/// When the list exists and cannot be read (it is for root only).
pub(super) fn vlans(source: &dyn Source) -> Result<Vec<Vlan>, ReadError> {
    match source.text("/proc/net/vlan/config", ONE_TABLE) {
        Err(ReadError::Missing) => Ok(Vec::new()),
        result => result.map(|text| parse_vlans(&text)),
    }
}

/// Lines `name | id | parent`; the two heading lines have another form and are left out.
fn parse_vlans(text: &str) -> Vec<Vlan> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, id, parent] = fields[..] else {
            return None;
        };
        Some(Vlan {
            name: name.to_owned(),
            id: id.parse().ok()?,
            parent: parent.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// Reads the place of one interface.
pub(super) fn read(
    source: &dyn Source,
    attributes: &mut Attributes<'_>,
    nic: &mut facts::Nic,
    vlans: &[Vlan],
) {
    nic.master = source.link_name(&attributes.path("master"));
    let lower = lower(source, attributes);
    match nic.kind.as_deref() {
        Some("bond") => {
            nic.members = words(attributes, "members", "bonding/slaves");
            nic.bond_mode = first_word(attributes, "bond_mode", "bonding/mode");
            nic.active_member = first_word(attributes, "active_member", "bonding/active_slave");
        }
        Some("bridge") => nic.members = Some(source.list(&attributes.path("brif")).unwrap_or(lower)),
        Some("team") => nic.members = Some(lower),
        Some("vlan") => {
            let vlan = vlans.iter().find(|vlan| Some(&vlan.name) == nic.name.as_ref());
            nic.vlan_id = vlan.map(|vlan| vlan.id);
            nic.parent = vlan
                .map(|vlan| vlan.parent.clone())
                .or_else(|| lower.into_iter().next());
        }
        Some("vf") => nic.parent = first_port(source, &attributes.path("device/physfn/net")),
        Some("subfunction") => nic.parent = port_of_subfunction(source, attributes),
        // A macvlan, VXLAN or tunnel over one interface; a switch such as OVS has several.
        Some("virtual") if lower.len() == 1 => nic.parent = lower.into_iter().next(),
        Some("virtual") if !lower.is_empty() => nic.members = Some(lower),
        _ => {}
    }
}

/// The interfaces that this one says it lies on: links `lower_NAME`.
fn lower(source: &dyn Source, attributes: &Attributes<'_>) -> Vec<String> {
    let entries = source.list(&attributes.path("")).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| entry.strip_prefix("lower_"))
        .map(str::to_owned)
        .collect()
}

fn words(attributes: &mut Attributes<'_>, fact: &str, file: &str) -> Option<Vec<String>> {
    let raw = attributes.raw(file);
    let text = attributes.keep(fact, file, raw)?;
    Some(text.split_whitespace().map(str::to_owned).collect())
}

fn first_word(attributes: &mut Attributes<'_>, fact: &str, file: &str) -> Option<String> {
    words(attributes, fact, file)?.into_iter().next()
}

/// The first interface of a function that is a port and no representor.
fn first_port(source: &dyn Source, directory: &str) -> Option<String> {
    let is_port = |name: &String| {
        let port_name = source.sign(&format!("{directory}/{name}/phys_port_name"));
        !port_name.is_some_and(|port| crate::netdev::is_representor_port(&port))
    };
    source.list(directory).ok()?.into_iter().find(is_port)
}

/// A subfunction hangs on the auxiliary bus, below the PCI function that it is cut from.
fn port_of_subfunction(source: &dyn Source, attributes: &Attributes<'_>) -> Option<String> {
    let directory = source.resolved(&attributes.path("device"))?;
    let slot = directory.rsplit('/').find(|part| pci::is_slot(part))?;
    first_port(source, &format!("/sys/bus/pci/devices/{slot}/net"))
}

/// Fills in what only all interfaces together tell: the port of each representor shares its PCI function.
pub(super) fn complete(nics: &mut [facts::Nic]) {
    let is = |nic: &facts::Nic, kind: &str| nic.kind.as_deref() == Some(kind);
    let ports: BTreeMap<String, String> = nics
        .iter()
        .filter(|nic| is(nic, "physical"))
        .filter_map(|nic| Some((nic.pci_slot.clone()?, nic.name.clone()?)))
        .collect();
    for nic in nics.iter_mut().filter(|nic| is(nic, "representor")) {
        nic.parent = nic.pci_slot.as_ref().and_then(|slot| ports.get(slot).cloned());
    }
}

/// An interface and all that lie below it.
pub(super) fn with_all_below(nics: &[facts::Nic], top: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([top.to_owned()]);
    let mut front = vec![top.to_owned()];
    for _ in 0..DEEPEST {
        let below = |name: &String| {
            let nic = nics.iter().find(|nic| nic.name.as_ref() == Some(name));
            nic.into_iter()
                .flat_map(|nic| nic.members.iter().flatten().chain(&nic.parent))
                .cloned()
        };
        front = front
            .iter()
            .flat_map(below)
            .filter(|name| !found.contains(name))
            .collect();
        if front.is_empty() {
            break;
        }
        found.extend(front.iter().cloned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_vlans_is_read_without_its_heading() {
        let text = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n\
                    bond0.1202     | 1202  | bond0\nodd|x|bond0\n";
        let expected = Vlan {
            name: "bond0.1202".into(),
            id: 1202,
            parent: "bond0".into(),
        };
        assert_eq!(parse_vlans(text), [expected]);
    }

    #[test]
    fn a_stack_is_followed_to_its_ports_and_a_loop_ends() {
        let nic = |name: &str, parent: Option<&str>, members: &[&str]| facts::Nic {
            name: Some(name.into()),
            parent: parent.map(str::to_owned),
            members: (!members.is_empty()).then(|| members.iter().map(|m| (*m).to_owned()).collect()),
            ..facts::Nic::default()
        };
        let nics = [
            nic("br0", None, &["bond0.7"]),
            nic("bond0.7", Some("bond0"), &[]),
            nic("bond0", None, &["eth0", "eth1"]),
            nic("loop0", Some("loop1"), &[]),
            nic("loop1", Some("loop0"), &[]),
        ];
        let all = |top| with_all_below(&nics, top).into_iter().collect::<Vec<_>>();
        assert_eq!(all("br0"), ["bond0", "bond0.7", "br0", "eth0", "eth1"]);
        assert_eq!(all("loop0"), ["loop0", "loop1"]);
    }
}
