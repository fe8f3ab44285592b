//! Samples sorted into metrics and pairs, and what makes a metric unusable.

use crate::measure::{Arm, Better, Sample};
use crate::stats::{PairedRatio, PairedRatioError};
use std::collections::BTreeMap;

/// All samples of one metric of one measurement.
pub(super) struct Metric<'a> {
    pub(super) measure: &'a str,
    pub(super) name: &'a str,
    samples: Vec<&'a Sample>,
}

/// Values of both arms, pair by pair: (as found, ours).
pub(super) struct Pairs(Vec<(f64, f64)>);

/// Why a metric says nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("no sample {}", arm_name(*.0))]
    NoSample(Arm),
    #[error("no pair has samples of both arms")]
    NoPair,
    #[error("pair {pair} has more than one sample {}", arm_name(*.arm))]
    Repeated { pair: u32, arm: Arm },
    #[error("its samples do not agree on {0}")]
    Mixed(&'static str),
    #[error(transparent)]
    Ratio(#[from] PairedRatioError),
    #[error("its numbers are too far apart for a ratio")]
    OutOfRange,
}

fn arm_name(arm: Arm) -> &'static str {
    match arm {
        Arm::KernelDefaults => "with the kernel's defaults",
        Arm::AsFound => "as found",
        Arm::Ours => "of ours",
    }
}

/// The metrics of `samples`, sorted by name, the samples of each in the order in which they were taken.
pub(super) fn metrics(samples: &[Sample]) -> Vec<Metric<'_>> {
    let mut sorted: BTreeMap<(&str, &str), Vec<&Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.arm != Arm::KernelDefaults) {
        sorted
            .entry((&sample.measure, &sample.metric))
            .or_default()
            .push(sample);
    }
    sorted
        .into_iter()
        .map(|((measure, name), samples)| Metric {
            measure,
            name,
            samples,
        })
        .collect()
}

impl<'a> Metric<'a> {
    pub(super) fn samples(&self) -> &[&'a Sample] {
        &self.samples
    }

    pub(super) fn of(&self, arm: Arm) -> Vec<&'a Sample> {
        self.samples
            .iter()
            .copied()
            .filter(|sample| sample.arm == arm)
            .collect()
    }

    /// A context value, from the first sample that has it.
    pub(super) fn context(&self, key: &str) -> Option<&'a str> {
        self.samples
            .iter()
            .find_map(|sample| sample.context.get(key))
            .map(String::as_str)
    }

    pub(super) fn better(&self) -> Result<Better, Unusable> {
        self.common("which direction is good", |sample| sample.better)
    }

    pub(super) fn unit(&self) -> Result<&'a str, Unusable> {
        self.common("the unit", |sample| sample.unit.as_str())
    }

    fn common<T: PartialEq>(&self, what: &'static str, of: impl Fn(&'a Sample) -> T) -> Result<T, Unusable> {
        let mut values = self.samples.iter().copied().map(of);
        let first = values.next().ok_or(Unusable::NoPair)?;
        if values.all(|value| value == first) {
            Ok(first)
        } else {
            Err(Unusable::Mixed(what))
        }
    }

    /// The pairs of which both arms were measured. A pair that was cut short is left aside.
    pub(super) fn pairs(&self) -> Result<Pairs, Unusable> {
        let as_found = self.by_pair(Arm::AsFound)?;
        let ours = self.by_pair(Arm::Ours)?;
        let pairs: Vec<(f64, f64)> = as_found
            .iter()
            .filter_map(|(pair, &value)| ours.get(pair).map(|&other| (value, other)))
            .collect();
        if pairs.is_empty() {
            return Err(Unusable::NoPair);
        }
        Ok(Pairs(pairs))
    }

    fn by_pair(&self, arm: Arm) -> Result<BTreeMap<u32, f64>, Unusable> {
        let mut values = BTreeMap::new();
        for sample in self.of(arm) {
            if values.insert(sample.pair, sample.value).is_some() {
                return Err(Unusable::Repeated {
                    pair: sample.pair,
                    arm,
                });
            }
        }
        if values.is_empty() {
            return Err(Unusable::NoSample(arm));
        }
        Ok(values)
    }
}

impl Pairs {
    /// The mean ratio, with an interval of the given error probability.
    pub(super) fn ratio(&self, error: f64) -> Result<PairedRatio, Unusable> {
        Ok(PairedRatio::of(&self.0, error)?)
    }

    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        self.0.clone()
    }

    pub(super) fn mean_as_found(&self) -> f64 {
        mean(self.0.iter().map(|pair| pair.0))
    }

    pub(super) fn mean_ours(&self) -> f64 {
        mean(self.0.iter().map(|pair| pair.1))
    }
}

/// The mean, or not a number when there is nothing to average.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
