//! What devices say: some exist only in guests, some functions of a card only on the machine itself.

use crate::conclude::disks;
use crate::facts::{Block, Facts, Host, Nic};

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

/// Network drivers of cards that clouds give to guests and to a few bare-metal instances.
const CLOUD_DRIVERS: &[&str] = &["ena"];

/// VFs that some ARM systems on a chip give to the machine itself.
const VFS_OF_MACHINES: &[&str] = &["thunder-nicvf", "nicvf", "rvu_nicvf", "octeontx2-nicvf"];

/// A device that only guests have: a paravirtual or emulated disk.
pub(super) fn guest_disk(facts: &Facts) -> Option<String> {
    let disk = facts.blocks.iter().find(|block| is_guest_disk(block))?;
    let name = disk.name.as_deref().unwrap_or("without a name");
    Some(format!("guest disk {name}"))
}

fn is_guest_disk(block: &Block) -> bool {
    disks::is_paravirtual(block) || disks::is_emulated(block)
}

/// A CPU that a hypervisor made up.
pub(super) fn guest_cpu(host: &Host) -> Option<String> {
    let model = host.cpu_model.as_deref()?;
    let lower = model.to_ascii_lowercase();
    ["qemu", "kvm processor", "virtual cpu"]
        .iter()
        .any(|word| lower.contains(word))
        .then(|| format!("CPU {model:?}"))
}

/// A network device that a hypervisor makes.
pub(super) fn guest_nic(facts: &Facts) -> Option<String> {
    facts.nics.iter().find_map(|nic| {
        let driver = driver(nic);
        let pci_id = nic.pci_id.as_deref().unwrap_or_default();
        if GUEST_DRIVERS.contains(&driver) {
            Some(format!("driver {driver} of {}", name(nic)))
        } else {
            let paravirtual = GUEST_PCI_VENDORS.iter().any(|vendor| pci_id.starts_with(vendor));
            paravirtual.then(|| format!("PCI device {pci_id} of {}", name(nic)))
        }
    })
}

/// What makes a guest likely: a card of a cloud, or a VF whose port is not to be seen.
pub(super) fn likely_guest(facts: &Facts) -> Option<String> {
    let cloud = |nic: &&Nic| CLOUD_DRIVERS.contains(&driver(nic));
    if let Some(nic) = facts.nics.iter().find(cloud) {
        return Some(format!("driver {} of {}", driver(nic), name(nic)));
    }
    let lone = facts.nics.iter().find(|nic| {
        let vf = nic.kind.as_deref() == Some("vf");
        vf && port_of(nic, facts).is_none() && !VFS_OF_MACHINES.contains(&driver(nic))
    })?;
    Some(format!("{} is a VF, and its port is not here", name(lone)))
}

/// What makes a machine likely: a hypervisor hides the SR-IOV capability of a card that it passes through, so who sees
/// it, or sees a VF beside its port, has the card itself; and only the system of a DPU sees the port of its host.
pub(super) fn likely_machine(facts: &Facts) -> Option<String> {
    if let Some(nic) = facts.nics.iter().find(|nic| can_make_vfs(nic)) {
        return Some(format!("{} can make VFs", name(nic)));
    }
    let beside = facts.nics.iter().find_map(|nic| {
        let vf = nic.kind.as_deref() == Some("vf");
        Some((nic, port_of(nic, facts).filter(|_| vf)?))
    });
    if let Some((vf, port)) = beside {
        return Some(format!("{} is a VF of {}", name(vf), name(port)));
    }
    let host_port = facts.nics.iter().find(|nic| is_port_of_a_host(nic))?;
    Some(format!(
        "{} is the port of a host that this is a DPU of",
        name(host_port)
    ))
}

fn can_make_vfs(nic: &Nic) -> bool {
    // An emulated igb of QEMU can make VFs too, and is told by its other signs.
    nic.sriov_totalvfs.is_some_and(|most| most > 0) && nic.kind.as_deref() == Some("physical")
}

/// `pf0hpf`: the representor of the host's own function, on the embedded processor of a DPU.
fn is_port_of_a_host(nic: &Nic) -> bool {
    let port = nic.phys_port_name.as_deref().unwrap_or_else(|| name(nic));
    nic.kind.as_deref() == Some("representor") && port.starts_with("pf") && port.ends_with("hpf")
}

/// The port that a VF belongs to: named by it, or a function of the same PCI device.
fn port_of<'a>(vf: &Nic, facts: &'a Facts) -> Option<&'a Nic> {
    let device = |nic: &Nic| {
        let slot = nic.pci_slot.as_deref()?;
        Some(
            slot.rsplit_once('.')
                .map_or(slot, |(device, _)| device)
                .to_owned(),
        )
    };
    facts.nics.iter().find(|nic| {
        let named = vf.parent.is_some() && vf.parent == nic.name;
        let same_device = device(vf).is_some() && device(vf) == device(nic);
        nic.kind.as_deref() == Some("physical") && (named || same_device)
    })
}

fn driver(nic: &Nic) -> &str {
    nic.driver.as_deref().unwrap_or_default()
}

fn name(nic: &Nic) -> &str {
    nic.name.as_deref().unwrap_or("a port without a name")
}
