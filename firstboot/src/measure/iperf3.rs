//! The report of iperf3 (`--json`), as far as a round needs it. Written against 3.12 and 3.18.
//!
//! A report can look whole and be none: when the server goes away, 3.18 prints sums of zero beside an `error`. So the
//! error is looked at first. The throughput is the receiver's: what arrived, not what was handed to the kernel.

use serde::Deserialize;

/// What one stream did, without the seconds that were left out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    /// `iperf 3.18`.
    pub(super) version: String,
    /// What arrived at the receiver, Mb/s.
    pub(super) mbps: f64,
    /// Segments that the sender sent again.
    pub(super) retransmits: Option<u64>,
    /// Mean RTT while data flowed, ms.
    pub(super) mean_rtt_ms: Option<f64>,
    /// The largest window that the receiver offered, bytes. Old versions do not report it.
    pub(super) window_bytes: Option<u64>,
    /// Congestion control of the sender's socket.
    pub(super) congestion: Option<String>,
    /// CPU time of iperf3 on this host, in CPUs.
    pub(super) tool_busy: Option<f64>,
    /// CPU time of iperf3 at the other end, in CPUs.
    pub(super) peer_busy: Option<f64>,
    /// The address of the other end.
    pub(super) remote: Option<String>,
}

/// What a server says that runs a test for somebody else.
const BUSY: &str = "the server is busy running a test";

/// There is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// iperf3 itself says that it failed.
    #[error("{0}")]
    Said(String),
    /// What it printed is not its JSON.
    #[error("no JSON report: {source}; it begins with {begin:?}")]
    NotJson {
        /// What is wrong, with line and column.
        source: serde_json::Error,
        /// The first characters.
        begin: String,
    },
    /// The server runs a test for somebody else.
    #[error("the server is busy with somebody else's test")]
    Busy,
    /// The report lacks a number.
    #[error("its report has no usable {0}")]
    Missing(&'static str),
}

#[derive(Deserialize)]
struct Raw {
    error: Option<String>,
    #[serde(default)]
    start: RawStart,
    #[serde(default)]
    end: RawEnd,
}

#[derive(Deserialize, Default)]
struct RawStart {
    version: Option<String>,
    #[serde(default)]
    connected: Vec<RawConnected>,
}

#[derive(Deserialize)]
struct RawConnected {
    remote_host: Option<String>,
}

#[derive(Deserialize, Default)]
struct RawEnd {
    #[serde(default)]
    streams: Vec<RawStream>,
    sum_received: Option<RawSum>,
    sum_sent: Option<RawSum>,
    sender_tcp_congestion: Option<String>,
    #[serde(default)]
    cpu_utilization_percent: RawCpu,
}

#[derive(Deserialize, Default)]
struct RawCpu {
    host_total: Option<f64>,
    remote_total: Option<f64>,
}

#[derive(Deserialize)]
struct RawStream {
    sender: Option<RawSender>,
}

#[derive(Deserialize)]
struct RawSender {
    mean_rtt: Option<f64>,
    max_snd_wnd: Option<i64>,
}

#[derive(Deserialize)]
struct RawSum {
    bits_per_second: Option<f64>,
    retransmits: Option<i64>,
}

/// Reads what `iperf3 --json` printed.
///
/// # Errors
/// [`ReportError`].
pub(super) fn parse(text: &str) -> Result<Report, ReportError> {
    let raw: Raw = serde_json::from_str(text).map_err(|source| ReportError::NotJson {
        source,
        begin: text.trim_start().chars().take(60).collect(),
    })?;
    if let Some(error) = raw.error {
        return Err(if error.contains(BUSY) {
            ReportError::Busy
        } else {
            ReportError::Said(error)
        });
    }
    let cpus = |percent: Option<f64>| {
        percent
            .filter(|percent| *percent >= 0.0)
            .map(|percent| percent / 100.0)
    };
    let sender = raw.end.streams.iter().find_map(|stream| stream.sender.as_ref());
    Ok(Report {
        version: raw.start.version.ok_or(ReportError::Missing("version"))?,
        mbps: received(raw.end.sum_received.as_ref())?,
        retransmits: raw.end.sum_sent.and_then(|sum| known(sum.retransmits)),
        mean_rtt_ms: sender
            .and_then(|sender| sender.mean_rtt)
            .map(|micros| micros / 1e3),
        window_bytes: sender.and_then(|sender| known(sender.max_snd_wnd)),
        congestion: raw.end.sender_tcp_congestion,
        tool_busy: cpus(raw.end.cpu_utilization_percent.host_total),
        peer_busy: cpus(raw.end.cpu_utilization_percent.remote_total),
        remote: raw
            .start
            .connected
            .into_iter()
            .find_map(|connected| connected.remote_host),
    })
}

/// A counter; -1 is iperf3's word for one that the system does not have.
fn known(counter: Option<i64>) -> Option<u64> {
    counter.and_then(|counter| u64::try_from(counter).ok())
}

/// What arrived, Mb/s. Nothing at all is a number too: it is the verdict's to say what follows.
fn received(sum: Option<&RawSum>) -> Result<f64, ReportError> {
    sum.and_then(|sum| sum.bits_per_second)
        .filter(|bits| bits.is_finite() && *bits >= 0.0)
        .map(|bits| bits / 1e6)
        .ok_or(ReportError::Missing("throughput at the receiver"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OK_3_12: &str = include_str!("fixtures/iperf3-3.12-ok.json");
    const OK_3_18: &str = include_str!("fixtures/iperf3-3.18-ok.json");

    #[test]
    fn a_report_of_3_18_over_200_ms_is_read() {
        let report = parse(OK_3_18).unwrap();
        assert_eq!(report.version, "iperf 3.18");
        assert!(
            (report.mbps - 474.765_952_678_074_5).abs() < 1e-9,
            "{}",
            report.mbps
        );
        assert_eq!(report.retransmits, Some(0));
        assert_eq!(report.mean_rtt_ms, Some(281.018));
        assert_eq!(report.window_bytes, Some(50_298_880));
        assert_eq!(report.congestion.as_deref(), Some("bbr"));
        assert_eq!(report.remote.as_deref(), Some("198.18.0.6"));
        let (tool, peer) = (report.tool_busy.unwrap(), report.peer_busy.unwrap());
        assert!(
            (tool - 0.184).abs() < 0.001 && (peer - 0.1667).abs() < 0.001,
            "{tool} {peer}"
        );
    }

    #[test]
    fn a_server_that_is_busy_is_known_as_such() {
        let text =
            r#"{"start":{},"end":{},"error":"error - the server is busy running a test. try again later"}"#;
        assert!(matches!(parse(text), Err(ReportError::Busy)));
    }

    #[test]
    fn a_report_of_3_12_is_read_the_same_way() {
        let report = parse(OK_3_12).unwrap();
        assert_eq!(report.version, "iperf 3.12");
        assert!((report.mbps - 27514.037379).abs() < 1e-6, "{}", report.mbps);
        assert_eq!(report.window_bytes, Some(12719104));
        assert_eq!(report.congestion.as_deref(), Some("bbr"));
    }

    #[test]
    fn what_iperf3_says_of_its_failure_is_passed_on() {
        for (text, said) in [
            (
                include_str!("fixtures/iperf3-3.12-refused.json"),
                "unable to connect to server: Connection refused",
            ),
            (
                include_str!("fixtures/iperf3-3.18-refused.json"),
                "unable to connect to server - server may have stopped running or use a different port, firewall \
                 issue, etc.: Connection refused",
            ),
            (
                include_str!("fixtures/iperf3-3.18-server-gone.json"),
                "the server has terminated",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_report_without_its_numbers_says_which() {
        for (text, lacks) in [
            (
                r#"{"start":{"version":"iperf 3.18"},"end":{}}"#,
                "throughput at the receiver",
            ),
            (
                r#"{"start":{"version":"iperf 3.18"},"end":{"sum_received":{"bits_per_second":null}}}"#,
                "throughput at the receiver",
            ),
            (
                r#"{"start":{"version":"iperf 3.18"},"end":{"sum_received":{"bits_per_second":-5}}}"#,
                "throughput at the receiver",
            ),
            (r#"{"end":{"sum_received":{"bits_per_second":5}}}"#, "version"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("its report has no usable {lacks}"));
        }
    }

    #[test]
    fn what_is_no_report_is_shown() {
        let error = parse("iperf3: unrecognized option '--json'\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("no JSON report: expected value at line 1"),
            "{error}"
        );
        assert!(
            error.ends_with("begins with \"iperf3: unrecognized option '--json'\\n\""),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn a_report_cut_anywhere_is_an_error(cut in 0..OK_3_18.trim_end().len()) {
            prop_assert!(parse(&OK_3_18[..cut]).is_err());
        }

        #[test]
        fn a_report_with_a_byte_changed_never_panics(at in 0..OK_3_12.len(), byte in 32_u8..127) {
            let mut bytes = OK_3_12.as_bytes().to_vec();
            bytes[at] = byte;
            if let Ok(report) = parse(&String::from_utf8_lossy(&bytes)) {
                prop_assert!(report.mbps.is_finite());
            }
        }

        #[test]
        fn rubbish_never_panics(text in any::<String>()) {
            prop_assert!(parse(&text).is_err());
        }
    }
}
