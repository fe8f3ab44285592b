//! The table of decisions, and the simulation that says how often they are right.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Samples of `throughput` for (as found, ours) pairs.
fn throughput(pairs: &[(f64, f64)]) -> Vec<Sample> {
    metric("throughput", Better::Higher, pairs)
}

fn metric(name: &str, better: Better, pairs: &[(f64, f64)]) -> Vec<Sample> {
    let sample = |arm, pair: usize, value| Sample {
        measure: "emulated-path".into(),
        metric: name.into(),
        unit: if better == Better::Higher { "Mb/s" } else { "s" }.into(),
        better,
        arm,
        pair: u32::try_from(pair).unwrap(),
        value,
        context: BTreeMap::from([(context::OVER.to_owned(), "an emulated 200 ms path".to_owned())]),
    };
    pairs
        .iter()
        .enumerate()
        .flat_map(|(pair, &(as_found, ours))| {
            [
                sample(Arm::AsFound, pair, as_found),
                sample(Arm::Ours, pair, ours),
            ]
        })
        .collect()
}

fn on(samples: &[Sample]) -> Decision {
    decide(samples, &Limits::default())
}

#[test]
fn a_gain_is_kept_and_the_sentence_has_the_numbers() {
    let decision = on(&throughput(&[(124.0, 236.0), (123.1, 238.5), (125.2, 233.9)]));
    assert_eq!(decision.outcome, Outcome::Keep);
    assert_eq!(
        decision.sentence,
        "kept: throughput 1.90x over an emulated 200 ms path (124 -> 236 Mb/s, 3 pairs, 95 % interval 1.82 to \
         1.99); a change of 4.62 % or more could be seen"
    );
    let comparison = &decision.metrics[0];
    assert_eq!(comparison.metric, "emulated-path/throughput");
    assert_eq!(comparison.pairs, 3);
    assert!((comparison.limit - 0.95).abs() < f64::EPSILON);
}

#[test]
fn clear_harm_is_reverted_and_the_narrow_window_of_ours_is_named() {
    let mut samples = throughput(&[(124.0, 2.61), (123.1, 2.58), (125.2, 2.6)]);
    for sample in &mut samples {
        let buffer = if sample.arm == Arm::Ours {
            "131072"
        } else {
            "6291456"
        };
        for (key, value) in [
            (context::RTT_MS, "200"),
            (context::RATE_MBPS, "225"),
            (context::TCP_RMEM, &format!("4096 65536 {buffer}")),
        ] {
            sample.context.insert(key.to_owned(), value.to_owned());
        }
    }
    let decision = on(&samples);
    assert_eq!(decision.outcome, Outcome::Revert);
    assert_eq!(
        decision.sentence,
        "reverted: throughput 0.0209x over an emulated 200 ms path (124 -> 2.60 Mb/s, 3 pairs, 95 % interval 0.0206 \
         to 0.0213); the limit is 0.95; as found is window-limited (6 MiB buffer); ours is window-limited (128 KiB \
         buffer); a change of 1.72 % or more could be seen"
    );
}

#[test]
fn numbers_too_noisy_to_decide_say_how_many_pairs_would() {
    let decision = on(&throughput(&[(100.0, 97.0), (100.0, 103.0), (100.0, 100.5)]));
    assert_eq!(decision.outcome, Outcome::Inconclusive);
    assert_eq!(
        decision.sentence,
        "inconclusive: throughput 1.00x over an emulated 200 ms path (100 -> 100 Mb/s, 3 pairs, 95 % interval 0.93 \
         to 1.08); the limit 0.95 lies inside the interval, about 4 pairs would decide; a change of 7.78 % or more \
         could be seen"
    );
}

#[test]
fn numbers_that_decide_nothing_are_inconclusive_with_the_reason() {
    let one_arm: Vec<Sample> = throughput(&[(1.0, 1.0); 3])
        .into_iter()
        .filter(|sample| sample.arm == Arm::Ours)
        .collect();
    let mut mixed_units = throughput(&[(1.0, 1.0); 3]);
    mixed_units[2].unit = "Gb/s".into();
    let mut mixed_direction = throughput(&[(1.0, 1.0); 3]);
    mixed_direction[2].better = Better::Lower;
    let mut repeated = throughput(&[(1.0, 1.0); 3]);
    repeated.push(repeated[1].clone());
    let mut apart = throughput(&[(1.0, 1.0); 2]);
    apart.retain(|sample| (sample.arm == Arm::Ours) == (sample.pair == 0));
    let mut defaults_only = throughput(&[(1.0, 1.0); 3]);
    for sample in &mut defaults_only {
        sample.arm = Arm::KernelDefaults;
    }
    let cases: [(Vec<Sample>, &str); 11] = [
        (vec![], "nothing was measured"),
        (defaults_only, "nothing was measured"),
        (throughput(&[(5.0, 0.0); 3]), "a measured value of 0 has no ratio"),
        (
            throughput(&[(f64::NAN, 5.0); 3]),
            "a measured value of NaN has no ratio",
        ),
        (
            throughput(&[(5.0, f64::INFINITY); 3]),
            "a measured value of inf has no ratio",
        ),
        (
            throughput(&[(5.0, 9.0)]),
            "1 pair(s), and an interval needs at least 2",
        ),
        (one_arm, "no sample as found"),
        (apart, "no pair has samples of both arms"),
        (mixed_units, "its samples do not agree on the unit"),
        (
            mixed_direction,
            "its samples do not agree on which direction is good",
        ),
        (repeated, "pair 0 has more than one sample of ours"),
    ];
    for (samples, reason) in cases {
        let decision = on(&samples);
        assert_eq!(decision.outcome, Outcome::Inconclusive, "{reason}");
        assert!(decision.metrics.is_empty(), "{reason}");
        assert!(
            decision.sentence.ends_with(reason),
            "{} / {reason}",
            decision.sentence
        );
    }
}

#[test]
fn a_pair_that_was_cut_short_is_left_aside() {
    let mut samples = throughput(&[(124.0, 236.0), (123.1, 238.5), (125.2, 233.9), (1.0, 1.0)]);
    samples.pop();
    assert_eq!(on(&samples).metrics[0].pairs, 3);
}

#[test]
fn for_a_metric_of_which_less_is_good_the_limit_lies_above() {
    let times = |ours: f64| {
        metric(
            "completion",
            Better::Lower,
            &[(10.0, ours), (10.1, ours), (9.9, ours)],
        )
    };
    assert_eq!(on(&times(5.0)).outcome, Outcome::Keep);
    assert_eq!(on(&times(10.3)).outcome, Outcome::Keep);
    assert_eq!(on(&times(11.0)).outcome, Outcome::Inconclusive);
    assert_eq!(on(&times(12.0)).outcome, Outcome::Revert);
}

#[test]
fn one_harmed_metric_reverts_and_is_the_one_that_is_told() {
    let mut samples = throughput(&[(100.0, 200.0), (101.0, 201.0), (99.0, 199.0)]);
    samples.extend(metric(
        "completion",
        Better::Lower,
        &[(10.0, 20.0), (10.1, 20.0), (9.9, 20.0)],
    ));
    let decision = on(&samples);
    assert_eq!(decision.outcome, Outcome::Revert);
    assert!(
        decision.sentence.starts_with("reverted: completion 2.00x"),
        "{}",
        decision.sentence
    );
    assert!(!decision.sentence.contains("throughput"), "{}", decision.sentence);
    assert_eq!(decision.metrics.len(), 2);
}

#[test]
fn a_limit_that_is_not_a_number_decides_nothing() {
    let limits = Limits {
        throughput: f64::NAN,
        time: f64::NAN,
    };
    let decision = decide(
        &throughput(&[(100.0, 200.0), (101.0, 201.0), (99.0, 199.0)]),
        &limits,
    );
    assert_eq!(decision.outcome, Outcome::Inconclusive);
}

#[test]
fn numbers_too_far_apart_are_told_and_not_stored() {
    let decision = on(&throughput(&[(1e-300, 1e300); 3]));
    assert!(
        decision.sentence.ends_with("too far apart for a ratio"),
        "{}",
        decision.sentence
    );
    assert!(decision.metrics.is_empty());
}

proptest! {
    #[test]
    fn whatever_is_measured_the_decision_can_be_stored(values in prop::collection::vec((any::<f64>(), any::<f64>()), 0..6)) {
        let decision = on(&throughput(&values));
        let text = serde_json::to_string(&decision.metrics).unwrap();
        let back: Vec<Comparison> = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.len(), decision.metrics.len());
    }
}

/// A small generator (SplitMix64) with a fixed seed, so that the simulation says the same each time.
struct Random(u64);

impl Random {
    /// A number above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let high = u32::try_from(bits >> 32).unwrap();
        (f64::from(high) + 1.0) / 4_294_967_296.0
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Runs one simulated trial as the driver does: three pairs, then one more until decided or `most` is reached.
/// `noise` is the deviation of the ratio within a pair.
fn trial(random: &mut Random, effect: f64, noise: f64, most: usize) -> Outcome {
    let mut pairs = Vec::new();
    loop {
        pairs.push((100.0, 100.0 * effect * (noise * random.normal()).exp()));
        if pairs.len() < 3 {
            continue;
        }
        let outcome = on(&throughput(&pairs)).outcome;
        if outcome != Outcome::Inconclusive || pairs.len() == most {
            return outcome;
        }
    }
}

fn share(wanted: Outcome, effect: f64, noise: f64, most: usize) -> f64 {
    const DRAWS: u32 = 500;
    let mut random = Random(7);
    let hits = (0..DRAWS)
        .filter(|_| trial(&mut random, effect, noise, most) == wanted)
        .count();
    f64::from(u32::try_from(hits).unwrap()) / f64::from(DRAWS)
}

#[test]
fn harm_of_a_tenth_is_hardly_ever_kept_and_harmlessness_mostly_is() {
    for most in [3, 6, 12] {
        for harm in [0.90, 0.85, 0.70] {
            let kept = share(Outcome::Keep, harm, 0.02, most);
            assert!(
                kept <= 0.01,
                "{harm}x kept in {kept} of trials with at most {most} pairs"
            );
        }
        for noise in [0.005, 0.01, 0.02, 0.05] {
            println!(
                "noise {noise}: harmless kept {:.3}, 10 % harm reverted {:.3}, with at most {most} pairs",
                share(Outcome::Keep, 1.0, noise, most),
                share(Outcome::Revert, 0.90, noise, most),
            );
        }
    }
    assert!(share(Outcome::Keep, 1.0, 0.01, 3) >= 0.95);
    assert!(share(Outcome::Keep, 1.0, 0.02, 12) >= 0.95);
    assert!(share(Outcome::Revert, 0.90, 0.02, 12) >= 0.95);
}
