//! Why there is no number.

use super::iperf3::ReportError;
use super::storage::FioError;
use crate::host::CommandError;
use std::path::PathBuf;

/// A measurement, or a round of it, that gave no number.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// This host cannot be measured in this way.
    #[error("{what} is not available: {why}\nhint: {hint}")]
    Unavailable {
        /// The tool or kernel module.
        what: &'static str,
        /// What was seen.
        why: String,
        /// What the reader can do.
        hint: &'static str,
    },
    /// A command failed, could not be started, or was killed at its limit.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// iperf3 ended without a usable report.
    #[error("iperf3: {0}")]
    Report(#[from] ReportError),
    /// fio ended without a usable report.
    #[error("fio: {0}")]
    Fio(#[from] FioError),
    /// A peer runs somebody else's test.
    #[error("the iperf3 server {peer} was busy {asked} times")]
    PeerBusy {
        /// The server.
        peer: String,
        /// How often it was asked.
        asked: u32,
    },
    /// The kernel does not say by which way a peer is reached.
    #[error("no way to {address}: expected one route from ip, found {found:?}")]
    NoRoute {
        /// The peer.
        address: String,
        /// What it printed, cut short.
        found: String,
    },
    /// A request or an answer over the emulated path failed.
    #[error("request and response over the emulated path: {0}")]
    Exchange(std::io::Error),
    /// The iperf3 server did not get ready.
    #[error("the iperf3 server in namespace {namespace} was not listening after {seconds} s")]
    NotListening {
        /// Network namespace.
        namespace: &'static str,
        /// Time that it had, s.
        seconds: u64,
    },
    /// `tc` printed something else than the statistics of our queue.
    #[error("tc on {device}: expected one netem queue, found {found:?}")]
    NoNetem {
        /// The device.
        device: &'static str,
        /// What it printed, cut short.
        found: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file of the kernel did not look as expected.
    #[error("{}: expected {expected}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        expected: &'static str,
    },
    /// A network namespace could not be entered.
    #[error("cannot enter network namespace {namespace}: {why}")]
    Enter {
        /// Network namespace.
        namespace: &'static str,
        /// The cause.
        why: String,
    },
    /// A TCP setting in a namespace is not what is live on the host.
    #[error("{key} in namespace {namespace} is {inside:?} after writing {host:?}, the host's own value")]
    NotLive {
        /// Sysctl, dotted.
        key: String,
        /// Network namespace.
        namespace: &'static str,
        /// The host's value.
        host: String,
        /// What was read back.
        inside: String,
    },
    /// The round trip over the idle path does not take as long as the path was built for.
    #[error(
        "the emulated path has an RTT of {measured_ms:.1} ms, expected {expected_ms} ms or a little more"
    )]
    WrongRtt {
        /// Measured, ms.
        measured_ms: f64,
        /// Built for, ms.
        expected_ms: u32,
    },
    /// The probe of the round trip got no answer, or a wrong one.
    #[error("no round trip over the emulated path: {0}")]
    NoRoundTrip(std::io::Error),
    /// The machine carries too little for a number to mean anything.
    #[error("the unshaped path carried {carried_mbps:.1} Mb/s, at least {least_mbps} are needed")]
    TooSlow {
        /// Seen, Mb/s.
        carried_mbps: f64,
        /// Needed, Mb/s.
        least_mbps: u32,
    },
    /// Somebody else measures on this host.
    #[error("another measurement runs on this host ({} is locked)", lock.display())]
    Busy {
        /// The lock.
        lock: PathBuf,
    },
    /// A round was asked for before `prepare`, or after `cleanup`.
    #[error("the measurement is not prepared")]
    NotPrepared,
    /// The time is over.
    #[error("the deadline has passed")]
    DeadlinePassed,
}

impl MeasureError {
    /// Whether trying again can help.
    pub fn may_pass(&self) -> bool {
        !matches!(
            self,
            Self::Unavailable { .. }
                | Self::Busy { .. }
                | Self::PeerBusy { .. }
                | Self::NotPrepared
                | Self::DeadlinePassed
        )
    }
}
