//! PCI and USB: what a NIC is plugged into, and network functions that have no interface.

use super::attributes::Attributes;
use super::source::{ReadError, Source};
use dtnforge_profiles::facts;
use std::collections::BTreeSet;

const DEVICES: &str = "/sys/bus/pci/devices";

/// Whether a bus address is one of PCI: `domain:bus:slot.function`.
pub(super) fn is_slot(text: &str) -> bool {
    let hex = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = text.split([':', '.']);
    let four = [parts.next(), parts.next(), parts.next(), parts.next()];
    parts.next().is_none() && four.iter().all(|part| part.is_some_and(hex)) && text.matches(':').count() == 2
}

/// Reads identity, NUMA node and PCIe link of the function in `slot`.
pub(super) fn read(source: &dyn Source, slot: &str, nic: &mut facts::Nic) {
    let mut function = Attributes::of(source, &format!("{DEVICES}/{slot}"));
    nic.pci_id = id(&mut function);
    nic.numa_node = function.number("numa_node", "numa_node");
    nic.pcie_gts = rate(&mut function, "pcie_gts", "current_link_speed");
    nic.pcie_gts_max = rate(&mut function, "pcie_gts_max", "max_link_speed");
    nic.pcie_width = function.number("pcie_width", "current_link_width");
    nic.pcie_width_max = function.number("pcie_width_max", "max_link_width");
    nic.errors.append(&mut function.errors);
}

/// `vendor:device`, four hexadecimal digits each.
fn id(function: &mut Attributes<'_>) -> Option<String> {
    let vendor = function.text("pci_id", "vendor")?;
    let device = function.text("pci_id", "device")?;
    let digits = |text: &str| text.strip_prefix("0x").unwrap_or(text).to_ascii_lowercase();
    Some(format!("{}:{}", digits(&vendor), digits(&device)))
}

fn rate(function: &mut Attributes<'_>, fact: &str, file: &str) -> Option<f64> {
    let raw = function.raw(file);
    let rate = raw.and_then(|text| parse_rate(&text));
    function.keep(fact, file, rate)
}

/// GT/s out of `16.0 GT/s PCIe`; `Unknown` (an emulated slot) is no number.
fn parse_rate(text: &str) -> Result<f64, ReadError> {
    let odd = || ReadError::odd(text, "a rate such as 16.0 GT/s");
    let (number, unit) = text.split_once(' ').ok_or_else(odd)?;
    if !unit.starts_with("GT/s") {
        return Err(odd());
    }
    number
        .parse()
        .ok()
        .filter(|rate: &f64| rate.is_finite())
        .ok_or_else(odd)
}

/// `vendor:product` of a USB device; `interface` is the directory of one of its interfaces.
pub(super) fn usb_id(source: &dyn Source, interface: &str) -> Option<String> {
    let directory = source.resolved(interface)?;
    let (device, _) = directory.rsplit_once('/')?;
    let vendor = source.sign(&format!("{device}/idVendor"))?;
    let product = source.sign(&format!("{device}/idProduct"))?;
    Some(format!("{vendor}:{product}"))
}

/// Network functions without an interface: no driver, a driver for user space, or an RDMA device without IPoIB.
/// `taken` are the slots that have an interface.
pub(super) fn without_interface(source: &dyn Source, taken: &BTreeSet<String>) -> Vec<facts::Nic> {
    // No PCI, no list: an IBM Z or a small guest.
    let slots = source.list(DEVICES).unwrap_or_default();
    slots
        .iter()
        .filter(|slot| is_slot(slot) && !taken.contains(*slot))
        .filter_map(|slot| bare_function(source, slot))
        .collect()
}

fn bare_function(source: &dyn Source, slot: &str) -> Option<facts::Nic> {
    let directory = format!("{DEVICES}/{slot}");
    // Class 02: network controllers; Ethernet is 0200, InfiniBand 0207.
    let class = source.sign(&format!("{directory}/class"))?;
    let class = class.strip_prefix("0x").unwrap_or(&class);
    if !class.starts_with("02") {
        return None;
    }
    let mut nic = facts::Nic {
        name: Some(format!("pci-{}", slot.strip_prefix("0000:").unwrap_or(slot))),
        pci_slot: Some(slot.to_owned()),
        bus: Some("pci".to_owned()),
        driver: source.link_name(&format!("{directory}/driver")),
        ..facts::Nic::default()
    };
    read(source, slot, &mut nic);
    nic.driver_bound = Some(nic.driver.is_some());
    let is_function = source.exists(&format!("{directory}/physfn"));
    nic.kind = Some(if is_function { "vf" } else { "physical" }.to_owned());
    super::rdma::read_without_interface(source, &directory, &mut nic);
    Some(nic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_addresses_are_slots() {
        for (text, slot) in [
            ("0000:01:00.0", true),
            ("10000:e1:00.0", true),
            ("1-2:1.0", false),
            ("01:00.0", false),
            ("virtio0", false),
            ("mlx5_core.sf.4", false),
            ("0000:01:00.0/../x", false),
            ("", false),
        ] {
            assert_eq!(is_slot(text), slot, "{text:?}");
        }
    }

    #[test]
    fn a_rate_is_a_number_of_gigatransfers() {
        assert_eq!(parse_rate("16.0 GT/s PCIe"), Ok(16.0));
        assert_eq!(parse_rate("2.5 GT/s"), Ok(2.5));
        let error = parse_rate("Unknown").unwrap_err().to_string();
        assert_eq!(error, "holds \"Unknown\", expected a rate such as 16.0 GT/s");
        assert!(parse_rate("inf GT/s").is_err());
        assert!(parse_rate("8 MT/s").is_err());
    }
}
