//! What limited a transfer, where the evidence says so. A fact that is missing claims nothing.

use super::{context, window};
use crate::measure::{PEER, Sample};
use std::fmt;

/// Share of a limit from which on it is reached: headers and protocols take some of it.
const REACHED: f64 = 0.85;

/// Share of one CPU from which on it is taken for fully busy.
const FULLY_BUSY: f64 = 0.95;

/// Share of segments sent again from which on loss shapes a long path (the challenge's own target is 0.01 %).
const LOSS_COUNTS: f64 = 1e-4;

/// Payload of a segment on an Ethernet path, bit.
const SEGMENT_BITS: f64 = 1448.0 * 8.0;

/// The limit of a transfer, with what shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bottleneck {
    /// The data store gives no more, Mb/s.
    Storage { mbps: f64 },
    /// The slot of the NIC carries no more, Mb/s.
    Pcie { mbps: f64 },
    /// The link or the path is full: its rate, Mb/s.
    Link { mbps: f64 },
    /// The window, with the buffer that sets it.
    Window { buffer: String },
    /// The tool has a whole CPU and cannot use more.
    Tool,
    /// A CPU of this host is fully busy: its share.
    Cpu { busy: f64 },
    /// The tool at the peer has a whole CPU.
    Peer,
    /// Segments were lost: share sent again.
    Loss { share: f64 },
    /// Nothing here is the limit, and the peer does not say.
    PeerUnknown,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage { mbps } => write!(f, "storage-bound at {}", rate(*mbps)),
            Self::Pcie { mbps } => write!(f, "PCIe-limited (its slot carries {})", rate(*mbps)),
            Self::Link { mbps } => write!(f, "link-limited (a path of {})", rate(*mbps)),
            Self::Window { buffer } => write!(f, "window-limited ({buffer})"),
            Self::Tool => f.write_str("tool-limited (it has one whole CPU)"),
            Self::Cpu { busy } => write!(f, "CPU-limited (the busiest is {:.0} % busy)", busy * 100.0),
            Self::Peer => f.write_str("peer-limited (its tool has one whole CPU)"),
            Self::Loss { share } => write!(f, "loss-limited ({:.3} % sent again)", share * 100.0),
            Self::PeerUnknown => {
                f.write_str("not limited by this host; what the peer is limited by is unknown")
            }
        }
    }
}

/// What limited `samples` on average; `None` when nothing says so, or when these are no throughputs.
pub(super) fn of(samples: &[&Sample]) -> Option<Bottleneck> {
    let first = samples.first()?;
    if samples.iter().any(|sample| sample.unit != "Mb/s") {
        return None;
    }
    let mbps = mean(samples, |sample| Some(sample.value))?;
    let reached = |key: &str| known(samples, key).filter(|limit| mbps >= REACHED * limit);
    let fully = |key: &str| known(samples, key).filter(|&busy| busy >= FULLY_BUSY);
    if let Some(mbps) = reached(context::STORAGE_MBPS) {
        return Some(Bottleneck::Storage { mbps });
    }
    if let Some(mbps) = reached(context::PCIE_MBPS) {
        return Some(Bottleneck::Pcie { mbps });
    }
    if let Some(mbps) = reached(context::RATE_MBPS) {
        return Some(Bottleneck::Link { mbps });
    }
    if let Some(buffer) = window::limited(samples) {
        return Some(Bottleneck::Window { buffer });
    }
    if fully(context::TOOL_BUSY).is_some() {
        return Some(Bottleneck::Tool);
    }
    if let Some(busy) = fully(context::CPU_BUSIEST) {
        return Some(Bottleneck::Cpu { busy });
    }
    if fully(context::PEER_BUSY).is_some() {
        return Some(Bottleneck::Peer);
    }
    if let Some(share) = mean(samples, lost).filter(|&share| share >= LOSS_COUNTS) {
        return Some(Bottleneck::Loss { share });
    }
    (first.measure == PEER).then_some(Bottleneck::PeerUnknown)
}

/// The share of segments that were sent again.
fn lost(sample: &Sample) -> Option<f64> {
    let again = number(sample, context::RETRANSMITS)?;
    let sent = sample.value * 1e6 * number(sample, context::MEASURED_S)? / SEGMENT_BITS;
    (sent > 0.0).then(|| again / sent)
}

/// The mean of a context value that is above 0 in every sample.
fn known(samples: &[&Sample], key: &str) -> Option<f64> {
    mean(samples, |sample| {
        number(sample, key).filter(|&number| number > 0.0)
    })
}

fn mean(samples: &[&Sample], of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = samples.iter().map(|sample| of(sample)).collect::<Option<_>>()?;
    let count = f64::from(u32::try_from(values.len()).ok()?);
    Some(values.iter().sum::<f64>() / count)
}

fn number(sample: &Sample, key: &str) -> Option<f64> {
    let number: f64 = sample.context.get(key)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn rate(mbps: f64) -> String {
    if mbps >= 1000.0 {
        format!("{:.1} Gb/s", mbps / 1000.0)
    } else {
        format!("{mbps:.0} Mb/s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Arm, Better};

    /// Measurement, Mb/s, what was seen, and what follows.
    type Case = (
        &'static str,
        f64,
        &'static [(&'static str, &'static str)],
        &'static str,
    );

    fn sample(measure: &str, mbps: f64, context: &[(&str, &str)]) -> Sample {
        Sample {
            measure: measure.into(),
            metric: "throughput".into(),
            unit: "Mb/s".into(),
            better: Better::Higher,
            arm: Arm::AsFound,
            pair: 0,
            value: mbps,
            context: context
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    #[test]
    fn each_limit_is_named_by_its_evidence() {
        const WINDOW: &[(&str, &str)] = &[
            (context::RTT_MS, "200.6"),
            (context::RATE_MBPS, "225"),
            (context::TCP_RMEM, "4096 131072 6291456"),
        ];
        let cases: [Case; 9] = [
            (
                "transfer",
                7900.0,
                &[(context::STORAGE_MBPS, "8100"), (context::RATE_MBPS, "100000")],
                "storage-bound at 8.1 Gb/s",
            ),
            (
                "peer",
                13_000.0,
                &[(context::PCIE_MBPS, "13500"), (context::RATE_MBPS, "25000")],
                "PCIe-limited (its slot carries 13.5 Gb/s)",
            ),
            (
                "peer",
                23_500.0,
                &[(context::RATE_MBPS, "25000"), (context::CPU_BUSIEST, "0.99")],
                "link-limited (a path of 25.0 Gb/s)",
            ),
            ("emulated-path", 124.0, WINDOW, "window-limited (6 MiB buffer)"),
            (
                "peer",
                20_000.0,
                &[(context::RATE_MBPS, "100000"), (context::TOOL_BUSY, "0.97")],
                "tool-limited (it has one whole CPU)",
            ),
            (
                "peer",
                20_000.0,
                &[(context::CPU_BUSIEST, "0.98"), (context::TOOL_BUSY, "0.4")],
                "CPU-limited (the busiest is 98 % busy)",
            ),
            (
                "peer",
                20_000.0,
                &[(context::PEER_BUSY, "0.99")],
                "peer-limited (its tool has one whole CPU)",
            ),
            (
                "emulated-path",
                100.0,
                &[(context::RETRANSMITS, "35"), (context::MEASURED_S, "4")],
                "loss-limited (0.101 % sent again)",
            ),
            (
                "peer",
                100.0,
                &[(context::RETRANSMITS, "0"), (context::MEASURED_S, "4")],
                "not limited by this host; what the peer is limited by is unknown",
            ),
        ];
        for (measure, mbps, context, expected) in cases {
            let sample = sample(measure, mbps, context);
            assert_eq!(of(&[&sample]).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn a_fact_that_is_missing_or_senseless_claims_nothing() {
        let bare = sample("emulated-path", 100.0, &[]);
        let odd = sample(
            "emulated-path",
            100.0,
            &[(context::STORAGE_MBPS, "NaN"), (context::RATE_MBPS, "-5")],
        );
        let mut seconds = sample("x", 1.0, &[(context::RATE_MBPS, "1")]);
        seconds.unit = "s".into();
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[&bare]), None);
        assert_eq!(of(&[&odd]), None);
        assert_eq!(of(&[&seconds]), None);
        // One round that lacks the fact is enough.
        let full = sample("emulated-path", 100.0, &[(context::RATE_MBPS, "100")]);
        assert_eq!(of(&[&full, &bare]), None);
    }
}
