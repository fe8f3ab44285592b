//! Which ports may carry data: physical ports of the kernel, with bonds, teams and VLANs resolved to them. Never
//! representors, sub-functions, VFs beside their PF, USB to the service processor, or what user space has taken.

use super::ports::Port;
use crate::facts::{Facts, Nic};

/// Drivers of interfaces on USB, which lead to the service processor of a server.
const USB_DRIVERS: &[&str] = &[
    "cdc_ether",
    "rndis_host",
    "cdc_ncm",
    "cdc_eem",
    "cdc_subset",
    "ipheth",
    "r8152",
    "ax88179_178a",
];

/// What the names of drivers of wireless cards begin with.
const WIRELESS_DRIVERS: &[&str] = &[
    "iwl", "ath5k", "ath9k", "ath10k", "ath11k", "ath12k", "mt76", "mt79", "rtl81", "rtw8", "rtw_8", "rtw89",
    "brcmfmac", "brcmsmac", "b43", "mwifiex", "wil6210",
];

/// Drivers that take a device away from the kernel.
const USER_SPACE_DRIVERS: &[&str] = &["vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub"];

/// All ports that may carry data, whatever their link: bonds resolved to their legs.
pub(super) fn candidates(facts: &Facts) -> Vec<Port<'_>> {
    let by_name = |name: &str| facts.nics.iter().find(|nic| nic.name.as_deref() == Some(name));
    let mut ports: Vec<Port<'_>> = Vec::new();
    for nic in &facts.nics {
        let Some(name) = nic.name.as_deref() else { continue };
        let master = nic.master.as_deref().and_then(by_name);
        if master.is_some_and(|master| is_synthetic(master, facts)) || !may_carry_data(nic, facts) {
            continue;
        }
        let bond = master
            .filter(|master| is_bond(master))
            .or_else(|| bond_with_member(facts, name));
        ports.push(Port {
            name,
            nic,
            bond,
            facts,
        });
    }
    ports
}

fn is_bond(nic: &Nic) -> bool {
    matches!(nic.kind.as_deref(), Some("bond" | "team"))
}

fn bond_with_member<'a>(facts: &'a Facts, name: &str) -> Option<&'a Nic> {
    let has = |nic: &&Nic| is_bond(nic) && nic.members.iter().flatten().any(|member| member == name);
    facts.nics.iter().find(has)
}

fn may_carry_data(nic: &Nic, facts: &Facts) -> bool {
    let driver = nic.driver.as_deref().unwrap_or_default();
    if USER_SPACE_DRIVERS.contains(&driver)
        || nic.driver_bound == Some(false)
        || is_usb(nic)
        || is_wireless(nic)
        || is_accelerator(nic)
        || is_below_synthetic(nic, facts)
    {
        return false;
    }
    let in_file = |name: &String| facts.nics.iter().any(|other| other.name.as_ref() == Some(name));
    match nic.kind.as_deref() {
        Some("physical" | "ipoib") | None => !is_representor(nic),
        // Inside a guest the PF is not to be seen.
        Some("vf") => !nic.parent.as_ref().is_some_and(in_file),
        Some("virtual") => is_synthetic(nic, facts),
        Some("vlan") => nic.parent.is_some() && !nic.parent.as_ref().is_some_and(in_file),
        Some("bond" | "team") => !nic.members.iter().flatten().any(in_file) && !is_master(nic, facts),
        _ => false,
    }
}

/// The synthetic interface of Hyper-V carries the data, with or without a VF beneath it.
fn is_synthetic(nic: &Nic, facts: &Facts) -> bool {
    let vf_below = |other: &Nic| {
        other.kind.as_deref() == Some("vf") && other.master.is_some() && other.master == nic.name
    };
    nic.driver.as_deref() == Some("hv_netvsc")
        || (nic.kind.as_deref() == Some("virtual") && facts.nics.iter().any(vf_below))
}

/// The fast path of Hyper-V and Azure: a VF, whose traffic belongs to the synthetic interface even where the report does
/// not say that it is below it.
fn is_below_synthetic(nic: &Nic, facts: &Facts) -> bool {
    let is_vf = nic.kind.as_deref() == Some("vf") || nic.driver.as_deref() == Some("mana");
    let synthetic = |nic: &Nic| nic.driver.as_deref() == Some("hv_netvsc");
    is_vf && nic.fabric.is_none() && facts.nics.iter().any(synthetic)
}

fn is_master(nic: &Nic, facts: &Facts) -> bool {
    facts
        .nics
        .iter()
        .any(|other| other.master.is_some() && other.master == nic.name)
}

/// A port of an embedded switch that stands for a VF or another function: `pf0vf1`, `c1pf0sf3`.
fn is_representor(nic: &Nic) -> bool {
    let port = nic.phys_port_name.as_deref().unwrap_or_default();
    let flavour = nic.devlink_flavour.as_deref().unwrap_or("physical");
    port.contains("pf") || flavour != "physical"
}

fn is_usb(nic: &Nic) -> bool {
    let driver = nic.driver.as_deref().unwrap_or_default();
    let name = nic.name.as_deref().unwrap_or_default();
    nic.bus.as_deref() == Some("usb")
        || nic.usb_id.is_some()
        || USB_DRIVERS.contains(&driver)
        || is_usb_name(name)
}

/// By its driver, or by a name as `wlan0`, `wlp2s0`, `wwan0`.
fn is_wireless(nic: &Nic) -> bool {
    let name = nic.name.as_deref().unwrap_or_default();
    let driver = nic.driver.as_deref().unwrap_or_default();
    let of_family = WIRELESS_DRIVERS.iter().any(|prefix| driver.starts_with(prefix));
    name.starts_with("wl") || name.starts_with("ww") || of_family
}

/// `usb0`, or a predictable name with a USB port in it, `enp0s20f0u7u2c2`.
fn is_usb_name(name: &str) -> bool {
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if let Some(rest) = name.strip_prefix("usb") {
        return numbered(rest);
    }
    let Some(path) = name
        .strip_prefix("en")
        .filter(|path| path.starts_with(['p', 's', 'P']))
    else {
        return false;
    };
    path.match_indices('u').any(|(at, _)| numbered(&path[at + 1..]))
}

fn is_accelerator(nic: &Nic) -> bool {
    let says = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default().to_ascii_lowercase();
        ["fpga", "alveo", "accelerator"]
            .iter()
            .any(|word| text.contains(word))
    };
    says(&nic.name) || says(&nic.model)
}
