//! Putting a label back: what may be written now, the transaction, and what a boot makes of it afterwards.

use crate::door::Door;
use crate::host::Host;
use crate::netdev;
use crate::notify;
use crate::owner::{self, Owners};
use crate::people;
use crate::trial::files::{self, Set};
use crate::trial::{
    self, BeginError, Goal, JOURNAL_PATH, OnFailure, RESTORE_JOURNAL_PATH, RecoverError, RestoreReport,
    Transaction, WITHDRAWAL_PATH,
};
use dtnforge_profiles::audit::Setter;
use dtnforge_profiles::knob::{Disrupts, KnobDef, KnobId};
use dtnforge_profiles::label::{RestorePlan, Snapshot, restore_plan};
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::state::State;
use dtnforge_profiles::value::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// Why a label is not put back. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The node is in the middle of a trial.
    #[error("a trial is {0}\nhint: wait for its end, or take it back: dtn-firstboot recover")]
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

/// What a restore did, for an answer.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// What was planned.
    pub plan: RestorePlan,
    /// Knobs that have their saved value now, written and read back.
    pub restored: Vec<Restored>,
    /// Knobs that were refused or did not keep their value.
    pub failed: Vec<Failed>,
    /// Whether everything was taken back, because one knob failed or somebody stopped it.
    pub taken_back: bool,
    /// What could not be shown to be as before after that, one sentence each.
    pub unverified: Vec<String>,
    /// What sets a restored knob to another value at the next boot: files are not changed.
    pub at_boot: Vec<AtBoot>,
}

/// A knob that was put back.
#[derive(Debug, Serialize)]
pub struct Restored {
    /// The knob.
    pub knob: KnobId,
    /// Its device, for people.
    pub device: Option<String>,
    /// What it reads now.
    pub now: Value,
}

/// A knob that was not.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The knob.
    pub knob: KnobId,
    /// What happened.
    pub why: String,
    /// What it reads, when it is not as it was before either.
    pub left_as: Option<String>,
}

/// A file that has another value.
#[derive(Debug, Serialize)]
pub struct AtBoot {
    /// The knob.
    pub knob: KnobId,
    /// What sets it.
    pub setter: Setter,
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
        forbidden(host, knob, definition)
    })
}

/// Why a knob is not written on a running host: the link of a bond's member would go down.
fn forbidden(host: &Host, knob: &KnobId, definition: &KnobDef) -> Option<String> {
    if definition.disrupts < Disrupts::Link {
        return None;
    }
    let name = people::device_name(host, knob)?;
    let bond = netdev::bond_of(host, &name)?;
    Some(format!(
        "{name} is a member of {bond}, and this takes its link down"
    ))
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
    let outcome = outcome(host, doors, plan, report);
    // A journal that tells of values which could not be put back stays, so that `recover` tries once more.
    if outcome.unverified.is_empty()
        && let Err(error) = transaction.finish()
    {
        log::warn!("{error}");
    }
    Ok(outcome)
}

fn outcome(host: &Host, doors: &dyn Door, plan: RestorePlan, report: RestoreReport) -> Outcome {
    let values: BTreeMap<_, _> = match report.taken_back {
        Some(_) => BTreeMap::new(),
        None => report
            .restored
            .iter()
            .map(|it| (it.knob.clone(), it.now.clone()))
            .collect(),
    };
    if !values.is_empty()
        && let Err(error) = owner::write_restored(host, plan.label.as_str(), values.clone())
    {
        // Only the name of the owner is lost: an audit then says "by hand".
        log::warn!("{error}");
    }
    let left_as = report
        .failed
        .iter()
        .filter_map(|failure| Some((failure, failure.left_as.clone()?)));
    let mut unverified: Vec<String> = left_as
        .map(|(failure, now)| format!("{} is left as {now}", failure.knob))
        .collect();
    unverified.extend(report.taken_back.iter().flat_map(|back| back.problems()));
    Outcome {
        at_boot: at_boot(host, doors, &values),
        restored: values
            .into_iter()
            .map(|(knob, now)| Restored {
                device: people::device_name(host, &knob),
                knob,
                now,
            })
            .collect(),
        failed: report
            .failed
            .into_iter()
            .map(|failure| Failed {
                knob: failure.knob,
                why: failure.error.to_string(),
                left_as: failure.left_as,
            })
            .collect(),
        taken_back: report.taken_back.is_some(),
        unverified,
        plan,
    }
}

/// What sets these knobs to other values at the next boot.
fn at_boot(host: &Host, doors: &dyn Door, values: &BTreeMap<KnobId, Value>) -> Vec<AtBoot> {
    let owners = Owners::read(host, doors, None);
    let of = |(knob, now): (&KnobId, &Value)| {
        Some(AtBoot {
            knob: knob.clone(),
            setter: owners.of_others_at_boot(knob, now)?,
        })
    };
    values.iter().filter_map(of).collect()
}
