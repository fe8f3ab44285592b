//! The driver against a measurement that says what a test tells it to.

use super::*;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::{Better, MeasureInfo};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Gives the numbers of a closure, or its failures, and takes some time for each.
struct Scripted<F> {
    number: F,
    takes: Duration,
    rounds: Vec<(Arm, u32)>,
}

impl<F: FnMut(Arm, u32) -> Result<f64, MeasureError>> Measure for Scripted<F> {
    fn info(&self) -> MeasureInfo {
        MeasureInfo {
            id: "scripted".into(),
            exercises: vec![Group::TcpBuffers],
            needs: vec![],
            seconds_per_round: 0,
        }
    }

    fn prepare(&mut self, _: Deadline) -> Result<(), MeasureError> {
        Ok(())
    }

    fn round(&mut self, arm: Arm, pair: u32, _: Deadline) -> Result<Vec<Sample>, MeasureError> {
        self.rounds.push((arm, pair));
        std::thread::sleep(self.takes);
        let value = (self.number)(arm, pair)?;
        Ok(vec![Sample {
            measure: "scripted".into(),
            metric: "throughput".into(),
            unit: "Mb/s".into(),
            better: Better::Higher,
            arm,
            pair,
            value,
            context: BTreeMap::new(),
        }])
    }

    fn cleanup(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }
}

fn scripted<F: FnMut(Arm, u32) -> Result<f64, MeasureError>>(number: F) -> Scripted<F> {
    Scripted {
        number,
        takes: Duration::ZERO,
        rounds: Vec::new(),
    }
}

fn run(measure: &mut dyn Measure, budget: &Budget) -> Result<(Run, Vec<String>), RunError<Infallible>> {
    let mut lines = Vec::new();
    let run = run_pairs(
        measure,
        &mut |_| Ok(()),
        budget,
        &Limits::default(),
        &mut |progress| lines.push(progress.to_string()),
    )?;
    Ok((run, lines))
}

fn passing_failure() -> MeasureError {
    MeasureError::NotListening {
        namespace: "x",
        seconds: 1,
    }
}

#[test]
fn a_clear_gain_ends_after_the_least_number_of_pairs() {
    let mut measure = scripted(|arm, pair| {
        let noise = f64::from(pair);
        Ok(if arm == Arm::Ours {
            236.0 + noise
        } else {
            124.0 - noise
        })
    });
    let (run, lines) = run(&mut measure, &Budget::seconds(60)).unwrap();
    assert_eq!((run.pairs, run.stopped), (MIN_PAIRS, Stopped::Decided));
    assert_eq!(run.decision.outcome, Outcome::Keep);
    assert_eq!(run.samples.len(), 12);
    assert_eq!(run.samples[0].arm, run.first);
    assert!(
        lines.contains(&"scripted, pair 1, as found: throughput 124.0 Mb/s".to_owned()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"scripted, pair 3, ours: begins".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn an_undecided_run_goes_on_to_the_most_pairs() {
    let mut measure = scripted(|arm, pair| {
        let swing = if pair % 2 == 0 { 20.0 } else { -20.0 };
        Ok(if arm == Arm::Ours { 100.0 + swing } else { 100.0 })
    });
    let (run, _) = run(&mut measure, &Budget::seconds(60)).unwrap();
    assert_eq!((run.pairs, run.stopped), (MAX_PAIRS, Stopped::MostPairs));
    assert_eq!(run.decision.outcome, Outcome::Inconclusive);
}

#[test]
fn between_two_looks_the_numbers_are_not_looked_at() {
    // At the first look one far pair hides that nothing changes; with the seventh pair it would be clear.
    let mut measure = scripted(|arm, pair| {
        Ok(match (arm, pair) {
            (Arm::Ours, 0) => 135.0,
            (Arm::Ours, _) => 103.0,
            _ => 100.0,
        })
    });
    let (run, _) = run(&mut measure, &Budget::seconds(60)).unwrap();
    assert!(is_look(run.pairs) && run.pairs > MIN_PAIRS, "{} pairs", run.pairs);
    assert_eq!(run.stopped, Stopped::Decided);
}

#[test]
fn no_pair_is_begun_that_would_end_after_the_budget() {
    let mut measure = scripted(|arm, pair| {
        Ok(if arm == Arm::Ours && pair % 2 == 0 {
            70.0
        } else {
            100.0
        })
    });
    measure.takes = Duration::from_millis(20);
    let budget = Budget {
        time: Duration::from_millis(150),
        ..Budget::seconds(60)
    };
    let (run, _) = run(&mut measure, &budget).unwrap();
    assert_eq!((run.pairs, run.stopped), (MIN_PAIRS, Stopped::TimeSpent));
}

#[test]
fn a_round_that_fails_once_is_taken_again() {
    let mut failures = 1;
    let mut measure = scripted(|arm, pair| {
        if pair == 1 && failures > 0 {
            failures -= 1;
            return Err(passing_failure());
        }
        Ok(if arm == Arm::Ours { 200.0 } else { 100.0 })
    });
    let (run, lines) = run(&mut measure, &Budget::seconds(60)).unwrap();
    assert_eq!(run.samples.len(), 12);
    assert_eq!(measure.rounds.len(), 13);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("pair 2") && line.contains("is tried once more: the iperf3 server")),
        "{lines:?}"
    );
}

#[test]
fn a_round_that_fails_twice_ends_the_run_as_not_measured() {
    let mut measure = scripted(|_, _| Err(passing_failure()));
    let error = run(&mut measure, &Budget::seconds(60)).unwrap_err().to_string();
    assert!(
        error.starts_with("not measured: pair 1 failed twice: the iperf3 server"),
        "{error}"
    );
    assert_eq!(measure.rounds.len(), 2);
}

#[test]
fn a_failure_that_will_not_pass_is_not_tried_again() {
    let mut measure = scripted(|_, _| Err(MeasureError::NotPrepared));
    let error = run(&mut measure, &Budget::seconds(60)).unwrap_err().to_string();
    assert_eq!(
        error,
        "not measured: pair 1 failed: the measurement is not prepared"
    );
    assert_eq!(measure.rounds.len(), 1);
}

#[test]
fn the_hard_limit_ends_a_run_before_its_least_number_of_pairs() {
    let mut measure = scripted(|_, _| Ok(100.0));
    measure.takes = Duration::from_millis(30);
    let budget = Budget {
        hard_limit: Duration::from_millis(50),
        ..Budget::seconds(60)
    };
    let error = run(&mut measure, &budget).unwrap_err();
    assert!(
        matches!(
            error,
            RunError::NoRound {
                source: MeasureError::DeadlinePassed,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_switch_that_fails_ends_the_run_with_its_own_words() {
    let mut measure = scripted(|_, _| Ok(100.0));
    let mut calls = 0;
    let error = run_pairs(
        &mut measure,
        &mut |_| {
            calls += 1;
            if calls == 4 {
                Err("stop was asked for")
            } else {
                Ok(())
            }
        },
        &Budget::seconds(60),
        &Limits::default(),
        &mut |_| {},
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "stop was asked for");
    assert_eq!(measure.rounds.len(), 3);
}

#[test]
fn the_arm_is_switched_before_every_round() {
    let mut measure = scripted(|_, _| Ok(100.0));
    let mut switched = Vec::new();
    run_pairs(
        &mut measure,
        &mut |arm| -> Result<(), Infallible> {
            switched.push(arm);
            Ok(())
        },
        &Budget::seconds(60),
        &Limits::default(),
        &mut |_| {},
    )
    .unwrap();
    let measured: Vec<Arm> = measure.rounds.iter().map(|round| round.0).collect();
    assert_eq!(switched, measured);
}
