//! From samples to a decision: keep, revert or inconclusive, with the sentence that says why.
//!
//! The question is not "is it faster" but "does it harm". A metric passes when the whole 95 % interval of
//! ours / as found lies on the good side of its limit, and harms when the whole interval lies on the bad side. In
//! between the numbers do not decide, and more pairs are wanted. One harmed metric reverts; one undecided metric
//! makes the rest wait.
//!
//! Calling [`decide`] after each new pair and stopping at the first answer looks at the numbers more than once, which
//! a 95 % interval does not account for. The simulation in this module's tests does, because it stops in just that
//! way: of profiles that harm by 10 % at 2 % noise, fewer than 1 % are kept.
//!
//! Whatever the samples hold, the answer is an [`Outcome`]: no number, a zero, an infinity, a lonely arm or a single
//! pair are reasons to be inconclusive, never a reason to stop working.

mod conditions;
pub mod context;
mod pairing;
mod sentence;
#[cfg(test)]
mod tests;
mod window;

use crate::measure::{Arm, Better, Sample};
use crate::verdict::{Comparison, Outcome};
use pairing::{Metric, Unusable};

/// The worst ratio of ours to as found that is no harm, for each direction of good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// For throughput, and whatever else of which more is good: 0.95 allows 5 % less.
    pub throughput: f64,
    /// For times, and whatever else of which less is good: 1.10 allows 10 % more.
    pub time: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            throughput: 0.95,
            time: 1.10,
        }
    }
}

impl Limits {
    fn of(self, better: Better) -> f64 {
        match better {
            Better::Higher => self.throughput,
            Better::Lower => self.time,
        }
    }
}

/// What follows from the samples alone; checks and group evidence are joined to it by the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Keep, revert or inconclusive.
    pub outcome: Outcome,
    /// The sentence that an admin wants.
    pub sentence: String,
    /// One entry for each metric that could be compared.
    pub metrics: Vec<Comparison>,
}

/// What one metric says, and all that is needed to tell it.
struct Judged {
    name: String,
    over: Option<String>,
    finding: Result<Finding, Unusable>,
}

struct Finding {
    outcome: Outcome,
    comparison: Comparison,
    /// Pairs that would decide, if the spread stays as it is. Only for an undecided metric.
    pairs_to_decide: Option<u32>,
    /// What limited an arm, where that is known.
    remarks: Vec<String>,
}

/// More pairs than this are not promised as "would decide": no first boot has the time.
const MOST_PAIRS: u32 = 50;

/// Decides on `samples`. Arms other than *as found* and *ours* are left aside.
pub fn decide(samples: &[Sample], limits: &Limits) -> Decision {
    let judged: Vec<Judged> = pairing::metrics(samples)
        .iter()
        .map(|metric| judge(metric, *limits))
        .collect();
    let outcome = joint_outcome(&judged);
    Decision {
        outcome,
        sentence: sentence::sentence(outcome, &judged),
        metrics: judged
            .into_iter()
            .filter_map(|metric| metric.finding.ok().map(|finding| finding.comparison))
            .collect(),
    }
}

impl Judged {
    fn outcome(&self) -> Outcome {
        self.finding
            .as_ref()
            .map_or(Outcome::Inconclusive, |finding| finding.outcome)
    }
}

fn joint_outcome(judged: &[Judged]) -> Outcome {
    let any = |outcome| judged.iter().any(|metric| metric.outcome() == outcome);
    if any(Outcome::Revert) {
        Outcome::Revert
    } else if any(Outcome::Inconclusive) || judged.is_empty() {
        Outcome::Inconclusive
    } else {
        Outcome::Keep
    }
}

fn judge(metric: &Metric<'_>, limits: Limits) -> Judged {
    Judged {
        name: metric.name.to_owned(),
        over: metric.context(context::OVER).map(str::to_owned),
        finding: finding(metric, limits),
    }
}

fn finding(metric: &Metric<'_>, limits: Limits) -> Result<Finding, Unusable> {
    let better = metric.better()?;
    let limit = limits.of(better);
    let pairs = metric.pairs()?;
    let ratio = pairs.ratio()?;
    let comparison = Comparison {
        metric: format!("{}/{}", metric.measure, metric.name),
        unit: metric.unit()?.to_owned(),
        better,
        as_found: pairs.mean_as_found(),
        ours: pairs.mean_ours(),
        ratio: ratio.ratio(),
        ratio_low: ratio.low(),
        ratio_high: ratio.high(),
        pairs: ratio.pairs,
        limit,
        smallest_effect: ratio.smallest_effect(),
        context: conditions::joined(metric.samples()),
    };
    // Not a number on disk would read back as nothing at all: an overflow is told, not stored.
    let numbers = [
        comparison.as_found,
        comparison.ours,
        comparison.ratio,
        comparison.ratio_low,
        comparison.ratio_high,
        comparison.smallest_effect,
    ];
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(Unusable::OutOfRange);
    }
    let outcome = outcome(&comparison);
    Ok(Finding {
        outcome,
        pairs_to_decide: ratio.pairs_to_decide(limit, MOST_PAIRS),
        remarks: remarks(metric, outcome),
        comparison,
    })
}

/// The interval against the limit. A limit that is not a number decides nothing.
fn outcome(comparison: &Comparison) -> Outcome {
    let (low, high, limit) = (comparison.ratio_low, comparison.ratio_high, comparison.limit);
    let (passes, harms) = match comparison.better {
        Better::Higher => (low >= limit, high < limit),
        Better::Lower => (high <= limit, low > limit),
    };
    match (passes, harms) {
        (true, _) => Outcome::Keep,
        (_, true) => Outcome::Revert,
        _ => Outcome::Inconclusive,
    }
}

fn remarks(metric: &Metric<'_>, outcome: Outcome) -> Vec<String> {
    let as_found = window::limited(&metric.of(Arm::AsFound)).map(|what| format!("as found is {what}"));
    let ours = window::limited(&metric.of(Arm::Ours))
        .filter(|_| outcome == Outcome::Revert)
        .map(|what| format!("ours is {what}"));
    as_found.into_iter().chain(ours).collect()
}
