//! One network interface: its device, its link, its place in a stack.

use super::attributes::{Attributes, number};
use super::kind::{self, Signs};
use super::source::{ONE_VALUE, ReadError, Source};
use super::{pci, rdma, stack};
use crate::{host::Host, netdev};
use dtnforge_profiles::facts;
use nix::errno::Errno;

/// Where the kernel lists network interfaces.
pub(super) const CLASS_NET: &str = "/sys/class/net";

/// Reads all about one interface. `vlans` is what 802.1Q knows.
pub(super) fn read(host: &Host, source: &dyn Source, name: &str, vlans: &[stack::Vlan]) -> facts::Nic {
    let mut attributes = Attributes::of(source, &format!("{CLASS_NET}/{name}"));
    let mut nic = facts::Nic {
        name: Some(name.to_owned()),
        ..facts::Nic::default()
    };
    device(host, source, &mut attributes, &mut nic);
    link(&mut attributes, &mut nic);
    port(&mut attributes, &mut nic);
    let signs = signs(source, &mut attributes, &nic, vlans);
    nic.kind = Some(kind::of(&signs).to_owned());
    rdma::read(source, &mut attributes, &mut nic);
    stack::read(source, &mut attributes, &mut nic, vlans);
    nic.errors.append(&mut attributes.errors);
    nic
}

/// The device that the interface belongs to: bus, driver, identity, place in the machine.
fn device(host: &Host, source: &dyn Source, attributes: &mut Attributes<'_>, nic: &mut facts::Nic) {
    let Some(name) = nic
        .name
        .clone()
        .filter(|_| source.exists(&attributes.path("device")))
    else {
        return;
    };
    nic.bus = source.link_name(&attributes.path("device/subsystem"));
    nic.driver = source.link_name(&attributes.path("device/driver"));
    nic.mac = netdev::permanent_mac(host, &name).filter(|mac| mac != "00:00:00:00:00:00");
    let bus_path = netdev::bus_path(host, &name);
    match nic.bus.as_deref() {
        Some("usb") => nic.usb_id = pci::usb_id(source, &attributes.path("device")),
        _ => nic.pci_slot = bus_path.filter(|path| pci::is_slot(path)),
    }
    if let Some(slot) = nic.pci_slot.clone() {
        pci::read(source, &slot, nic);
    }
}

/// Speed, carrier, state and MTU, as the kernel gives them.
fn link(attributes: &mut Attributes<'_>, nic: &mut facts::Nic) {
    let speed = attributes.raw("speed").and_then(|text| number(&text));
    if let Err(ReadError::Os(errno)) = &speed {
        nic.speed_error = Some(format!("{errno:?}"));
    }
    nic.speed_mbps = attributes.keep("speed_mbps", "speed", speed);
    nic.carrier = attributes.switch("carrier", "carrier");
    nic.operstate = attributes.text("operstate", "operstate");
    nic.mtu = attributes.number("mtu", "mtu");
}

/// The port's name in the card's switch.
fn port(attributes: &mut Attributes<'_>, nic: &mut facts::Nic) {
    let name = without_support(attributes.raw("phys_port_name"));
    nic.phys_port_name = attributes
        .keep("phys_port_name", "phys_port_name", name)
        .filter(|text| !text.is_empty());
}

/// A driver that has no such attribute says so by an error: for us it does not exist.
fn without_support(result: Result<String, ReadError>) -> Result<String, ReadError> {
    match result {
        Err(ReadError::Os(Errno::EOPNOTSUPP)) => Err(ReadError::Missing),
        other => other,
    }
}

fn signs(
    source: &dyn Source,
    attributes: &mut Attributes<'_>,
    nic: &facts::Nic,
    vlans: &[stack::Vlan],
) -> Signs {
    let name = nic.name.as_deref().unwrap_or_default();
    let uevent = source
        .text(&attributes.path("uevent"), ONE_VALUE)
        .unwrap_or_default();
    let there = |file: &str| source.exists(&attributes.path(file));
    Signs {
        devtype: value_of(&uevent, "DEVTYPE"),
        bonding: there("bonding"),
        bridge: there("bridge"),
        vlan: vlans.iter().any(|vlan| vlan.name == name),
        team: source.exists(&format!("/run/teamd/{name}.pid")),
        device: there("device"),
        bus: nic.bus.clone(),
        driver: nic.driver.clone(),
        pci_id: nic.pci_id.clone(),
        physfn: there("device/physfn"),
        phys_port_name: nic.phys_port_name.clone(),
        phys_switch_id: source.sign(&attributes.path("phys_switch_id")),
        hardware_type: attributes.number("hardware_type", "type"),
    }
}

/// The value of `KEY=value` in a uevent file.
pub(super) fn value_of(uevent: &str, key: &str) -> Option<String> {
    uevent
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        .map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_uevent_are_matched_whole() {
        let text = "DEVTYPE=vlan\nINTERFACE=eth0.7\nPARTN=2\n";
        assert_eq!(value_of(text, "DEVTYPE").as_deref(), Some("vlan"));
        assert_eq!(value_of(text, "PART"), None);
    }

    #[test]
    fn an_attribute_that_the_driver_lacks_does_not_exist() {
        assert_eq!(
            without_support(Err(ReadError::Os(Errno::EOPNOTSUPP))),
            Err(ReadError::Missing)
        );
        assert_eq!(
            without_support(Err(ReadError::Os(Errno::EINVAL))),
            Err(ReadError::Os(Errno::EINVAL))
        );
    }
}
