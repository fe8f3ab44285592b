//! What a round saw, as a sample: the throughput, and all that it depends on.

use super::ID;
use super::load::Seen;
use super::shape::Shape;
use super::stream::Stream;
use super::tcp_keys::Values;
use crate::measure::iperf3::Report;
use dtnforge_profiles::decide::context;
use dtnforge_profiles::measure::{Arm, Better, Sample};
use std::collections::BTreeMap;

/// All that one round gave.
pub(super) struct Round {
    pub(super) shape: Shape,
    pub(super) unshaped_mbps: f64,
    pub(super) stream: Stream,
    pub(super) rtt_ms: f64,
    pub(super) tcp: Values,
    pub(super) netem_drops: u64,
    pub(super) load: Seen,
    pub(super) report: Report,
}

impl Round {
    /// The sample of this round.
    pub(super) fn sample(self, arm: Arm, pair: u32) -> Sample {
        Sample {
            measure: ID.to_owned(),
            metric: "throughput".to_owned(),
            unit: "Mb/s".to_owned(),
            better: Better::Higher,
            arm,
            pair,
            value: self.report.mbps,
            context: self.context(),
        }
    }

    fn context(self) -> BTreeMap<String, String> {
        // What a verdict reads as `context::TCP_RMEM` and `TCP_WMEM` is among the TCP values.
        let mut context = self.tcp;
        let mut put = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                context.insert(key.to_owned(), value);
            }
        };
        let over = format!("an emulated {} ms path", self.shape.rtt_ms);
        put(context::OVER, Some(over));
        put(context::RTT_MS, Some(format!("{:.1}", self.rtt_ms)));
        put(context::RATE_MBPS, Some(format!("{:.1}", self.shape.rate_mbps)));
        put("rate_from", Some(self.shape.from.name().to_owned()));
        put("unshaped_mbps", Some(format!("{:.1}", self.unshaped_mbps)));
        put(
            "start_window_packets",
            Some(format!("{:.0}", self.shape.product_packets())),
        );
        put("left_out_s", Some(self.stream.left_out_s.to_string()));
        put(context::MEASURED_S, Some(self.stream.measured_s.to_string()));
        put("tool", Some(self.report.version));
        put("congestion", self.report.congestion);
        put(
            context::RTT_UNDER_LOAD_MS,
            self.report.mean_rtt_ms.map(|rtt| format!("{rtt:.1}")),
        );
        put(
            context::WINDOW_BYTES,
            self.report.window_bytes.map(|window| window.to_string()),
        );
        put(
            context::RETRANSMITS,
            self.report.retransmits.map(|count| count.to_string()),
        );
        put(
            context::TOOL_BUSY,
            self.report.tool_busy.map(|cpus| format!("{cpus:.2}")),
        );
        put(
            context::PEER_BUSY,
            self.report.peer_busy.map(|cpus| format!("{cpus:.2}")),
        );
        put("netem_drops", Some(self.netem_drops.to_string()));
        put("softnet_drops", Some(self.load.softnet_drops.to_string()));
        put("cpu_busy", self.load.busy.map(|busy| format!("{:.2}", busy.all)));
        put(
            context::CPU_BUSIEST,
            self.load.busy.map(|busy| format!("{:.2}", busy.busiest)),
        );
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::emulated_path::shape::RateFrom;

    #[test]
    fn a_window_limited_round_is_known_as_such_by_the_verdict() {
        let round = |arm, pair, mbps| {
            let rmem = "4096 131072 6291456".to_owned();
            Round {
                shape: Shape {
                    rtt_ms: 200,
                    rate_mbps: 1150.0,
                    from: RateFrom::HalfOfUnshaped,
                },
                unshaped_mbps: 2300.0,
                stream: Stream {
                    left_out_s: 5,
                    measured_s: 4,
                },
                rtt_ms: 201.3,
                tcp: Values::from([(context::TCP_RMEM.to_owned(), rmem)]),
                netem_drops: 0,
                load: Seen {
                    busy: None,
                    softnet_drops: 0,
                },
                report: Report {
                    version: "iperf 3.18".to_owned(),
                    mbps,
                    retransmits: Some(0),
                    mean_rtt_ms: Some(205.0),
                    window_bytes: Some(4_701_824),
                    congestion: Some("cubic".to_owned()),
                    tool_busy: Some(0.3),
                    peer_busy: Some(0.4),
                    remote: None,
                },
            }
            .sample(arm, pair)
        };
        let pair = |pair: u32| {
            let drift = f64::from(pair) / 10.0;
            [
                round(Arm::AsFound, pair, 178.1 - drift),
                round(Arm::Ours, pair, 956.6 + drift),
            ]
        };
        let samples: Vec<Sample> = (0..6).flat_map(pair).collect();
        let decision =
            dtnforge_profiles::decide::decide(&samples, &dtnforge_profiles::decide::Limits::default());
        assert!(
            decision
                .sentence
                .starts_with("kept: throughput 5.38x over an emulated 200 ms path (178 -> 957 Mb/s"),
            "{}",
            decision.sentence
        );
        assert!(
            decision
                .sentence
                .contains("as found is window-limited (6 MiB buffer)"),
            "{}",
            decision.sentence
        );
        assert_eq!(decision.metrics[0].context["tool"], "iperf 3.18");
    }
}
