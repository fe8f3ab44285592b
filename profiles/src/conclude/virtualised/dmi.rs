//! What DMI says: a name that only hypervisors write there, a real system or board, or a placeholder.

use crate::facts::Host;

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
    "kubevirt",
    "cloud hypervisor",
    "cloud-hypervisor",
    "firecracker",
    "kvmtool",
    "virtuozzo",
    "apple virtualization",
    "smartdc hvm",
    "vultr",
    "upcloud",
    "scaleway",
    "exoscale",
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
    "not defined",
    "filled by oem",
    "0123456789",
    "123456789",
    "1234567890",
    "xxxxxxxxxx",
    "tbd",
    "type2 - board vendor name1",
    "type2 - board product name1",
];

/// The DMI texts that name a system or board, with what they are.
fn texts(host: &Host) -> [(&'static str, Option<&str>); 6] {
    [
        ("DMI vendor", host.dmi_vendor.as_deref()),
        ("DMI product", host.dmi_product.as_deref()),
        ("DMI product family", host.dmi_product_family.as_deref()),
        ("DMI board vendor", host.dmi_board_vendor.as_deref()),
        ("DMI board", host.dmi_board.as_deref()),
        ("BIOS vendor", host.bios_vendor.as_deref()),
    ]
}

/// The DMI text that only a hypervisor or a cloud writes.
pub(super) fn guest(host: &Host) -> Option<String> {
    // The bare-metal instances of a cloud carry its vendor's name too.
    let product = host.dmi_product.as_deref().unwrap_or_default();
    if product.ends_with(".metal") || product.contains(".metal-") {
        return None;
    }
    texts(host).into_iter().find_map(|(what, text)| {
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

/// The DMI text that names a real system or board.
pub(super) fn real(host: &Host) -> Option<String> {
    let named = texts(host).into_iter().take(5);
    // A BIOS vendor alone names no system: it is the same in a placeholder board.
    let mut real = named.filter_map(|(what, text)| Some((what, text?.trim())));
    real.find(|(_, text)| !PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str()))
        .map(|(what, text)| format!("{what} {text:?}"))
}
