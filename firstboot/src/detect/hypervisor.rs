//! Is this Linux a guest, and of what? Decided from signs that stand in files, so that a report decides the same.
//!
//! The `hypervisor` bit of the CPU outweighs DMI where the CPU has such a bit (x86): a server whose vendor also makes
//! clouds, or a rented whole machine, says the cloud's name in DMI and is bare metal all the same. DMI of a program
//! that only ever makes guests (QEMU, VMware, ...) is believed even with the bit hidden. The vendor of the firmware is
//! the weakest sign: SeaBIOS and EDK II also run on real boards, so it is heard only where the bit is set or unknown.

/// What the files say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// The `hypervisor` flag of /proc/cpuinfo; `None` where the architecture has none.
    pub(super) cpu_flag: Option<bool>,
    /// System vendor, product and board vendor, as DMI gives them.
    pub(super) dmi: Vec<String>,
    /// The firmware's vendor.
    pub(super) bios_vendor: Option<String>,
    /// /sys/hypervisor/type.
    pub(super) sys_hypervisor: Option<String>,
    /// Whether this is Xen's first domain, which runs on the metal as far as devices go.
    pub(super) first_domain: bool,
    /// Clock sources that the kernel offers: `kvm-clock` is KVM's.
    pub(super) clock_sources: String,
    /// Whether there are devices on Hyper-V's bus.
    pub(super) vmbus: bool,
    /// Control program of /proc/sysinfo (s390x), or the device tree's hypervisor node.
    pub(super) firmware_table: Option<String>,
}

/// A maker of guests: how its text in DMI begins, the name that we give, and whether it also rents out bare metal.
struct Maker(&'static str, &'static str, bool);

/// Beginnings of DMI texts. `Oracle Corporation` is missing on purpose: it makes servers under that name.
const MAKERS: &[Maker] = &[
    Maker("KVM", "kvm", false),
    Maker("OpenStack", "kvm", false),
    Maker("KubeVirt", "kvm", false),
    Maker("oVirt", "kvm", false),
    Maker("RHEV", "kvm", false),
    Maker("Red Hat KVM", "kvm", false),
    Maker("Nutanix", "kvm", false),
    Maker("AHV", "kvm", false),
    Maker("DigitalOcean", "kvm", false),
    Maker("Hetzner vServer", "kvm", false),
    Maker("QEMU", "qemu", false),
    Maker("Bochs", "bochs", false),
    Maker("VMware", "vmware", false),
    Maker("VMW", "vmware", false),
    Maker("innotek GmbH", "oracle", false),
    Maker("VirtualBox", "oracle", false),
    Maker("Xen", "xen", false),
    Maker("Parallels", "parallels", false),
    Maker("BHYVE", "bhyve", false),
    Maker("Hyper-V", "microsoft", false),
    Maker("Apple Virtualization", "apple", false),
    Maker("Amazon EC2", "amazon", true),
    Maker("Google", "google", true),
    Maker("Alibaba Cloud", "alibaba", true),
    Maker("Tencent Cloud", "tencent", true),
];

/// The hypervisor's name as `systemd-detect-virt` writes it; `None` on bare metal, and where nothing speaks for a
/// guest. A guest whose hypervisor gives no name is `vm-other`.
pub(super) fn name(signs: &Signs) -> Option<String> {
    let by_dmi = by_dmi(signs);
    if signs.cpu_flag == Some(false) || signs.first_domain {
        return by_dmi.filter(|_| !signs.first_domain).map(str::to_owned);
    }
    let found = by_dmi
        .or_else(|| by_kernel(signs))
        .or_else(|| signs.bios_vendor.as_deref().and_then(by_bios))
        .or_else(|| signs.cpu_flag.filter(|flag| *flag).map(|_| "vm-other"));
    found.map(str::to_owned)
}

fn by_dmi(signs: &Signs) -> Option<&'static str> {
    // `Microsoft Corporation` also makes tablets; only its product `Virtual Machine` is a guest.
    let has = |wanted: &str| signs.dmi.iter().any(|text| text == wanted);
    if has("Microsoft Corporation") && has("Virtual Machine") {
        return Some("microsoft");
    }
    // A cloud names whole machines `m5.metal`; without a CPU flag (arm64) that is what tells.
    let whole_machine = signs.cpu_flag == Some(false) || signs.dmi.iter().any(|text| text.contains(".metal"));
    MAKERS
        .iter()
        .filter(|maker| !(maker.2 && whole_machine))
        .find(|maker| signs.dmi.iter().any(|text| text.starts_with(maker.0)))
        .map(|maker| maker.1)
}

fn by_kernel(signs: &Signs) -> Option<&'static str> {
    if signs.sys_hypervisor.as_deref() == Some("xen") {
        return Some("xen");
    }
    if signs.vmbus || signs.clock_sources.contains("hyperv") {
        return Some("microsoft");
    }
    if signs
        .clock_sources
        .split_whitespace()
        .any(|word| word == "kvm-clock")
    {
        return Some("kvm");
    }
    let table = signs.firmware_table.as_deref()?.to_ascii_lowercase();
    let names = [
        ("kvm", "kvm"),
        ("z/vm", "zvm"),
        ("xen", "xen"),
        ("vmware", "vmware"),
        ("qemu", "qemu"),
    ];
    names
        .iter()
        .find(|(sign, _)| table.contains(sign))
        .map(|(_, name)| *name)
}

fn by_bios(vendor: &str) -> Option<&'static str> {
    let names = [
        ("SeaBIOS", "qemu"),
        ("EFI Development Kit II / OVMF", "qemu"),
        ("Bochs", "qemu"),
        ("Xen", "xen"),
        ("innotek GmbH", "oracle"),
        ("Parallels", "parallels"),
        ("BHYVE", "bhyve"),
        ("Amazon EC2", "amazon"),
    ];
    names
        .iter()
        .find(|(sign, _)| vendor.starts_with(sign))
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(cpu_flag: Option<bool>, dmi: &[&str]) -> Signs {
        Signs {
            cpu_flag,
            dmi: dmi.iter().map(|text| (*text).to_owned()).collect(),
            ..Signs::default()
        }
    }

    #[test]
    fn the_flag_and_dmi_decide_together() {
        let table: [(Option<bool>, &[&str], Option<&str>); 16] = [
            (Some(false), &["Dell Inc.", "PowerEdge R7525", "Dell Inc."], None),
            (
                Some(true),
                &["QEMU", "Standard PC (Q35 + ICH9, 2009)"],
                Some("qemu"),
            ),
            // The bit is hidden, DMI is not.
            (
                Some(false),
                &["QEMU", "Standard PC (Q35 + ICH9, 2009)"],
                Some("qemu"),
            ),
            (Some(true), &["VMware, Inc.", "VMware7,1"], Some("vmware")),
            (
                Some(true),
                &["Microsoft Corporation", "Virtual Machine"],
                Some("microsoft"),
            ),
            (Some(false), &["Microsoft Corporation", "Surface Pro"], None),
            (Some(true), &["Amazon EC2", "m5.xlarge"], Some("amazon")),
            (Some(false), &["Amazon EC2", "m5.metal"], None),
            (None, &["Amazon EC2", "c6g.metal"], None),
            (None, &["Amazon EC2", "c6g.xlarge"], Some("amazon")),
            (Some(true), &["Google", "Google Compute Engine"], Some("google")),
            (Some(true), &["Red Hat", "KVM"], Some("kvm")),
            (
                Some(true),
                &["OpenStack Foundation", "OpenStack Nova"],
                Some("kvm"),
            ),
            (Some(true), &["Xen", "HVM domU"], Some("xen")),
            (Some(false), &["Oracle Corporation", "ORACLE SERVER X8-2"], None),
            (None, &[], None),
        ];
        for (flag, dmi, expected) in table {
            assert_eq!(name(&signs(flag, dmi)).as_deref(), expected, "{flag:?} {dmi:?}");
        }
    }

    #[test]
    fn a_guest_without_dmi_is_named_by_its_clock_or_its_bus() {
        let mut guest = signs(Some(true), &[]);
        assert_eq!(name(&guest).as_deref(), Some("vm-other"));
        guest.clock_sources = "tsc kvm-clock acpi_pm".into();
        assert_eq!(name(&guest).as_deref(), Some("kvm"));
        guest.vmbus = true;
        assert_eq!(name(&guest).as_deref(), Some("microsoft"));
    }

    #[test]
    fn firmware_that_also_runs_on_boards_speaks_only_beside_the_bit() {
        let mut host = signs(Some(false), &["Supermicro", "SYS-221H"]);
        host.bios_vendor = Some("SeaBIOS".into());
        assert_eq!(name(&host), None);
        host.cpu_flag = Some(true);
        assert_eq!(name(&host).as_deref(), Some("qemu"));
    }

    #[test]
    fn the_first_domain_of_xen_is_no_guest() {
        let mut host = signs(Some(true), &["Dell Inc."]);
        host.sys_hypervisor = Some("xen".into());
        assert_eq!(name(&host).as_deref(), Some("xen"));
        host.first_domain = true;
        assert_eq!(name(&host), None);
    }

    #[test]
    fn tables_of_other_architectures_are_read() {
        let mut host = signs(None, &[]);
        host.firmware_table = Some("KVM/Linux".into());
        assert_eq!(name(&host).as_deref(), Some("kvm"));
        host.firmware_table = Some("z/VM    7.3.0".into());
        assert_eq!(name(&host).as_deref(), Some("zvm"));
    }
}
