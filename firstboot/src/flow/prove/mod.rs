//! The proof of a plan that is live: each measurement speaks for the groups that it exercises, and for no others.
//!
//! The plan is put in whole; then each measurement takes its own groups out and puts them back in, round by round. A
//! whole that harms is proved apart ([`dtnforge_profiles::apart`]): what harms goes, with its name, and the rest stays
//! after it was proved again. A group that a noisy peer was asked for and did not decide on is as unproved as if there
//! were no peer. What is live at the end is what is read back, checked, and concluded on.

mod arms;
mod conclude;
mod part;

pub(super) use arms::{done, place};
pub use conclude::conclude;
pub use part::{Part, Rules};

use super::because::Because;
use crate::checks;
use crate::host::Host;
use crate::measure::{Deadline, Measure};
use crate::notify;
use crate::trial::Transaction;
use arms::Arms;
use dtnforge_profiles::conclude::Conclusions;
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::measure::Arm;
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::site::Unproved;
use dtnforge_profiles::verdict::Check;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time for a measurement to get ready: to build its path, to find out what that carries.
pub const PREPARE_LIMIT: Duration = Duration::from_secs(120);

/// What the proof of one plan gave: what the journal of the trial cannot hold.
#[derive(Debug, Clone)]
pub struct Proof {
    /// One entry for each measurement that had something to say.
    pub parts: Vec<Part>,
    /// What the node was like before and with the plan.
    pub checks: Vec<Check>,
    /// The plan that is live: without what was dropped, and without what drivers took and ignored.
    pub plan: Plan,
}

/// A measurement of this node.
pub struct Station {
    /// The measurement.
    pub measure: Box<dyn Measure>,
    /// Whether it is prepared. One that is not is prepared when its turn comes, and left out where that fails.
    pub prepared: bool,
}

/// Proves a plan on `host` and leaves live what passes.
///
/// # Errors
/// Why the trial is to be taken back. All that was written is in the transaction's journal.
pub fn prove(
    host: &Host,
    conclusions: &Conclusions,
    plan: &Plan,
    transaction: &mut Transaction<'_>,
    stations: &mut [Station],
    rules: &mut Rules<'_>,
) -> Result<Proof, Because> {
    let before = checks::observe(host, conclusions);
    let mut arms = Arms::put_in(transaction, plan)?;
    (rules.live)();
    let mut parts: Vec<Part> = Vec::new();
    let mut goes: BTreeMap<Group, String> = BTreeMap::new();
    for station in stations {
        let exercised = station.measure.info().exercises;
        let asked: Vec<Group> = plan
            .groups()
            .into_iter()
            .filter(|group| exercised.contains(group) && !goes.contains_key(group))
            .collect();
        if asked.is_empty() || !is_ready(station) {
            continue;
        }
        let measured = part::measure(station.measure.as_mut(), &asked, &mut arms, rules);
        clean(station);
        let part = measured?;
        let leaves = leaving(&part, &parts, rules.unproved);
        let stays: Vec<Group> = asked
            .iter()
            .copied()
            .filter(|group| !leaves.contains_key(group))
            .collect();
        arms.switch(Arm::Ours, &asked, &stays)?;
        goes.extend(leaves);
        parts.push(part);
    }
    let ignored = arms.end();
    let plan = what_stays(
        transaction,
        &plan.clone().without(&goes),
        &ignored,
        !goes.is_empty(),
    )?;
    let after = checks::observe_again(host, conclusions, &before);
    Ok(Proof {
        parts,
        checks: checks::compare(&before, &after),
        plan,
    })
}

/// The groups of a part that go, with the reason.
fn leaving(part: &Part, earlier: &[Part], policy: Unproved) -> BTreeMap<Group, String> {
    let proved: BTreeSet<Group> = earlier
        .iter()
        .flat_map(|part| part.kept.iter().copied())
        .collect();
    let is_held = |group: &Group| {
        policy == Unproved::Hold && group.held_when_unproved() && group.evidence() != EvidenceKind::ReadBack
    };
    let undecided = part
        .undecided
        .iter()
        .filter(|group| !proved.contains(group) && is_held(group))
        .map(|group| (*group, format!("held: {} did not decide", part.by)));
    let dropped = part
        .dropped
        .iter()
        .map(|(group, why)| (*group, format!("dropped: {why}")));
    dropped.chain(undecided).collect()
}

/// Prepares a measurement whose turn has come; one that cannot be had is told and left out.
fn is_ready(station: &mut Station) -> bool {
    if station.prepared {
        return true;
    }
    let name = station.measure.info().id;
    notify::progress(&format!("preparing {name}"), PREPARE_LIMIT * 2);
    match station.measure.prepare(Deadline::after(PREPARE_LIMIT)) {
        Ok(()) => station.prepared = true,
        Err(error) => log::warn!("{name}: not measured: {error}"),
    }
    station.prepared
}

/// Removes what a measurement built. What cannot be removed is said, and removed by the next run.
pub(super) fn clean(station: &mut Station) {
    station.prepared = false;
    if let Err(error) = station.measure.cleanup() {
        let name = station.measure.info().id;
        log::warn!("{name} left something behind: {error}");
    }
}

/// The plan without what drivers took and ignored, all of it read back. Its files are placed again where it is another
/// plan than the one before.
pub(super) fn what_stays(
    transaction: &mut Transaction<'_>,
    plan: &Plan,
    ignored: &[KnobId],
    is_another: bool,
) -> Result<Plan, Because> {
    let plan = plan.clone().without_knobs(
        ignored,
        "the driver takes the value without an error and keeps the old one",
    );
    if is_another || !ignored.is_empty() {
        place(transaction, &plan)?;
    }
    let mismatches = transaction.verify(&plan);
    match mismatches.first() {
        None => Ok(plan),
        Some(first) => {
            let (wrong, all) = (mismatches.len(), plan.steps.len());
            Err(Because::Rejects(format!(
                "{wrong} of {all} knobs do not read back: {first}"
            )))
        }
    }
}
