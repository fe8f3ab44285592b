//! Whether this Linux is a guest.

use super::Reasons;
use crate::facts::{Block, Facts, Host};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Yes, no, or not to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guest {
    /// A guest.
    Yes,
    /// A machine of its own; one that runs guests is no guest.
    No,
    /// The facts do not decide.
    CannotTell,
}

/// The answer, and what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Virtualised {
    /// The answer.
    pub guest: Guest,
    /// The sign, for instance `DMI vendor QEMU`.
    pub sign: String,
}

impl fmt::Display for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Guest::Yes => "yes",
            Guest::No => "no",
            Guest::CannotTell => "cannot-tell",
        })
    }
}

/// Words in DMI texts that only hypervisors and clouds write there, in lower case.
const GUEST_WORDS: &[&str] = &[
    "qemu",
    "kvm",
    "standard pc (",
    "bochs",
    "vmware",
    "virtualbox",
    "innotek",
    "virtual machine",
    "virtual platform",
    "xen",
    "hvm domu",
    "amazon ec2",
    "google compute engine",
    "openstack",
    "rhev hypervisor",
    "ovirt",
    "alibaba cloud",
    "parallels",
    "bhyve",
    "nutanix ahv",
    "vserver",
    "droplet",
    "cloudstack",
    "cvm",
];

/// What a board maker leaves in DMI when nobody filled it in, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "",
    "none",
    "unknown",
    "default string",
    "to be filled by o.e.m.",
    "to be filled by o.e.m",
    "system manufacturer",
    "system product name",
    "system version",
    "base board manufacturer",
    "base board product name",
    "not specified",
    "not applicable",
    "not available",
    "n/a",
    "o.e.m.",
    "oem",
    "empty",
    "invalid",
    "undefined",
    "type2 - board vendor name1",
    "type2 - board product name1",
];

/// Drivers of network devices that a hypervisor makes and no machine has.
const GUEST_DRIVERS: &[&str] = &[
    "gve",
    "hv_netvsc",
    "vmxnet3",
    "virtio_net",
    "xen-netfront",
    "xen_netfront",
    "vif",
];

/// PCI vendors of such devices: Google, virtio, VMware.
const GUEST_PCI_VENDORS: &[&str] = &["1ae0:", "1af4:", "15ad:"];

/// Models and vendors of emulated disks, in lower case.
const GUEST_DISKS: &[&str] = &["qemu", "vmware", "vbox", "msft"];

pub(super) fn conclude(facts: &Facts, reasons: &mut Reasons) -> Virtualised {
    let (guest, sign) = decide(facts);
    if guest == Guest::CannotTell {
        reasons.unsure("virtualised");
    }
    reasons.why.push(format!("virtualised: {guest}, {sign}"));
    Virtualised { guest, sign }
}

fn decide(facts: &Facts) -> (Guest, String) {
    let host = &facts.host;
    if let Some(sign) = hypervisor_of(host).or_else(|| guest_dmi(host)) {
        return (Guest::Yes, sign);
    }
    let real = real_dmi(host);
    let device = guest_device(facts);
    match (host.cpu_hypervisor_flag, real, device) {
        // The machine itself says that nothing is beneath it: a paravirtual card is then only a card.
        (Some(false), Some(real), Some(device)) => (
            Guest::No,
            format!("no hypervisor bit in the CPU, and {real}, in spite of {device}"),
        ),
        (Some(false), None, None) => (Guest::No, "no hypervisor bit in the CPU".to_owned()),
        (Some(false), None, Some(device)) => (
            Guest::CannotTell,
            format!("{device} against a CPU without hypervisor bit"),
        ),
        (_, _, Some(device)) => (Guest::Yes, device),
        (_, Some(real), None) => (Guest::No, real),
        (_, None, None) => (Guest::CannotTell, "nothing names the machine".to_owned()),
    }
}

fn hypervisor_of(host: &Host) -> Option<String> {
    let named = host.hypervisor.as_deref().map(str::trim).unwrap_or_default();
    if !named.is_empty() && !named.eq_ignore_ascii_case("none") {
        return Some(format!("hypervisor {named}"));
    }
    (host.cpu_hypervisor_flag == Some(true)).then(|| "the hypervisor bit of the CPU".to_owned())
}

/// The DMI texts that name a system or board, with what they are.
fn dmi(host: &Host) -> [(&'static str, Option<&str>); 6] {
    [
        ("DMI vendor", host.dmi_vendor.as_deref()),
        ("DMI product", host.dmi_product.as_deref()),
        ("DMI product family", host.dmi_product_family.as_deref()),
        ("DMI board vendor", host.dmi_board_vendor.as_deref()),
        ("DMI board", host.dmi_board.as_deref()),
        ("BIOS vendor", host.bios_vendor.as_deref()),
    ]
}

fn guest_dmi(host: &Host) -> Option<String> {
    // The bare-metal instances of a cloud carry its vendor's name too.
    let product = host.dmi_product.as_deref().unwrap_or_default();
    if product.ends_with(".metal") || product.contains(".metal-") {
        return None;
    }
    dmi(host).into_iter().find_map(|(what, text)| {
        let text = text?;
        let lower = text.to_ascii_lowercase();
        let says = GUEST_WORDS.iter().any(|word| has_word(&lower, word));
        says.then(|| format!("{what} {text:?}"))
    })
}

/// Whether `word` stands in `text` and not inside a longer word: `xen` is not in `xenon`.
fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphabetic());
    text.match_indices(word).any(|(at, _)| {
        let after = &text[at + word.len()..];
        edge(text[..at].chars().next_back())
            && (!word.ends_with(char::is_alphanumeric) || edge(after.chars().next()))
    })
}

fn real_dmi(host: &Host) -> Option<String> {
    let named = dmi(host).into_iter().take(5);
    // A BIOS vendor alone names no system: it is the same in a placeholder board.
    let mut real = named.filter_map(|(what, text)| Some((what, text?.trim())));
    real.find(|(_, text)| !PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str()))
        .map(|(what, text)| format!("{what} {text:?}"))
}

/// A device that only guests have. ENA is not one: bare-metal instances have it too; nor is a VF without its PF,
/// which some ARM systems give to the host.
fn guest_device(facts: &Facts) -> Option<String> {
    let disk = facts.blocks.iter().find(|block| is_guest_disk(block));
    if let Some(disk) = disk {
        return Some(format!(
            "guest disk {}",
            disk.name.as_deref().unwrap_or("without a name")
        ));
    }
    facts.nics.iter().find_map(|nic| {
        let driver = nic.driver.as_deref().unwrap_or_default();
        let pci_id = nic.pci_id.as_deref().unwrap_or_default();
        let name = nic.name.as_deref().unwrap_or("without a name");
        if GUEST_DRIVERS.contains(&driver) {
            Some(format!("driver {driver} of {name}"))
        } else {
            let paravirtual = GUEST_PCI_VENDORS.iter().any(|vendor| pci_id.starts_with(vendor));
            paravirtual.then(|| format!("PCI device {pci_id} of {name}"))
        }
    })
}

fn is_guest_disk(block: &Block) -> bool {
    let starts = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
        GUEST_DISKS.iter().any(|word| text.starts_with(word))
    };
    block.transport.as_deref() == Some("virtio") || starts(&block.model) || starts(&block.vendor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(toml: &str) -> (Guest, String) {
        decide(&toml::from_str(toml).unwrap())
    }

    #[test]
    fn a_guest_is_told_by_what_only_guests_have() {
        for toml in [
            "[host]\nhypervisor = 'kvm'",
            "[host]\ndmi_vendor = 'QEMU'",
            "[host]\ndmi_product = 'VMware7,1'",
            "[host]\ndmi_vendor = 'Microsoft Corporation'\ndmi_product = 'Virtual Machine'",
            "[host]\ncpu_hypervisor_flag = true\ndmi_vendor = 'Supermicro'",
            "[[block]]\nname = 'vda'\ntransport = 'virtio'",
            "[[nic]]\nname = 'ens4'\ndriver = 'gve'",
            "[[nic]]\nname = 'ens4'\npci_id = '1af4:1041'",
            "[[block]]\nname = 'sda'\nmodel = 'QEMU_HARDDISK'",
        ] {
            assert_eq!(host(toml).0, Guest::Yes, "{toml}");
        }
    }

    #[test]
    fn a_server_without_hypervisor_bit_is_no_guest_in_spite_of_a_virtio_card() {
        let toml = "[host]\ncpu_hypervisor_flag = false\ndmi_vendor = 'Supermicro'\ndmi_product = 'SYS-1'\n\
                    [[nic]]\nname = 'ens1'\ndriver = 'virtio_net'\n[[block]]\nname = 'vda'\ntransport = 'virtio'";
        let (guest, sign) = host(toml);
        assert_eq!(guest, Guest::No);
        assert!(
            sign.contains("Supermicro") && sign.contains("guest disk vda"),
            "{sign}"
        );
    }

    #[test]
    fn placeholders_and_ambiguous_cards_decide_nothing() {
        for toml in [
            "",
            "[host]\ndmi_vendor = 'To be filled by O.E.M.'\ndmi_product = 'Default string'",
            "[host]\nbios_vendor = 'American Megatrends Inc.'",
            "[[nic]]\nname = 'ens5'\ndriver = 'ena'",
            "[host]\ncontainer = 'docker'",
        ] {
            assert_eq!(host(toml).0, Guest::CannotTell, "{toml}");
        }
    }

    #[test]
    fn a_bare_metal_instance_of_a_cloud_and_a_name_with_xen_inside_are_machines() {
        for toml in [
            "[host]\ndmi_vendor = 'Amazon EC2'\ndmi_product = 'c5n.metal'",
            "[host]\ndmi_vendor = 'Xenon Systems'\ndmi_product = 'DTN-1'",
            "[host]\ndmi_vendor = 'Nutanix'\ndmi_product = 'NX-8155-G8'",
        ] {
            assert_eq!(host(toml).0, Guest::No, "{toml}");
        }
    }
}
