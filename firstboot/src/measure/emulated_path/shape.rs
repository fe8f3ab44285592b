//! What the router does to the path: delay and rate by netem, both ways.
//!
//! netem sits on the router's links, not on the sender's. There, packets that wait would count as the sender's own
//! queue, and TCP small queues would hold the stream back for a reason that no real path has.

use super::names::{ROUTER, TO_RECEIVER, TO_SENDER};
use crate::host::{CommandError, Host};
use crate::measure::{Deadline, MeasureError};
use serde::Deserialize;
use std::time::Duration;

/// `tc` answers within this time, also in software emulation.
const STEP: Duration = Duration::from_secs(10);

/// Packets are counted as if each had this size, bytes. Most are larger (segmentation is left to the receiving end of a
/// virtual link), so the queue holds more than it is counted for, never less.
const PACKET_BYTES: f64 = 1500.0;

/// Bandwidth-delay products that fit into the queue: one for the path, one for a sender that overshoots.
const PRODUCTS: f64 = 2.0;

/// Room for control packets and for slow paths, packets.
const LEAST_PACKETS: f64 = 1000.0;

/// Share of the available memory that the data under way may take. It is held twice, by the sender and on the way.
const MEMORY_SHARE: f64 = 1.0 / 16.0;

/// An unshaped path that carries less cannot be measured in a meaningful way, Mb/s.
const LEAST_MBPS: u32 = 20;

/// Delay and rate of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) rtt_ms: u32,
    pub(super) rate_mbps: f64,
    pub(super) from: RateFrom,
}

/// Where the rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateFrom {
    /// Half of what the unshaped path carried, so that the machine itself is not the limit.
    HalfOfUnshaped,
    /// Less than that: the data under way has to fit into the memory.
    Memory,
}

impl RateFrom {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HalfOfUnshaped => "half of what the unshaped path carried",
            Self::Memory => "a sixteenth of the available memory under way",
        }
    }
}

impl Shape {
    /// The shape for a path that carried `unshaped_mbps`, on a host with `available` bytes of free memory.
    pub(super) fn below(unshaped_mbps: f64, rtt_ms: u32, available: f64) -> Result<Self, MeasureError> {
        if unshaped_mbps < f64::from(LEAST_MBPS) {
            return Err(MeasureError::TooSlow {
                carried_mbps: unshaped_mbps,
                least_mbps: LEAST_MBPS,
            });
        }
        let half = unshaped_mbps / 2.0;
        let fits = available * MEMORY_SHARE * 8.0 / (f64::from(rtt_ms) / 1e3) / 1e6;
        let (rate_mbps, from) = if fits < half {
            (fits, RateFrom::Memory)
        } else {
            (half, RateFrom::HalfOfUnshaped)
        };
        Ok(Self {
            rtt_ms,
            rate_mbps,
            from,
        })
    }

    /// Packets that fill the path: its bandwidth-delay product.
    pub(super) fn product_packets(&self) -> f64 {
        let product_bytes = self.rate_mbps * 1e6 / 8.0 * f64::from(self.rtt_ms) / 1e3;
        product_bytes / PACKET_BYTES
    }

    /// Arguments of netem after the word `netem`.
    fn netem(&self) -> [String; 6] {
        let packets = PRODUCTS * self.product_packets() + LEAST_PACKETS;
        [
            "delay".into(),
            format!("{}us", u64::from(self.rtt_ms) * 500),
            "rate".into(),
            format!("{:.0}bit", self.rate_mbps * 1e6),
            "limit".into(),
            format!("{packets:.0}"),
        ]
    }

    /// Puts this shape on the path, with empty queues and counters at zero.
    pub(super) fn put(&self, host: &Host, deadline: Deadline) -> Result<(), MeasureError> {
        let netem = self.netem();
        for device in [TO_RECEIVER, TO_SENDER] {
            remove(host, device, deadline)?;
            let mut args = vec!["-n", ROUTER, "qdisc", "add", "dev", device, "root", "netem"];
            args.extend(netem.iter().map(String::as_str));
            host.run("tc", &args, deadline.limit(STEP)?).map_err(no_netem)?;
        }
        Ok(())
    }
}

/// Fails early and clearly where the kernel has no netem. The path is without a shape afterwards.
pub(super) fn require(host: &Host, rtt_ms: u32, deadline: Deadline) -> Result<(), MeasureError> {
    // It may be built in, or loaded by the kernel when it is asked for: the queue itself is the test.
    let limit = deadline.limit(Duration::from_secs(20))?;
    if let Err(error) = host.run("modprobe", &["-q", "sch_netem"], limit) {
        log::debug!("sch_netem: {error}");
    }
    let any = Shape {
        rtt_ms,
        rate_mbps: 1000.0,
        from: RateFrom::HalfOfUnshaped,
    };
    any.put(host, deadline)?;
    take_off(host, deadline)
}

/// Takes the shape off, with all that waits in it.
fn take_off(host: &Host, deadline: Deadline) -> Result<(), MeasureError> {
    [TO_RECEIVER, TO_SENDER]
        .into_iter()
        .try_for_each(|device| remove(host, device, deadline))
}

/// Packets that netem dropped on the way to the receiver since [`Shape::put`].
pub(super) fn drops(host: &Host, deadline: Deadline) -> Result<u64, MeasureError> {
    let args = ["-n", ROUTER, "-s", "-j", "qdisc", "show", "dev", TO_RECEIVER];
    let text = host.run("tc", &args, deadline.limit(STEP)?)?;
    parse_drops(&text).ok_or_else(|| MeasureError::NoNetem {
        device: TO_RECEIVER,
        found: text.chars().take(120).collect(),
    })
}

/// Deletes a root queue of ours; a link that has none is left as it is.
fn remove(host: &Host, device: &'static str, deadline: Deadline) -> Result<(), MeasureError> {
    let show = ["-n", ROUTER, "-j", "qdisc", "show", "dev", device];
    if has_netem(&host.run("tc", &show, deadline.limit(STEP)?)?) {
        let del = ["-n", ROUTER, "qdisc", "del", "dev", device, "root"];
        host.run("tc", &del, deadline.limit(STEP)?)?;
    }
    Ok(())
}

/// A kernel without netem says so in these words; every other failure stays what it is.
fn no_netem(error: CommandError) -> MeasureError {
    let CommandError::Failed { stderr, .. } = &error else {
        return error.into();
    };
    let words = [
        "qdisc kind is unknown",
        "Unknown qdisc",
        "No such file or directory",
    ];
    if words.iter().any(|word| stderr.contains(word)) {
        return MeasureError::Unavailable {
            what: "netem",
            why: stderr.clone(),
            hint: "the kernel needs the module sch_netem",
        };
    }
    error.into()
}

#[derive(Deserialize)]
struct RawQdisc {
    kind: String,
    drops: Option<u64>,
}

fn qdiscs(text: &str) -> Option<Vec<RawQdisc>> {
    serde_json::from_str(text).ok()
}

fn has_netem(text: &str) -> bool {
    qdiscs(text).is_some_and(|list| list.iter().any(|qdisc| qdisc.kind == "netem"))
}

fn parse_drops(text: &str) -> Option<u64> {
    match qdiscs(text)?.as_slice() {
        [qdisc] if qdisc.kind == "netem" => qdisc.drops,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: f64 = 1_073_741_824.0;

    #[test]
    fn the_rate_is_half_of_what_the_unshaped_path_carried() {
        let shape = Shape::below(450.0, 200, 1.7 * GIB).unwrap();
        assert_eq!(shape.from, RateFrom::HalfOfUnshaped);
        // 225 Mb/s x 200 ms = 5.625 MB = 3750 packets, twice, and 1000.
        assert_eq!(
            shape.netem(),
            ["delay", "100000us", "rate", "225000000bit", "limit", "8500"]
        );
    }

    #[test]
    fn the_data_under_way_has_to_fit_into_the_memory() {
        let shape = Shape::below(40_000.0, 200, 2.0 * GIB).unwrap();
        assert_eq!(shape.from, RateFrom::Memory);
        let under_way = shape.rate_mbps * 1e6 / 8.0 * 0.2;
        assert!((under_way - GIB / 8.0).abs() < 1.0, "{under_way}");
    }

    #[test]
    fn a_machine_that_carries_nearly_nothing_is_not_measured() {
        let error = Shape::below(3.2, 200, GIB).unwrap_err().to_string();
        assert_eq!(
            error,
            "the unshaped path carried 3.2 Mb/s, at least 20 are needed"
        );
    }

    #[test]
    fn a_kernel_without_netem_is_told_apart_from_other_failures() {
        let failed = |stderr: &str| {
            no_netem(CommandError::Failed {
                command: "tc".into(),
                status: "exit status: 2".into(),
                stderr: stderr.into(),
            })
        };
        assert_eq!(
            failed("Error: Specified qdisc kind is unknown.").to_string(),
            "netem is not available: Error: Specified qdisc kind is unknown.\nhint: the kernel needs the module \
             sch_netem"
        );
        assert!(matches!(
            failed("RTNETLINK answers: Operation not permitted"),
            MeasureError::Command(_)
        ));
    }

    /// `tc -s -j qdisc show dev dtnf-mid-r` of iproute2 6.15, after a stream.
    const WITH_NETEM: &str = r#"[{"kind":"netem","handle":"8005:","root":true,"refcnt":3,"options":{"limit":100000,"delay":{"delay":0.1,"jitter":0,"correlation":0},"rate":{"rate":143750000,"packetoverhead":0,"cellsize":0,"celloverhead":0},"ecn":false,"gap":0},"bytes":631167535,"packets":416910,"drops":7,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]"#;

    #[test]
    fn drops_are_those_of_netem_and_of_nothing_else() {
        assert_eq!(parse_drops(WITH_NETEM), Some(7));
        assert!(has_netem(WITH_NETEM));
        for other in [
            "",
            "[]",
            "[{}]",
            r#"[{"kind":"noqueue","handle":"0:","root":true,"drops":7}]"#,
            &WITH_NETEM[..200],
        ] {
            assert_eq!(parse_drops(other), None, "{other}");
            assert!(!has_netem(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn whatever_tc_prints_is_read_without_a_panic(text in any::<String>()) {
            prop_assert_eq!(parse_drops(&text), None);
        }
    }
}
