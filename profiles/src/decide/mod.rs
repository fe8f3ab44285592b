//! From samples to a decision: keep, revert or inconclusive, with the sentence that says why.
//!
//! The question is not "is it faster" but "does it harm". A metric passes when its whole interval of ours / as found
//! lies on the good side of the limit. It harms when its mean lies beyond the limit and so much loss is not luck: the
//! chance of it without any effect, after [`holm`] over all metrics. In between the numbers do not decide, and more
//! pairs are wanted. One harmed metric reverts; one undecided metric makes the rest wait, except that a noisy peer does
//! not hold up what local evidence has decided.
//!
//! The numbers are looked at after [`LOOKS`] pairs only, and never with fewer than [`MIN_PAIRS`]; the intervals account for
//! all looks together ([`looks`]). How often the answers are right is counted on synthetic sites in
//! `profiles/tests/simulator`.
//!
//! Whatever the samples hold, the answer is an [`Outcome`]: no number, a zero, an infinity, a lonely arm or a single
//! pair are reasons to be inconclusive, never a reason to stop working.

mod bottleneck;
mod conditions;
pub mod context;
mod holm;
mod looks;
mod pairing;
mod sentence;
#[cfg(test)]
mod tests;
mod window;

pub use looks::{LOOKS, MAX_PAIRS, MIN_PAIRS, is_look};

use crate::measure::{Arm, Better, PEER, RTT_UNDER_LOAD, Sample};
use crate::verdict::{Comparison, Outcome};
use looks::LOOK_ERROR;
use pairing::{Metric, Unusable};

/// The worst ratio of ours to as found that is no harm, for each direction of good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// For throughput, and whatever else of which more is good: 0.95 allows 5 % less.
    pub throughput: f64,
    /// For times, and whatever else of which less is good: 1.10 allows 10 % more.
    pub time: f64,
    /// Whether the round-trip time under load is held to `time`. For latency roles only: a sender that fills a queue
    /// which it never reached before is no harm to a bulk transfer.
    pub holds_rtt_under_load: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            throughput: 0.95,
            time: 1.10,
            holds_rtt_under_load: false,
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
    /// Whether it comes from a peer.
    by_peer: bool,
    finding: Result<Finding, Unusable>,
}

struct Finding {
    outcome: Outcome,
    comparison: Comparison,
    /// The chance of so much loss without an effect; 1 when the mean is within the limit.
    chance_of_harm: f64,
    /// Pairs that would decide, if the spread stays as it is. Only for an undecided metric.
    pairs_to_decide: Option<u32>,
    /// What limited an arm, where that is known.
    remarks: Vec<String>,
}

/// Decides on `samples`. Arms other than *as found* and *ours* are left aside.
pub fn decide(samples: &[Sample], limits: &Limits) -> Decision {
    let metrics = pairing::metrics(samples);
    let mut judged: Vec<Judged> = metrics.iter().map(|metric| judge(metric, *limits)).collect();
    mark_harm(&mut judged);
    for (metric, judged) in metrics.iter().zip(&mut judged) {
        if let Ok(finding) = &mut judged.finding {
            finding.remarks = remarks(metric, finding);
        }
    }
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

    /// Whether it has a say.
    fn decides(&self) -> bool {
        !self
            .finding
            .as_ref()
            .is_ok_and(|finding| finding.comparison.only_reported)
    }
}

/// Marks the metrics whose harm is not luck.
fn mark_harm(judged: &mut [Judged]) {
    let mut findings: Vec<&mut Finding> = judged
        .iter_mut()
        .filter_map(|metric| metric.finding.as_mut().ok())
        .filter(|finding| !finding.comparison.only_reported)
        .collect();
    let chances: Vec<f64> = findings.iter().map(|finding| finding.chance_of_harm).collect();
    // One side of the two-sided error: gains are not tested.
    for (finding, harmed) in findings.iter_mut().zip(holm::harmed(&chances, LOOK_ERROR / 2.0)) {
        if harmed && finding.comparison.pairs >= MIN_PAIRS {
            finding.outcome = Outcome::Revert;
        }
    }
}

fn joint_outcome(judged: &[Judged]) -> Outcome {
    let of = |outcome: Outcome| -> Vec<&Judged> {
        judged
            .iter()
            .filter(|metric| metric.decides() && metric.outcome() == outcome)
            .collect()
    };
    let is_local = |metric: &&Judged| !metric.by_peer;
    let (kept, undecided) = (of(Outcome::Keep), of(Outcome::Inconclusive));
    let local_evidence_decides = kept.iter().any(is_local) && !undecided.iter().any(is_local);
    if !of(Outcome::Revert).is_empty() {
        Outcome::Revert
    } else if local_evidence_decides || (undecided.is_empty() && !kept.is_empty()) {
        Outcome::Keep
    } else {
        Outcome::Inconclusive
    }
}

fn judge(metric: &Metric<'_>, limits: Limits) -> Judged {
    Judged {
        name: metric.name.to_owned(),
        over: metric.context(context::OVER).map(str::to_owned),
        by_peer: metric.measure == PEER,
        finding: finding(metric, limits),
    }
}

fn finding(metric: &Metric<'_>, limits: Limits) -> Result<Finding, Unusable> {
    let better = metric.better()?;
    let limit = limits.of(better);
    let pairs = metric.pairs()?;
    let ratio = pairs.ratio(LOOK_ERROR)?;
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
        only_reported: metric.name == RTT_UNDER_LOAD && !limits.holds_rtt_under_load,
        smallest_effect: ratio.smallest_effect(),
        context: conditions::joined(metric.samples()),
        points: pairs.points(),
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
    let is_beyond_limit = match better {
        Better::Higher => comparison.ratio < limit,
        Better::Lower => comparison.ratio > limit,
    };
    let chance_of_harm = match better {
        _ if !is_beyond_limit => 1.0,
        Better::Higher => ratio.chance_of_less(),
        Better::Lower => ratio.chance_of_more(),
    };
    Ok(Finding {
        outcome: unless_harmed(&comparison),
        chance_of_harm,
        pairs_to_decide: ratio.pairs_to_decide(limit, MIN_PAIRS, MAX_PAIRS),
        remarks: Vec::new(),
        comparison,
    })
}

/// The interval against the limit. A limit that is not a number decides nothing.
fn unless_harmed(comparison: &Comparison) -> Outcome {
    let passes = match comparison.better {
        Better::Higher => comparison.ratio_low >= comparison.limit,
        Better::Lower => comparison.ratio_high <= comparison.limit,
    };
    if passes && comparison.pairs >= MIN_PAIRS {
        Outcome::Keep
    } else {
        Outcome::Inconclusive
    }
}

/// What limited the arms. That of ours is told where it is another one than before, or why there is no gain.
fn remarks(metric: &Metric<'_>, finding: &Finding) -> Vec<String> {
    let of = |arm| bottleneck::of(&metric.of(arm)).map(|limit| limit.to_string());
    let as_found = of(Arm::AsFound);
    let ours = of(Arm::Ours);
    if as_found == ours && finding.outcome != Outcome::Revert {
        return ours.map(|what| format!("both are {what}")).into_iter().collect();
    }
    let said = |whose: &str, what: Option<String>| what.map(|what| format!("{whose} is {what}"));
    said("as found", as_found)
        .into_iter()
        .chain(said("ours", ours))
        .collect()
}
