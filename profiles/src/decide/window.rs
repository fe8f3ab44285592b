//! Whether a TCP stream was held back by its buffers, not by the path.
//!
//! A stream can have at most one window of data under way in one round trip. When throughput x RTT comes to that
//! window and the path could carry more, the window is the limit. Two buffers bound it: the receiver's by the largest
//! window that it offered, and the sender's, which holds what is not acknowledged yet. Where the tool does not report
//! the offered window it is taken as half of the receive buffer, which is what kernels before 6.6 offer
//! (`tcp_adv_win_scale` 1); later ones measure the overhead and offer up to all of it.

use super::context;
use crate::measure::Sample;

/// How near the data under way has to come to the window.
const TOLERANCE: f64 = 0.15;

/// Share of the path's rate above which the path is the limit. Headers take some 5 % of it.
const PATH_IS_FULL: f64 = 0.85;

/// One stream, in numbers.
struct Stream {
    mbps: f64,
    rate_mbps: f64,
    /// Throughput x RTT, bytes.
    under_way: f64,
    /// What the receiver's buffer lets under way, bytes.
    receive_window: f64,
    receive_buffer: f64,
    /// Infinite when it is not known.
    send_buffer: f64,
}

/// The buffer that held the stream back (`6 MiB buffer`) when one did on average over `samples`; `None` when not, when a fact is missing, or when
/// these are no throughputs.
pub(super) fn limited(samples: &[&Sample]) -> Option<String> {
    let streams: Vec<Stream> = samples
        .iter()
        .map(|sample| Stream::of(sample))
        .collect::<Option<_>>()?;
    let first = streams.first()?;
    let sum = |of: fn(&Stream) -> f64| streams.iter().map(of).sum::<f64>();
    let window = sum(|stream| stream.receive_window.min(stream.send_buffer));
    let is_near = (sum(|stream| stream.under_way) / window - 1.0).abs() <= TOLERANCE;
    let path_is_full = sum(|stream| stream.mbps) >= PATH_IS_FULL * sum(|stream| stream.rate_mbps);
    if !is_near || path_is_full {
        return None;
    }
    Some(if first.receive_window <= first.send_buffer {
        format!("{} buffer", binary_size(first.receive_buffer))
    } else {
        format!("{} send buffer", binary_size(first.send_buffer))
    })
}

impl Stream {
    fn of(sample: &Sample) -> Option<Self> {
        if sample.unit != "Mb/s" {
            return None;
        }
        let rtt_ms =
            number(sample, context::RTT_UNDER_LOAD_MS).or_else(|| number(sample, context::RTT_MS))?;
        let receive_buffer = most(sample, context::TCP_RMEM)?;
        Some(Self {
            mbps: sample.value,
            rate_mbps: number(sample, context::RATE_MBPS)?,
            under_way: sample.value * 1e6 / 8.0 * rtt_ms / 1e3,
            receive_window: number(sample, context::WINDOW_BYTES).unwrap_or(receive_buffer / 2.0),
            receive_buffer,
            send_buffer: most(sample, context::TCP_WMEM).unwrap_or(f64::INFINITY),
        })
    }
}

/// The third number of a buffer setting: its maximum.
fn most(sample: &Sample, key: &str) -> Option<f64> {
    let text = sample.context.get(key)?;
    let number: f64 = text.split_ascii_whitespace().nth(2)?.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

fn number(sample: &Sample, key: &str) -> Option<f64> {
    let number: f64 = sample.context.get(key)?.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

fn binary_size(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    let (number, unit) = match bytes {
        b if b >= KIB.powi(3) => (b / KIB.powi(3), "GiB"),
        b if b >= KIB.powi(2) => (b / KIB.powi(2), "MiB"),
        b if b >= KIB => (b / KIB, "KiB"),
        b => (b, "B"),
    };
    // One decimal at most: 6 MiB, 1.5 GiB.
    let tenths = (number * 10.0).round() / 10.0;
    format!("{tenths} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Arm, Better};

    fn stream(mbps: f64, context: &[(&str, &str)]) -> Sample {
        Sample {
            measure: "emulated-path".into(),
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

    const OLD_KERNEL: [(&str, &str); 3] = [
        (context::RTT_MS, "200.6"),
        (context::RATE_MBPS, "225"),
        (context::TCP_RMEM, "4096 131072 6291456"),
    ];

    #[test]
    fn half_a_buffer_in_each_round_trip_is_named_as_the_limit() {
        let limit = limited(&[&stream(124.0, &OLD_KERNEL), &stream(123.1, &OLD_KERNEL)]);
        assert_eq!(limit.as_deref(), Some("6 MiB buffer"));
    }

    #[test]
    fn the_offered_window_wins_over_the_rule_of_half_a_buffer() {
        let mut context = OLD_KERNEL.to_vec();
        context[1] = (context::RATE_MBPS, "1150");
        context.push((context::WINDOW_BYTES, "4701824"));
        let limit = limited(&[&stream(178.1, &context)]);
        assert_eq!(limit.as_deref(), Some("6 MiB buffer"));
        assert_eq!(limited(&[&stream(124.0, &context)]), None);
    }

    #[test]
    fn the_senders_buffer_is_named_when_it_is_the_smaller_one() {
        // As measured in a guest with Linux 6.12.
        let context = [
            (context::RTT_MS, "202.0"),
            (context::RTT_UNDER_LOAD_MS, "260.0"),
            (context::RATE_MBPS, "380.4"),
            (context::WINDOW_BYTES, "6057472"),
            (context::TCP_RMEM, "4096 131072 6291456"),
            (context::TCP_WMEM, "4096 16384 4194304"),
        ];
        let limit = limited(&[&stream(133.2, &context), &stream(137.4, &context)]);
        assert_eq!(limit.as_deref(), Some("4 MiB send buffer"));
    }

    #[test]
    fn rounds_that_were_not_limited_on_average_claim_nothing() {
        assert_eq!(
            limited(&[&stream(90.0, &OLD_KERNEL), &stream(99.0, &OLD_KERNEL)]),
            None
        );
    }

    #[test]
    fn a_full_path_is_not_called_window_limited() {
        let mut context = OLD_KERNEL;
        context[1] = (context::RATE_MBPS, "130");
        assert_eq!(limited(&[&stream(124.0, &context)]), None);
    }

    #[test]
    fn missing_or_senseless_facts_claim_nothing() {
        assert_eq!(limited(&[]), None);
        assert_eq!(limited(&[&stream(124.0, &[])]), None);
        for bad in [
            "",
            "4096",
            "4096 131072 x",
            "4096 131072 0",
            "4096 131072 -6291456",
        ] {
            let mut context = OLD_KERNEL;
            context[2] = (context::TCP_RMEM, bad);
            assert_eq!(limited(&[&stream(124.0, &context)]), None, "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_told_in_the_unit_that_people_set_them_in() {
        for (bytes, text) in [
            (131072.0, "128 KiB"),
            (6291456.0, "6 MiB"),
            (1.5 * 1073741824.0, "1.5 GiB"),
            (512.0, "512 B"),
        ] {
            assert_eq!(binary_size(bytes), text);
        }
    }
}
