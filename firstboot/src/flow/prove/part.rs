//! One measurement and what it says about the groups that it exercises: together, and apart where together harms.

use super::arms::Arms;
use crate::flow::because::Because;
use crate::measure::{Budget, Measure, Progress, RunError, run_pairs};
use dtnforge_profiles::apart::{self, Tried};
use dtnforge_profiles::decide::{Decision, Limits};
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::{Arm, PEER};
use dtnforge_profiles::site::Unproved;
use dtnforge_profiles::verdict::{Outcome, SetProof};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What one measurement said.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name.
    pub by: String,
    /// The groups that it exercised.
    pub groups: Vec<Group>,
    /// All that was proved, in order: the whole first.
    pub tried: Vec<Tried>,
    /// The groups that stay, proved together.
    pub kept: Vec<Group>,
    /// The groups that go, with the reason.
    pub dropped: BTreeMap<Group, String>,
    /// The groups for which it did not decide, although it was asked.
    pub undecided: Vec<Group>,
}

/// How measurements are run.
pub struct Rules<'a> {
    /// What is no harm.
    pub limits: Limits,
    /// What to do with groups that nothing speaks for.
    pub unproved: Unproved,
    /// Seconds for each proof.
    pub budget_s: u32,
    /// Whether each group is proved by itself even where the whole does no harm.
    pub each: bool,
    /// Told once, when the whole plan is live.
    pub live: &'a mut dyn FnMut(),
    /// Told of each round.
    pub tell: &'a mut dyn FnMut(&Progress<'_>),
}

impl Part {
    /// The decision about what stays, or about the whole where nothing does.
    pub fn decision(&self) -> Option<&Decision> {
        let of_kept = self
            .tried
            .iter()
            .rev()
            .find(|tried| !self.kept.is_empty() && tried.groups == self.kept);
        of_kept.or(self.tried.first()).map(|tried| &tried.decision)
    }

    /// Its proofs, for the verdict.
    pub fn proofs(&self) -> impl Iterator<Item = SetProof> {
        self.tried.iter().map(|tried| SetProof {
            by: self.by.clone(),
            groups: tried.groups.clone(),
            outcome: tried.decision.outcome,
            sentence: tried.decision.sentence.clone(),
            metrics: tried.decision.metrics.clone(),
        })
    }
}

/// Measures the `groups` of a live plan. Which of them are live at its end is left to the caller.
pub(super) fn measure(
    measure: &mut dyn Measure,
    groups: &[Group],
    arms: &mut Arms<'_, '_>,
    rules: &mut Rules<'_>,
) -> Result<Part, Because> {
    let mut part = Part {
        by: measure.info().id,
        groups: groups.to_vec(),
        tried: Vec::new(),
        kept: Vec::new(),
        dropped: BTreeMap::new(),
        undecided: Vec::new(),
    };
    let whole = proof(measure, groups, groups, arms, rules)?;
    let outcome = whole.outcome;
    part.tried.push(Tried {
        groups: groups.to_vec(),
        decision: whole,
    });
    match outcome {
        Outcome::Keep => part.kept = groups.to_vec(),
        Outcome::Inconclusive => part.undecided = groups.to_vec(),
        Outcome::Revert => {}
    }
    if groups.len() > 1 && (outcome == Outcome::Revert || rules.each) {
        apart(measure, groups, arms, rules, &mut part)?;
    } else if outcome == Outcome::Revert {
        let why = part.tried.first().map(|tried| tried.decision.sentence.clone());
        let why = why.unwrap_or_default();
        part.dropped = groups.iter().map(|group| (*group, why.clone())).collect();
    }
    Ok(part)
}

/// Proves the groups apart. A whole that did no harm stays whole, whatever its groups do alone.
fn apart(
    measure: &mut dyn Measure,
    groups: &[Group],
    arms: &mut Arms<'_, '_>,
    rules: &mut Rules<'_>,
    part: &mut Part,
) -> Result<(), Because> {
    // Each group alone, the rest, and one more where the rest harms too.
    let proofs = u32::try_from(groups.len()).unwrap_or(u32::MAX).saturating_add(2);
    let end = Instant::now() + Duration::from_secs(u64::from(rules.budget_s) * u64::from(proofs));
    let harms = part.kept.is_empty() && part.undecided.is_empty();
    let found = apart::apart(groups, &mut |ours| {
        if Instant::now() >= end {
            return Ok(None);
        }
        proof(measure, groups, ours, arms, rules).map(Some)
    })?;
    if harms {
        part.kept = found.kept.clone();
        part.dropped = found.dropped.clone();
        for group in groups.iter().filter(|group| !part.kept.contains(group)) {
            part.dropped.entry(*group).or_insert_with(|| {
                "the whole harms, and the time was spent before it could be proved apart".to_owned()
            });
        }
    }
    part.tried.extend(found.tried);
    Ok(())
}

/// One run: the groups of `ours` against none of the `exercised` ones.
fn proof(
    measure: &mut dyn Measure,
    exercised: &[Group],
    ours: &[Group],
    arms: &mut Arms<'_, '_>,
    rules: &mut Rules<'_>,
) -> Result<Decision, Because> {
    let budget = Budget::seconds(rules.budget_s);
    let switch = &mut |arm: Arm| arms.switch(arm, exercised, ours);
    match run_pairs(measure, switch, &budget, &rules.limits, rules.tell) {
        Ok(run) => Ok(run.decision),
        Err(RunError::Switch(because)) => Err(because),
        // A peer that went away leaves the local evidence as it is.
        Err(error) if measure.info().id == PEER => Ok(Decision {
            outcome: Outcome::Inconclusive,
            sentence: format!("inconclusive: {error}"),
            metrics: Vec::new(),
        }),
        Err(error) => Err(Because::SaysNothing(error.to_string())),
    }
}
