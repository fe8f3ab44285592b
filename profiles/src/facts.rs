//! Facts: what was seen on a host, in the form of a hardware report (TOML or JSON).
//!
//! A missing key means that the file or line does not exist; a key in `errors` means that reading it failed, with
//! the text of the error. Neither ever becomes a default. Keys that this version does not know are kept in `extra`.

mod read;

pub use read::BadFacts;

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Form of [`Facts`].
pub const FACTS_SCHEMA: u32 = 1;

type Extra = BTreeMap<String, serde_json::Value>;

/// All that was seen on a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// [`FACTS_SCHEMA`]; reports of other people have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// The machine.
    #[serde(default)]
    pub host: Host,
    /// Network interfaces.
    #[serde(default, rename = "nic", skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// Block devices.
    #[serde(default, rename = "block", skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Mounts.
    #[serde(default, rename = "mount", skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Other keys of the report.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Writes a struct of optional facts with a doc comment for each.
macro_rules! facts {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_meta])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
            /// Facts whose reading failed: key and text of the error.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub errors: BTreeMap<String, String>,
            /// Other keys.
            #[serde(flatten)]
            pub extra: Extra,
        }
    };
}

facts! {
    /// The machine.
    Host {
        /// DMI system vendor.
        dmi_vendor: String,
        /// DMI product name.
        dmi_product: String,
        /// DMI product family.
        dmi_product_family: String,
        /// DMI product version.
        dmi_product_version: String,
        /// DMI board vendor.
        dmi_board_vendor: String,
        /// DMI board name.
        dmi_board: String,
        /// DMI BIOS vendor.
        bios_vendor: String,
        /// DMI BIOS version.
        bios_version: String,
        /// Hypervisor by name (`kvm`, `vmware`, `microsoft`), when there is one.
        hypervisor: String,
        /// Whether the CPU says that a hypervisor is there (the `hypervisor` flag of /proc/cpuinfo).
        cpu_hypervisor_flag: bool,
        /// Container manager, when inside one.
        container: String,
        /// CPU model text.
        cpu_model: String,
        /// CPU vendor text.
        cpu_vendor: String,
        /// CPU packages.
        sockets: u32,
        /// Cores of all packages.
        cores: u32,
        /// Logical CPUs.
        cpus: u32,
        /// Whether SMT is active.
        smt: bool,
        /// NUMA nodes.
        numa_nodes: u32,
        /// Memory, GiB.
        memory_gib: f64,
        /// Frequency governor of CPU 0.
        governor: String,
        /// Frequency driver of CPU 0.
        freq_driver: String,
        /// Machine architecture, as `uname -m`.
        arch: String,
        /// Kernel release.
        kernel: String,
        /// OS name.
        os: String,
        /// Kernel command line.
        cmdline: String,
        /// `uefi` or `bios`.
        firmware_type: String,
        /// `on`, `off` or `unknown`.
        secure_boot: String,
        /// RAID controller.
        raid_controller: String,
        /// Driver of the RAID controller.
        raid_driver: String,
    }
}

/// Rings, channels and the like in ethtool's words (`rx`, `tx`, `rx_max`, `combined`, ...).
pub type Numbers = BTreeMap<String, serde_json::Value>;

facts! {
    /// A network interface.
    Nic {
        /// Interface name.
        name: String,
        /// physical, vf, bond, team, vlan, bridge, representor, subfunction, ipoib, rdma-only or virtual.
        kind: String,
        /// Model text.
        model: String,
        /// Vendor text.
        vendor: String,
        /// PCI `vendor:device`.
        pci_id: String,
        /// PCI address, `domain:bus:slot.function`.
        pci_slot: String,
        /// USB `vendor:product`.
        usb_id: String,
        /// Bus name (`pci`, `usb`, `virtio`).
        bus: String,
        /// Permanent MAC; on our own facts only.
        mac: String,
        /// Driver.
        driver: String,
        /// Whether a driver is bound.
        driver_bound: bool,
        /// Firmware version.
        firmware: String,
        /// Speed in Mb/s as the kernel gave it: -1, 0 and odd numbers are kept.
        speed_mbps: i64,
        /// Speed as text where the source has text.
        speed_text: String,
        /// The error when reading the speed failed.
        speed_error: String,
        /// Port rate of the RDMA device, Mb/s.
        ib_rate_mbps: i64,
        /// Whether it is an InfiniBand or Omni-Path port.
        fabric: serde_json::Value,
        /// Operational state.
        operstate: String,
        /// Carrier.
        carrier: bool,
        /// Whether a testbed's collector says that the port is cabled and in use.
        enabled: bool,
        /// Whether the port carries the node's address.
        default_network: bool,
        /// Whether a route uses it.
        route_active: bool,
        /// Scope of its addresses.
        addr_scope: serde_json::Value,
        /// NUMA node; -1 is kept.
        numa_node: i64,
        /// PCIe speed of the link, GT/s.
        pcie_gts: f64,
        /// PCIe width of the link.
        pcie_width: u32,
        /// Largest PCIe speed.
        pcie_gts_max: f64,
        /// Largest PCIe width.
        pcie_width_max: u32,
        /// MTU, byte.
        mtu: u32,
        /// Rings.
        rings: Numbers,
        /// Channels.
        channels: Numbers,
        /// Coalescing.
        coalesce: Numbers,
        /// Pause frames.
        pause: Numbers,
        /// Features.
        features: Numbers,
        /// The bond, bridge or synthetic interface above.
        master: String,
        /// Members of a bond, team or bridge.
        members: Vec<String>,
        /// Lower device of a VLAN, VF or representor.
        parent: String,
        /// VLAN number.
        vlan_id: u32,
        /// Bonding mode.
        bond_mode: String,
        /// Active member of a bond.
        active_member: String,
        /// Port name of a switch port (`p0`, `pf0vf1`): a representor has one.
        phys_port_name: String,
        /// Flavour of a devlink port.
        devlink_flavour: String,
    }
}

facts! {
    /// A block device.
    Block {
        /// Kernel name.
        name: String,
        /// nvme, sata, sas, scsi, raid, virtio or dasd.
        transport: String,
        /// What the kernel says of the medium.
        rotational: bool,
        /// Size, byte.
        size_bytes: u64,
        /// Size as text.
        size: String,
        /// Model.
        model: String,
        /// Vendor.
        vendor: String,
        /// Active scheduler.
        scheduler: String,
        /// Several equal drives without names.
        count: u32,
        /// NVMe transport (`pcie`, `tcp`, `rdma`).
        nvme_transport: String,
        /// RAID level.
        raid_level: serde_json::Value,
        /// Members of an array.
        members: Vec<String>,
        /// File system on it.
        filesystem: String,
        /// Devices on top of it.
        holders: Vec<String>,
        /// Whether the root file system is on it; on our own facts only.
        holds_root: bool,
    }
}

facts! {
    /// A mount.
    Mount {
        /// File system type.
        fstype: String,
        /// What the source is.
        source_kind: String,
        /// What the mount is for (`data...`, `root`, `home`, `software`).
        target_role: String,
        /// Mount point; on our own facts only.
        target: String,
        /// Options.
        options: serde_json::Value,
        /// Lines of /proc/self/mountstats.
        mountstats: serde_json::Value,
    }
}

impl Facts {
    /// Names the hardware that a commit was made for: NICs (address, device, MAC), memory rounded to GiB, CPUs, and
    /// whether the host is a guest. A host with another fingerprint is measured anew.
    pub fn fingerprint(&self) -> Digest {
        let mut nics: Vec<String> = self
            .nics
            .iter()
            .filter(|nic| nic.pci_slot.is_some())
            .map(|nic| {
                format!(
                    "{:?} {:?} {:?} {:?}",
                    nic.pci_slot, nic.pci_id, nic.mac, nic.driver
                )
            })
            .collect();
        nics.sort();
        let memory = self.host.memory_gib.map(f64::round);
        let text = format!(
            "{nics:?} {memory:?} {:?} {:?} {:?}",
            self.host.cpus, self.host.cpu_model, self.host.hypervisor
        );
        Digest::of(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_kept_and_written_back() {
        let text =
            "source = 'x'\n[host]\nodd = 3\n[[nic]]\nname = 'eth0'\nspeed_mbps = -1\nnew_key = [1, 2]\n";
        let facts: Facts = toml::from_str(text).unwrap();
        assert_eq!(facts.nics[0].speed_mbps, Some(-1));
        let again: Facts = toml::from_str(&toml::to_string(&facts).unwrap()).unwrap();
        assert_eq!(again, facts);
    }

    #[test]
    fn the_fingerprint_ignores_the_link_and_follows_the_card() {
        let mut facts = Facts::default();
        facts.nics.push(Nic {
            pci_slot: Some("0000:01:00.0".into()),
            mac: Some("a".into()),
            ..Nic::default()
        });
        let before = facts.fingerprint();
        facts.nics[0].carrier = Some(true);
        assert_eq!(facts.fingerprint(), before);
        facts.nics[0].mac = Some("b".into());
        assert_ne!(facts.fingerprint(), before);
    }
}
