//! Whether a TCP stream was held back by its window, not by the path.
//!
//! A stream can have at most one window of data under way in one round trip. When throughput x RTT comes to the window
//! and the path could carry more, the window is the limit. The window is the largest that the receiver offered, where
//! the tool reports it. Else it is half of the receive buffer, which is what kernels before 6.6 offer
//! (`tcp_adv_win_scale` 1); later ones measure the overhead and offer up to all of it.

use super::context;
use crate::measure::Sample;

/// How near the data under way has to come to the window.
const TOLERANCE: f64 = 0.15;

/// Share of the path's rate above which the path is the limit.
const PATH_IS_FULL: f64 = 0.9;

/// `window-limited (6 MiB buffer)` when every one of `samples` was; `None` when one was not, when a fact is
/// missing, or when these are no throughputs.
pub(super) fn limited(samples: &[&Sample]) -> Option<String> {
    let first = samples.first()?;
    let buffer = receive_buffer(first)?;
    samples
        .iter()
        .all(|sample| is_limited(sample) == Some(true))
        .then(|| format!("window-limited ({} buffer)", binary_size(buffer)))
}

fn is_limited(sample: &Sample) -> Option<bool> {
    if sample.unit != "Mb/s" {
        return None;
    }
    let rate = number(sample, context::RATE_MBPS)?;
    let under_way = sample.value * 1e6 / 8.0 * number(sample, context::RTT_MS)? / 1e3;
    let window = match number(sample, context::WINDOW_BYTES) {
        Some(offered) => offered,
        None => receive_buffer(sample)? / 2.0,
    };
    let is_near = (under_way / window - 1.0).abs() <= TOLERANCE;
    Some(is_near && sample.value < PATH_IS_FULL * rate)
}

fn receive_buffer(sample: &Sample) -> Option<f64> {
    let text = sample.context.get(context::TCP_RMEM)?;
    let number: f64 = text.split_ascii_whitespace().nth(2)?.parse().ok()?;
    (number > 0.0).then_some(number)
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
        assert_eq!(limit.as_deref(), Some("window-limited (6 MiB buffer)"));
    }

    #[test]
    fn the_offered_window_wins_over_the_rule_of_half_a_buffer() {
        let mut context = OLD_KERNEL.to_vec();
        context[1] = (context::RATE_MBPS, "1150");
        context.push((context::WINDOW_BYTES, "4701824"));
        let limit = limited(&[&stream(178.1, &context)]);
        assert_eq!(limit.as_deref(), Some("window-limited (6 MiB buffer)"));
        assert_eq!(limited(&[&stream(124.0, &context)]), None);
    }

    #[test]
    fn one_round_that_was_not_limited_is_enough_to_say_nothing() {
        assert_eq!(
            limited(&[&stream(124.0, &OLD_KERNEL), &stream(90.0, &OLD_KERNEL)]),
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
