//! Putting a label back: what may be written now, and the transaction.

use super::Outcome;
use crate::door::Door;
use crate::host::Host;
use crate::live;
use crate::notify;
use crate::trial::files::{self, Set};
use crate::trial::{
    self, BeginError, Goal, JOURNAL_PATH, OnFailure, RESTORE_JOURNAL_PATH, RecoverError, Transaction,
    WITHDRAWAL_PATH,
};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::label::{RestorePlan, Snapshot, restore_plan};
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::render::TUNED_PROFILES;
use dtnforge_profiles::state::State;
use std::collections::BTreeMap;

/// Why a label is not put back. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The node is in the middle of a trial.
    #[error("a trial is {0}\nhint: wait for its end, or take it back: dtn-firstboot rollback")]
    Trial(&'static str),
    /// A restore that died could not be read.
    #[error("an earlier restore: {0}")]
    Recover(#[from] RecoverError),
    /// A restore that died could not be taken back.
    #[error("an earlier restore died and could not be taken back: {}", .0.join(", "))]
    NotAsBefore(Vec<String>),
    /// The journal could not be made.
    #[error("{0}")]
    Begin(#[from] BeginError),
}

/// Whether a label may be put back now.
///
/// # Errors
/// [`Refusal::Trial`].
pub fn check_no_trial(host: &Host, state: &State) -> Result<(), Refusal> {
    if matches!(state, State::Baseline { .. } | State::Trial { .. }) {
        return Err(Refusal::Trial("on disk"));
    }
    let journals = [JOURNAL_PATH, WITHDRAWAL_PATH];
    if journals.iter().any(|path| host.path(path).exists()) || files::exists(host, Set::Trial) {
        return Err(Refusal::Trial("live, or died without being taken back"));
    }
    Ok(())
}

/// What putting `snapshot` back would write now. Reads only.
pub fn plan(host: &Host, doors: &dyn Door, snapshot: &Snapshot) -> RestorePlan {
    let knobs = snapshot.knobs.iter();
    let with_twins = knobs.flat_map(|(knob, saved)| [Some(knob), saved.twin().map(|(twin, _)| twin)]);
    let live: BTreeMap<KnobId, Reading> = with_twins
        .flatten()
        .map(|knob| {
            let reading = doors.read(knob);
            (
                knob.clone(),
                reading.unwrap_or_else(|error| Reading::Unsupported(error.to_string())),
            )
        })
        .collect();
    restore_plan(snapshot, &live, &|knob, definition| {
        missing_profile(host, snapshot, knob).or_else(|| live::forbidden(host, knob, definition.disrupts))
    })
}

/// Why tuned cannot have its saved profile: it is one of ours, whose files come and go with a commit.
fn missing_profile(host: &Host, snapshot: &Snapshot, knob: &KnobId) -> Option<String> {
    let KnobId::Tuned(_) = knob else { return None };
    let name = snapshot.knobs.get(knob)?.value.as_str();
    let is_there = host
        .path(&format!("/run/{TUNED_PROFILES}/{name}/tuned.conf"))
        .exists();
    (name.starts_with("dtnforge-") && !is_there)
        .then(|| format!("{name} is a profile of ours, and without its commit its files are not in place"))
}

/// Takes back a restore that died in this boot; the number of knobs that were read and are as before it.
///
/// # Errors
/// [`Refusal::Recover`] or [`Refusal::NotAsBefore`].
pub fn end_dead(host: &Host, doors: &dyn Door) -> Result<Option<usize>, Refusal> {
    let journal = host.path(RESTORE_JOURNAL_PATH);
    if !journal.exists() {
        return Ok(None);
    }
    match trial::recover(host, doors, &journal)? {
        Some(report) if !report.verified() => Err(Refusal::NotAsBefore(report.problems())),
        Some(report) => Ok(Some(report.undone.len())),
        None => Ok(None),
    }
}

/// Puts a label back.
///
/// # Errors
/// [`Refusal::Begin`]; a knob that fails is part of the outcome.
pub fn restore(
    host: &Host,
    doors: &dyn Door,
    snapshot: &Snapshot,
    plan: RestorePlan,
    on_failure: OnFailure,
) -> Result<Outcome, Refusal> {
    let goal = |knob: &KnobId| {
        let saved = snapshot.knobs.get(knob)?;
        Some(Goal {
            knob: knob.clone(),
            back: saved.back.clone(),
        })
    };
    let wanted: Vec<Goal> = plan.steps.iter().filter_map(|step| goal(&step.knob)).collect();
    let kept: Vec<Goal> = plan.as_saved.iter().filter_map(goal).collect();
    let mut transaction = Transaction::begin(host, doors, &host.path(RESTORE_JOURNAL_PATH))?;
    let report = transaction.restore(&wanted, &kept, on_failure, &notify::stop_asked);
    let outcome = Outcome::of(host, doors, plan, report);
    // What could not be taken back as a whole stays in the journal, so that `recover` tries once more.
    let stays = outcome.taken_back && !outcome.unverified.is_empty();
    if !stays && let Err(error) = transaction.finish() {
        log::warn!("{error}: the next start of the agent takes this restore back");
    }
    Ok(outcome)
}
