//! Names in [`Sample::context`](crate::measure::Sample::context) that a decision reads. A measurement that knows the
//! fact writes it under this name; every other name is carried along for people.

/// What the traffic went over, with its article, for instance `an emulated 200 ms path`.
pub const OVER: &str = "over";

/// Round trip time of the idle path as measured, ms.
pub const RTT_MS: &str = "rtt_ms";

/// Mean round trip time while data flowed, ms.
pub const RTT_UNDER_LOAD_MS: &str = "rtt_under_load_ms";

/// Rate that the path was limited to, Mb/s.
pub const RATE_MBPS: &str = "rate_mbps";

/// The largest window that the receiver offered to the sender, bytes.
pub const WINDOW_BYTES: &str = "window_bytes";

/// `net.ipv4.tcp_rmem` as it was read back at the receiver, three numbers in bytes.
pub const TCP_RMEM: &str = "net.ipv4.tcp_rmem";

/// `net.ipv4.tcp_wmem` as it was read back at the sender, three numbers in bytes.
pub const TCP_WMEM: &str = "net.ipv4.tcp_wmem";

/// Segments sent again by the sender.
pub const RETRANSMITS: &str = "retransmits";

/// Seconds that the number is a mean of.
pub const MEASURED_S: &str = "measured_s";

/// Share of time in which the busiest CPU of this host was not idle, 0 to 1.
pub const CPU_BUSIEST: &str = "cpu_busiest";

/// CPU time of the tool on this host, in CPUs: 1 is all that a tool with one thread can have.
pub const TOOL_BUSY: &str = "tool_busy";

/// CPU time of the tool at the peer, in CPUs.
pub const PEER_BUSY: &str = "peer_busy";

/// What the data store gives or takes by itself, Mb/s.
pub const STORAGE_MBPS: &str = "storage_mbps";

/// What the PCI slot of the NIC can carry, Mb/s.
pub const PCIE_MBPS: &str = "pcie_mbps";
