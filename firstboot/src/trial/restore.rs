//! Putting saved values back, with the same journal and the same rules as a trial.
//!
//! A goal is a knob with the way back that was saved for it. tuned is stopped before the knobs and started after them:
//! when it stops it writes what it saw at its start, when it starts it writes what its profile says. Then all goals are
//! read, and what tuned or another knob changed on the way is put back once more.
//!
//! A knob that is refused does not keep the others from their values: it is put back to what it was, named, and the
//! rest goes on. With [`OnFailure::TakeAllBack`] the whole restore is taken back instead.

use super::compare::{self, value_of};
use super::report::{Applied, RollbackReport, StepError};
use super::transaction::{Intent, Transaction};
use crate::door;
use crate::failpoint;
use dtnforge_profiles::journal::Event;
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use std::collections::BTreeMap;

/// A knob with the way to the value that it is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// The knob.
    pub knob: KnobId,
    /// How it gets its value.
    pub back: Undo,
}

/// What happens when a knob does not get its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It is put back, and the others go on.
    GoOn,
    /// Everything is taken back.
    TakeAllBack,
}

/// What a restore did.
#[derive(Debug, Default)]
pub struct RestoreReport {
    /// Knobs that were written and read back, in order, each once.
    pub restored: Vec<Applied>,
    /// Knobs that did not get their value.
    pub failed: Vec<Failure>,
    /// Whether somebody stopped it before its end.
    pub stopped: bool,
    /// Set when everything was taken back.
    pub taken_back: Option<RollbackReport>,
}

/// A knob that did not get its value.
#[derive(Debug)]
pub struct Failure {
    /// The knob.
    pub knob: KnobId,
    /// What happened.
    pub error: StepError,
    /// What it reads now, when it could not be put back to what it was before.
    pub left_as: Option<String>,
}

impl Transaction<'_> {
    /// Puts the goals of `wanted` back, in that order. `kept` are those that have their value: they are written only
    /// where another one disturbs them. `stop` is asked before each write; a yes takes everything back.
    pub fn restore(
        &mut self,
        wanted: &[Goal],
        kept: &[Goal],
        on_failure: OnFailure,
        stop: &dyn Fn() -> bool,
    ) -> RestoreReport {
        let all = || wanted.iter().chain(kept);
        all().for_each(|goal| self.take_original(&goal.knob));
        let at_start: BTreeMap<KnobId, Reading> = kept
            .iter()
            .filter_map(|goal| Some((goal.knob.clone(), self.doors.read(&goal.knob).ok()?)))
            .collect();
        let mut report = RestoreReport::default();
        let stops_tuned = wanted.iter().find_map(|goal| self.without_tuned(goal));
        let first: Vec<Goal> = stops_tuned.into_iter().chain(wanted.iter().cloned()).collect();
        self.carry_out_all(&first, on_failure, stop, &mut report);
        if report.taken_back.is_none() {
            let disturbed = all().filter(|goal| self.is_disturbed(goal, &report, &at_start));
            let disturbed: Vec<Goal> = disturbed.cloned().collect();
            self.carry_out_all(&disturbed, on_failure, stop, &mut report);
        }
        report
    }

    fn carry_out_all(
        &mut self,
        goals: &[Goal],
        on_failure: OnFailure,
        stop: &dyn Fn() -> bool,
        report: &mut RestoreReport,
    ) {
        for goal in goals {
            if report.has_failed(&goal.knob) {
                continue;
            }
            if stop() {
                report.stopped = true;
                report.taken_back = Some(self.rollback());
                return;
            }
            match self.carry_out(goal) {
                Ok(applied) => report.note(applied),
                Err(error) if on_failure == OnFailure::GoOn => {
                    let left_as = self.put_back(&goal.knob);
                    report.fail(goal, error, left_as);
                }
                Err(error) => {
                    report.fail(goal, error, None);
                    report.taken_back = Some(self.rollback());
                    return;
                }
            }
        }
    }

    /// Takes the way back of a knob that may have a value of ours.
    pub(super) fn take_original(&mut self, knob: &KnobId) {
        if !self.originals.contains_key(knob)
            && let Ok(undo) = door::way_back(self.doors, knob)
        {
            self.originals.insert(knob.clone(), undo);
        }
    }

    /// The first half of a change of tuned's profile: stopped, with its new state on disk.
    fn without_tuned(&self, goal: &Goal) -> Option<Goal> {
        let Undo::Tuned { profile, mode, .. } = &goal.back else {
            return None;
        };
        let runs = matches!(
            self.originals.get(&goal.knob),
            Some(Undo::Tuned { running: true, .. })
        );
        let back = Undo::Tuned {
            profile: profile.clone(),
            mode: mode.clone(),
            running: false,
        };
        runs.then(|| Goal {
            knob: goal.knob.clone(),
            back,
        })
    }

    /// Records the way back, writes one goal and reads it.
    fn carry_out(&mut self, goal: &Goal) -> Result<Applied, StepError> {
        let knob = &goal.knob;
        let undo = match self.originals.get(knob) {
            Some(undo) => undo.clone(),
            None => door::way_back(self.doors, knob)?,
        };
        let found = value_of(knob, self.doors.read(knob)?)?;
        let wanted = goal.back.before().unwrap_or_else(|| found.clone());
        let seq = self.journal.append(Event::Intent {
            knob: knob.clone(),
            to: wanted.clone(),
            undo: undo.clone(),
        })?;
        self.originals.entry(knob.clone()).or_insert(undo);
        self.intents.push(Intent {
            seq,
            knob: knob.clone(),
            group: definition_of(knob).map(|definition| definition.group),
            live: true,
        });
        log::debug!("{knob}: {found} -> {wanted}");
        self.doors.undo(knob, &goal.back)?;
        failpoint::hit("write");
        let now = value_of(knob, self.doors.read(knob)?)?;
        if !compare::fits(knob, &found, &wanted, &now) || !self.twin_is_met(goal) {
            return Err(StepError::NotKept {
                knob: knob.clone(),
                wanted: wanted.to_string(),
                found: now.to_string(),
            });
        }
        self.journal.append(Event::Done {
            of: seq,
            now: now.clone(),
        })?;
        Ok(Applied {
            knob: knob.clone(),
            wanted,
            now,
        })
    }

    fn twin_is_met(&self, goal: &Goal) -> bool {
        match &goal.back {
            Undo::WriteTwin { twin, value, .. } => self
                .doors
                .read(twin)
                .is_ok_and(|reading| reading == Reading::Is(value.clone())),
            _ => true,
        }
    }

    /// Whether a knob lost the value that it had, or was given, to a later write.
    fn is_disturbed(
        &self,
        goal: &Goal,
        report: &RestoreReport,
        at_start: &BTreeMap<KnobId, Reading>,
    ) -> bool {
        let given = report.restored.iter().find(|applied| applied.knob == goal.knob);
        let expected = given.map(|applied| Reading::Is(applied.now.clone()));
        let expected = expected.as_ref().or_else(|| at_start.get(&goal.knob));
        self.doors.read(&goal.knob).ok().as_ref() != expected || !self.twin_is_met(goal)
    }

    /// Puts one knob back to what it was before the restore; what it reads when that did not work.
    fn put_back(&mut self, knob: &KnobId) -> Option<String> {
        let original = self.originals.get(knob)?.clone();
        if let Err(error) = self.doors.undo(knob, &original) {
            log::warn!("undo of {error}");
        }
        match self.doors.read(knob) {
            Ok(Reading::Is(now)) if original.before().as_ref() == Some(&now) => {
                self.record_undone(knob, &now);
                None
            }
            Ok(reading) => Some(compare::no_value(&reading)),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl RestoreReport {
    fn has_failed(&self, knob: &KnobId) -> bool {
        self.failed.iter().any(|failure| failure.knob == *knob)
    }

    /// Takes the last writing of a knob for the one that counts.
    fn note(&mut self, applied: Applied) {
        self.restored.retain(|earlier| earlier.knob != applied.knob);
        self.restored.push(applied);
    }

    fn fail(&mut self, goal: &Goal, error: StepError, left_as: Option<String>) {
        self.restored.retain(|applied| applied.knob != goal.knob);
        self.failed.push(Failure {
            knob: goal.knob.clone(),
            error,
            left_as,
        });
    }
}
