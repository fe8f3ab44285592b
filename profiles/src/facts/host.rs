//! The machine: firmware, CPU, memory, kernel.

use serde_json::Value;

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
        /// Cores of one package.
        cores_per_socket: u32,
        /// Logical CPUs.
        cpus: u32,
        /// Whether SMT is active.
        smt: bool,
        /// NUMA nodes.
        numa_nodes: u32,
        /// CPU list of each NUMA node, node 0 first.
        numa_cpus: Vec<String>,
        /// Memory of each NUMA node, MB, node 0 first.
        numa_size_mb: Vec<u64>,
        /// CPU mask of NUMA node 1, where a report has only that.
        numa_mask_node1: String,
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
        /// Huge pages, as the source shows them.
        hugepages: Value,
        /// `uefi` or `bios`.
        firmware_type: String,
        /// `on`, `off` or `unknown`.
        secure_boot: String,
        /// RAID controller.
        raid_controller: String,
        /// PCI `vendor:device` of the RAID controller.
        raid_controller_pci_id: String,
        /// Driver of the RAID controller.
        raid_driver: String,
        /// Host name; removed from reports that are passed on.
        hostname: String,
        /// What the source says that the machine is: for people, never concluded from.
        source_machine_type: String,
        /// Remark on the DMI fields: for people.
        dmi_note: String,
        /// Remark on the CPU vendor: for people.
        cpu_vendor_note: String,
        /// Memory in the words of the source: for people.
        memory_gib_text: String,
    }
}
