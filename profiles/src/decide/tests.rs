//! The table of decisions. How often they are right is counted in `profiles/tests/simulator`.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Samples of `throughput` for (as found, ours) pairs.
fn throughput(pairs: &[(f64, f64)]) -> Vec<Sample> {
    metric("throughput", Better::Higher, pairs)
}

/// Three pairs, measured twice: the least number that decides.
fn twice(pairs: [(f64, f64); 3]) -> Vec<(f64, f64)> {
    [pairs, pairs].concat()
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
    let decision = on(&throughput(&twice([
        (124.0, 236.0),
        (123.1, 238.5),
        (125.2, 233.9),
    ])));
    assert_eq!(decision.outcome, Outcome::Keep);
    assert_eq!(
        decision.sentence,
        "kept: throughput 1.90x over an emulated 200 ms path (124 -> 236 Mb/s, 6 pairs, 95 % interval 1.86 to \
         1.95); a change of 2.41 % or more could be seen"
    );
    let comparison = &decision.metrics[0];
    assert_eq!(comparison.metric, "emulated-path/throughput");
    assert_eq!(comparison.pairs, 6);
    assert_eq!(comparison.points[1], (123.1, 238.5));
    assert!((comparison.limit - 0.95).abs() < f64::EPSILON);
}

#[test]
fn clear_harm_is_reverted_and_the_narrow_window_of_ours_is_named() {
    let mut samples = throughput(&twice([(124.0, 2.61), (123.1, 2.58), (125.2, 2.6)]));
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
        "reverted: throughput 0.0209x over an emulated 200 ms path (124 -> 2.60 Mb/s, 6 pairs, 95 % interval 0.0207 \
         to 0.0211); the limit is 0.95; as found is window-limited (6 MiB buffer); ours is window-limited (128 KiB \
         buffer); a change of 0.90 % or more could be seen"
    );
}

#[test]
fn numbers_too_noisy_to_decide_say_how_many_pairs_would() {
    let decision = on(&throughput(&twice([
        (100.0, 95.0),
        (100.0, 105.0),
        (100.0, 100.5),
    ])));
    assert_eq!(decision.outcome, Outcome::Inconclusive);
    assert_eq!(
        decision.sentence,
        "inconclusive: throughput 1.00x over an emulated 200 ms path (100 -> 100 Mb/s, 6 pairs, 95 % interval 0.94 \
         to 1.07); the limit 0.95 lies inside the interval, about 8 pairs would decide; a change of 6.79 % or more \
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
            &twice([(10.0, ours), (10.1, ours), (9.9, ours)]),
        )
    };
    assert_eq!(on(&times(5.0)).outcome, Outcome::Keep);
    assert_eq!(on(&times(10.3)).outcome, Outcome::Keep);
    assert_eq!(on(&times(10.95)).outcome, Outcome::Inconclusive);
    assert_eq!(on(&times(12.0)).outcome, Outcome::Revert);
}

#[test]
fn fewer_than_six_pairs_decide_nothing_however_clear_they_look() {
    for ours in [236.0, 2.6] {
        let decision = on(&throughput(&[(124.0, ours), (123.1, ours), (125.2, ours)]));
        assert_eq!(decision.outcome, Outcome::Inconclusive);
        assert!(
            decision.sentence.contains("at least 6 pairs decide"),
            "{}",
            decision.sentence
        );
    }
}

#[test]
fn what_may_be_no_change_at_all_is_called_unchanged() {
    let decision = on(&throughput(&twice([
        (100.0, 100.5),
        (101.0, 100.2),
        (99.0, 99.4),
    ])));
    assert!(
        decision
            .sentence
            .starts_with("kept: throughput unchanged over an emulated 200 ms path (100 -> 100 Mb/s, 6 pairs"),
        "{}",
        decision.sentence
    );
}

#[test]
fn the_round_trip_under_load_is_told_and_limits_latency_roles_only() {
    let mut samples = throughput(&twice([(100.0, 200.0), (101.0, 201.0), (99.0, 199.0)]));
    samples.extend(metric(
        RTT_UNDER_LOAD,
        Better::Lower,
        &twice([(200.0, 300.0), (201.0, 310.0), (199.0, 295.0)]),
    ));
    let bulk = on(&samples);
    assert_eq!(bulk.outcome, Outcome::Keep);
    assert_eq!(bulk.metrics.len(), 2);
    assert!(bulk.metrics[0].only_reported && !bulk.metrics[1].only_reported);
    let latency = Limits {
        holds_rtt_under_load: true,
        ..Limits::default()
    };
    let decision = decide(&samples, &latency);
    assert_eq!(decision.outcome, Outcome::Revert);
    assert!(
        decision.sentence.starts_with("reverted: rtt-under-load 1.5"),
        "{}",
        decision.sentence
    );
}

#[test]
fn a_noisy_peer_does_not_hold_up_local_evidence_but_a_harmed_one_does() {
    let peer = |pairs: &[(f64, f64)]| {
        let mut samples = throughput(&twice([(124.0, 236.0), (123.1, 238.5), (125.2, 233.9)]));
        samples.extend(throughput(pairs).into_iter().map(|sample| Sample {
            measure: PEER.to_owned(),
            ..sample
        }));
        on(&samples)
    };
    let noisy = peer(&twice([(100.0, 60.0), (100.0, 140.0), (100.0, 100.0)]));
    assert_eq!(noisy.outcome, Outcome::Keep);
    assert!(
        noisy
            .sentence
            .contains("; and the peer does not decide: throughput"),
        "{}",
        noisy.sentence
    );
    let harmed = peer(&twice([(100.0, 80.0), (100.0, 81.0), (100.0, 79.0)]));
    assert_eq!(harmed.outcome, Outcome::Revert);
}

#[test]
fn a_peer_alone_has_to_decide() {
    let mut samples = throughput(&twice([(100.0, 60.0), (100.0, 140.0), (100.0, 100.0)]));
    for sample in &mut samples {
        sample.measure = PEER.to_owned();
    }
    assert_eq!(on(&samples).outcome, Outcome::Inconclusive);
}

#[test]
fn a_transfer_that_stays_storage_bound_says_so() {
    let mut samples = throughput(&twice([(8000.0, 8010.0), (8050.0, 8040.0), (7990.0, 8000.0)]));
    for sample in &mut samples {
        sample
            .context
            .insert(context::STORAGE_MBPS.to_owned(), "8100".to_owned());
    }
    let decision = on(&samples);
    assert_eq!(decision.outcome, Outcome::Keep);
    assert!(
        decision
            .sentence
            .contains("; both are storage-bound at 8.1 Gb/s; "),
        "{}",
        decision.sentence
    );
}

#[test]
fn one_harmed_metric_reverts_and_is_the_one_that_is_told() {
    let mut samples = throughput(&twice([(100.0, 200.0), (101.0, 201.0), (99.0, 199.0)]));
    samples.extend(metric(
        "completion",
        Better::Lower,
        &twice([(10.0, 20.0), (10.1, 20.0), (9.9, 20.0)]),
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
        ..Limits::default()
    };
    let decision = decide(
        &throughput(&twice([(100.0, 200.0), (101.0, 201.0), (99.0, 199.0)])),
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
