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
