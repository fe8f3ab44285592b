//! Block devices.

use serde_json::Value;

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
        /// Revolutions per minute.
        rpm: u32,
        /// Model.
        model: String,
        /// Vendor.
        vendor: String,
        /// Active scheduler.
        scheduler: String,
        /// Driver of the device or of its controller.
        driver: String,
        /// PCI `vendor:device` of its controller.
        controller_pci_id: String,
        /// Bus.
        bus: String,
        /// PCIe width of the link.
        pcie_width: u32,
        /// Several equal drives without names.
        count: u32,
        /// NVMe transport (`pcie`, `tcp`, `rdma`).
        nvme_transport: String,
        /// RAID level.
        raid_level: Value,
        /// Level of a software array.
        md_level: Value,
        /// Devices of a software array.
        md_devices: Value,
        /// Members of an array.
        members: Vec<String>,
        /// Members in the words of the source.
        members_text: String,
        /// File system on it.
        filesystem: String,
        /// Devices on top of it.
        holders: Vec<String>,
        /// Interface of the source, where disks were listed by interface.
        source_interface: String,
        /// Whether the root file system is on it; on our own facts only.
        holds_root: bool,
    }
}
