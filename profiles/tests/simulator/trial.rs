//! One trial of a synthetic site, as the driver of the agent does it.

use super::SECONDS;
use super::noise::Noise;
use super::random::Random;
use dtnforge_profiles::decide::{Decision, Limits, MAX_PAIRS, context, decide, is_look};
use dtnforge_profiles::measure::{Arm, Better, Sample};
use dtnforge_profiles::verdict::Outcome;
use std::collections::BTreeMap;

/// What is true of a site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Case {
    /// No metric changes.
    Harmless,
    /// The throughput is multiplied by this; other metrics do not change.
    Throughput(f64),
}

/// A metric of a site.
#[derive(Debug, Clone)]
pub(super) struct Metric {
    pub(super) measure: &'static str,
    pub(super) name: &'static str,
    pub(super) better: Better,
    /// Mean as found, Mb/s or s.
    pub(super) as_found: f64,
    /// True value of ours / as found.
    pub(super) effect: f64,
    /// Facts that the measurement would write beside it.
    pub(super) context: Vec<(&'static str, String)>,
}

/// A trial at its end.
pub(crate) struct Ended {
    pub(crate) decision: Decision,
    pub(crate) pairs: u32,
}

impl Ended {
    pub(crate) fn seconds(&self) -> f64 {
        let (prepare, round) = SECONDS;
        prepare + 2.0 * round * f64::from(self.pairs)
    }
}

/// The trial of the site with this number: one metric, or two.
pub(crate) fn trial_of(case: Case, pair_noise: f64, site: u64) -> Ended {
    let mut random = Random::new(site);
    let effect = match case {
        Case::Harmless => 1.0,
        Case::Throughput(effect) => effect,
    };
    let mut metrics = vec![Metric {
        measure: "emulated-path",
        name: "throughput",
        better: Better::Higher,
        // 50 Mb/s to 50 Gb/s.
        as_found: 50.0 * 1000_f64.powf(random.uniform()),
        effect,
        context: Vec::new(),
    }];
    if random.happens(0.5) {
        metrics.push(Metric {
            measure: "request-response",
            name: "completion-time",
            better: Better::Lower,
            as_found: 0.1 + 10.0 * random.uniform(),
            effect: 1.0,
            context: Vec::new(),
        });
    }
    trial(&metrics, pair_noise, &mut random)
}

/// Takes pairs, looks when the driver looks, and ends when it ends.
pub(super) fn trial(metrics: &[Metric], pair_noise: f64, random: &mut Random) -> Ended {
    let first = if random.happens(0.5) {
        Arm::Ours
    } else {
        Arm::AsFound
    };
    let mut noises: Vec<Noise> = metrics.iter().map(|_| Noise::drawn(random, pair_noise)).collect();
    let mut samples = Vec::new();
    for pair in 0..MAX_PAIRS {
        for arm in order(first, pair) {
            for (metric, noise) in metrics.iter().zip(&mut noises) {
                samples.push(metric.sample(arm, pair, noise.next(random)));
            }
        }
        if is_look(pair + 1) {
            let decision = decide(&samples, &Limits::default());
            if decision.outcome != Outcome::Inconclusive || pair + 1 == MAX_PAIRS {
                return Ended {
                    decision,
                    pairs: pair + 1,
                };
            }
        }
    }
    unreachable!("the last number of pairs is a look")
}

/// ABBA, as in the driver.
fn order(first: Arm, pair: u32) -> [Arm; 2] {
    let second = if first == Arm::Ours {
        Arm::AsFound
    } else {
        Arm::Ours
    };
    if pair.is_multiple_of(2) {
        [first, second]
    } else {
        [second, first]
    }
}

impl Metric {
    fn sample(&self, arm: Arm, pair: u32, off: f64) -> Sample {
        let effect = if arm == Arm::Ours { self.effect } else { 1.0 };
        Sample {
            measure: self.measure.to_owned(),
            metric: self.name.to_owned(),
            unit: if self.better == Better::Higher {
                "Mb/s"
            } else {
                "s"
            }
            .to_owned(),
            better: self.better,
            arm,
            pair,
            value: self.as_found * effect * off.exp(),
            context: self
                .context
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .chain([(context::OVER.to_owned(), "a synthetic path".to_owned())])
                .collect::<BTreeMap<_, _>>(),
        }
    }
}
