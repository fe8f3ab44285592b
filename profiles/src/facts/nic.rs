//! Network interfaces, those without a kernel interface included.

use serde_json::Value;

/// Rings, channels and the like in ethtool's words (`rx`, `tx`, `rx_max`, `combined`, ...).
pub type Numbers = std::collections::BTreeMap<String, Value>;

facts! {
    /// A network interface.
    Nic {
        /// Interface name.
        name: String,
        /// Other name of the interface.
        alt_name: String,
        /// What kind of name `name` is, where it is no interface name (`rdma device`).
        name_is: String,
        /// physical, vf, bond, team, vlan, bridge, representor, subfunction, ipoib, rdma-only or virtual.
        kind: String,
        /// Model text.
        model: String,
        /// Vendor text.
        vendor: String,
        /// PCI vendor.
        vendor_id: String,
        /// PCI `vendor:device`.
        pci_id: String,
        /// PCI address, `domain:bus:slot.function`.
        pci_slot: String,
        /// USB `vendor:product`.
        usb_id: String,
        /// Bus name (`pci`, `usb`, `virtio`).
        bus: String,
        /// Number of the port on its card, or ethtool's `Port` line.
        port: Value,
        /// Permanent MAC; on our own facts only.
        mac: String,
        /// Driver.
        driver: String,
        /// Version of the driver.
        driver_version: String,
        /// Drivers that could bind.
        modules: Value,
        /// Whether a driver is bound.
        driver_bound: bool,
        /// Firmware version.
        firmware: String,
        /// Firmware file that the driver loaded.
        firmware_file: String,
        /// Speed in Mb/s as the kernel gave it: -1, 0 and odd numbers are kept.
        speed_mbps: i64,
        /// Speed as text where the source has text.
        speed_text: String,
        /// The error when reading the speed failed.
        speed_error: String,
        /// Port rate of the RDMA device, Mb/s.
        ib_rate_mbps: i64,
        /// A rate that the source's collector could not read (0).
        source_rate: i64,
        /// Whether it is an InfiniBand or Omni-Path port.
        fabric: Value,
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
        addr_scope: Value,
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
        /// PCIe link in the words of the source.
        pcie_text: String,
        /// MTU, byte.
        mtu: u32,
        /// Transmit queue length, packets.
        txqueuelen: u32,
        /// Duplex.
        duplex: String,
        /// Autonegotiation.
        autoneg: Value,
        /// Forward error correction.
        fec: Value,
        /// Kind of connector.
        supported_port: Value,
        /// Link modes that the port could do.
        supported_modes: Value,
        /// The fastest of these.
        supported_modes_top: Value,
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
        /// How a bond spreads flows over its legs.
        xmit_hash_policy: String,
        /// LACP rate.
        lacp_rate: String,
        /// Interval of link monitoring, ms.
        miimon: u32,
        /// Legs in the active aggregator.
        aggregator_ports: u32,
        /// Active member of a bond.
        active_member: String,
        /// Whether it is the leg of a bond.
        bond_slave: bool,
        /// Whether the bond uses this leg.
        slave_active: Value,
        /// Link failures that the bond counted.
        link_failures: u64,
        /// LACP churn state.
        churn: Value,
        /// Delay between notifications after a failover, ms.
        peer_notif_delay_ms: u32,
        /// Runner of a team.
        team_runner: String,
        /// Virtual functions that the port could have.
        sriov_totalvfs: u32,
        /// Port name of a switch port (`p0`, `pf0vf1`): a representor has one.
        phys_port_name: String,
        /// Flavour of a devlink port.
        devlink_flavour: String,
        /// Number of the physical function, in devlink.
        pfnum: u32,
        /// Number of the virtual function, in devlink.
        vfnum: u32,
        /// Mode of the embedded switch (`legacy`, `switchdev`).
        eswitch_mode: String,
        /// Largest rate limit of the port, Mb/s.
        tx_rate_limit_max_mbps: u64,
        /// CPU socket in the reporter's words: for people.
        socket_text: String,
        /// Remark: for people.
        note: String,
    }
}
