//! Whether this Linux is a guest.
//!
//! What decides, in this order: a hypervisor that names itself, DMI, the hypervisor bit of the CPU, disks that only
//! guests have, a CPU that is none. A network card alone makes one answer the likelier one, and the answer is then marked as not certain.

mod devices;
mod dmi;

use super::Reasons;
use crate::facts::{Facts, Host};
use crate::site::{Site, YesNo};
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

pub(super) fn conclude(facts: &Facts, site: &Site, reasons: &mut Reasons) -> Virtualised {
    match site.virtualised {
        Some(answer) => stated(answer, facts, reasons),
        None => seen(facts, reasons),
    }
}

/// The site's word, and what speaks against it.
fn stated(answer: YesNo, facts: &Facts, reasons: &mut Reasons) -> Virtualised {
    let guest = match answer {
        YesNo::Yes => Guest::Yes,
        YesNo::No => Guest::No,
    };
    let seen = decide(facts);
    if seen.certain && seen.guest != guest {
        reasons.findings.push(format!(
            "virtualised is {guest} by the site's word, and {} speaks against it",
            seen.sign
        ));
    }
    let sign = "stated by the site".to_owned();
    reasons.why.push(format!("virtualised: {guest}, {sign}"));
    Virtualised { guest, sign }
}

fn seen(facts: &Facts, reasons: &mut Reasons) -> Virtualised {
    let Decision { guest, sign, certain } = decide(facts);
    if !certain {
        reasons.unsure("virtualised");
    }
    let doubt = if certain || guest == Guest::CannotTell {
        ""
    } else {
        " (likely)"
    };
    reasons.why.push(format!("virtualised: {guest}{doubt}, {sign}"));
    Virtualised { guest, sign }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Decision {
    guest: Guest,
    sign: String,
    certain: bool,
}

impl Decision {
    fn certain(guest: Guest, sign: String) -> Self {
        let certain = true;
        Self { guest, sign, certain }
    }

    fn likely(guest: Guest, sign: String) -> Self {
        let certain = false;
        Self { guest, sign, certain }
    }
}

fn decide(facts: &Facts) -> Decision {
    let host = &facts.host;
    if let Some(sign) = hypervisor_of(host).or_else(|| dmi::guest(host)) {
        return Decision::certain(Guest::Yes, sign);
    }
    let firm = devices::guest_disk(facts).or_else(|| devices::guest_cpu(host));
    let (is_firm, nic) = (firm.is_some(), devices::guest_nic(facts));
    match (host.cpu_hypervisor_flag, dmi::real(host), firm.or(nic)) {
        // The machine itself says that nothing is beneath it: a paravirtual card is then only a card.
        (Some(false), Some(real), Some(device)) => Decision::certain(
            Guest::No,
            format!("no hypervisor bit in the CPU, and {real}, in spite of {device}"),
        ),
        (Some(false), None, None) => Decision::certain(Guest::No, "no hypervisor bit in the CPU".to_owned()),
        (Some(false), None, Some(device)) => Decision::likely(
            Guest::CannotTell,
            format!("{device} against a CPU without hypervisor bit"),
        ),
        (_, _, Some(device)) if is_firm => Decision::certain(Guest::Yes, device),
        (_, Some(real), Some(device)) => by_card(facts, &real, device),
        (_, None, Some(device)) => Decision::likely(Guest::Yes, device),
        (_, Some(real), None) => Decision::certain(Guest::No, real),
        (_, None, None) => by_weak_signs(facts),
    }
}

/// DMI names a machine, and a network card is one of a guest. A DPU has such a card between itself and its host.
fn by_card(facts: &Facts, real: &str, card: String) -> Decision {
    match devices::likely_machine(facts) {
        Some(machine) => Decision::likely(Guest::No, format!("{real}, and {machine}, in spite of {card}")),
        None => Decision::likely(Guest::Yes, card),
    }
}

/// Nothing names the machine: what its devices make likely.
fn by_weak_signs(facts: &Facts) -> Decision {
    let machine = devices::likely_machine(facts).or_else(|| own_clock(&facts.host));
    match (
        devices::likely_guest(facts).or_else(|| mainframe(&facts.host)),
        machine,
    ) {
        (Some(guest), None) => Decision::likely(Guest::Yes, guest),
        (None, Some(machine)) => Decision::likely(Guest::No, machine),
        (Some(guest), Some(machine)) => {
            Decision::likely(Guest::CannotTell, format!("{guest}, against {machine}"))
        }
        (None, None) => Decision::likely(Guest::CannotTell, "nothing names the machine".to_owned()),
    }
}

/// A hypervisor seldom lets a guest set the frequency of a CPU.
fn own_clock(host: &Host) -> Option<String> {
    let driver = host.freq_driver.as_deref()?;
    Some(format!("the frequency driver {driver} sets the clock"))
}

/// A mainframe runs each Linux in a partition, or in a guest of z/VM.
fn mainframe(host: &Host) -> Option<String> {
    (host.arch.as_deref() == Some("s390x")).then(|| "architecture s390x".to_owned())
}

fn hypervisor_of(host: &Host) -> Option<String> {
    let named = host.hypervisor.as_deref().map(str::trim).unwrap_or_default();
    if !named.is_empty() && !named.eq_ignore_ascii_case("none") {
        return Some(format!("hypervisor {named}"));
    }
    (host.cpu_hypervisor_flag == Some(true)).then(|| "the hypervisor bit of the CPU".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(toml: &str) -> (Guest, String) {
        let decision = decide(&toml::from_str(toml).unwrap());
        (decision.guest, decision.sign)
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
            "[[block]]\nname = 'xvda'",
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

    #[test]
    fn a_card_alone_makes_one_answer_likely_and_never_certain() {
        let vf = "[[nic]]\nname = 'ens4'\nkind = 'vf'\ndriver = 'iavf'\npci_slot = '0000:03:0a.0'\n";
        for (toml, guest) in [
            ("[[nic]]\nname = 'ens5'\ndriver = 'ena'", Guest::Yes),
            ("[[nic]]\nname = 'ens5'\ndriver = 'virtio_net'", Guest::Yes),
            (vf, Guest::Yes),
            ("[host]\narch = 's390x'", Guest::Yes),
            (
                "[[nic]]\nname = 'p0'\nkind = 'physical'\nsriov_totalvfs = 63",
                Guest::No,
            ),
            (
                "[[nic]]\nname = 'pf0hpf'\nkind = 'representor'\nparent = 'p0'",
                Guest::No,
            ),
            ("[host]\nfreq_driver = 'intel_pstate'", Guest::No),
            (
                "[host]\ndmi_vendor = 'NVIDIA'\n[[nic]]\nname = 'tm0'\ndriver = 'virtio_net'\n\
                 [[nic]]\nname = 'p0'\nkind = 'physical'\nsriov_totalvfs = 16",
                Guest::No,
            ),
            (
                "[host]\ndmi_vendor = 'Gigabyte'\n[[nic]]\nname = 'ens3'\ndriver = 'virtio_net'",
                Guest::Yes,
            ),
            (
                &format!("{vf}parent = 'p0'\n[[nic]]\nname = 'p0'\nkind = 'physical'\n"),
                Guest::No,
            ),
            (
                &format!("{vf}[[nic]]\nname = 'p0'\nkind = 'physical'\nsriov_totalvfs = 4\n"),
                Guest::CannotTell,
            ),
            (
                "[[nic]]\nname = 'eth0'\nkind = 'vf'\ndriver = 'rvu_nicvf'",
                Guest::CannotTell,
            ),
        ] {
            let decision = decide(&toml::from_str(toml).unwrap());
            assert_eq!((decision.guest, decision.certain), (guest, false), "{toml}");
        }
    }
}
