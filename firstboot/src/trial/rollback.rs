//! Taking a trial back, in whole or by groups, and showing that it is back.

use super::compare::no_value;
use super::files::{self, Set};
use super::report::{RollbackReport, Undone, Unverified};
use super::transaction::{Intent, Transaction};
use crate::door::DoorError;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::journal::Event;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::collections::BTreeMap;

impl Transaction<'_> {
    /// Takes everything back: files, tuned, then all knobs in reverse order. Goes on after an error and reports each
    /// knob by what it reads at the end. May be called again.
    pub fn rollback(&mut self) -> RollbackReport {
        let mut report = RollbackReport {
            files_left: files::remove(self.host, Set::Trial),
            ..RollbackReport::default()
        };
        // Knobs that were taken back before are undone again: tuned, when it stops, writes what it saw at its start,
        // which may be a value of ours.
        let mut knobs = self.touched(|_| true);
        // And those that were not reached: a step before them may have changed them as well.
        let rest = self.originals.keys().filter(|knob| !knobs.contains(knob));
        knobs.extend(rest.cloned().collect::<Vec<_>>());
        self.undo_all(knobs, &mut report);
        report
    }

    /// Takes back the knobs of some groups.
    pub fn undo_groups(&mut self, groups: &[Group]) -> RollbackReport {
        let mut report = RollbackReport::default();
        let knobs = self.touched(|intent| intent.live && intent.is_of(groups));
        self.undo_all(knobs, &mut report);
        report
    }

    /// The knobs of the intents that `wanted` takes, each once, in the order in which they are to be undone: tuned
    /// first, then the last one that was touched first.
    fn touched(&self, wanted: impl Fn(&Intent) -> bool) -> Vec<KnobId> {
        let mut knobs: Vec<KnobId> = Vec::new();
        for intent in self.intents.iter().filter(|intent| wanted(intent)) {
            if !knobs.contains(&intent.knob) {
                knobs.push(intent.knob.clone());
            }
        }
        knobs.reverse();
        knobs.sort_by_key(|knob| !matches!(knob, KnobId::Tuned(_)));
        knobs
    }

    /// Undoes each knob, then those again that another one disturbed, then reads each.
    fn undo_all(&mut self, knobs: Vec<KnobId>, report: &mut RollbackReport) {
        let mut errors = self.undo_each(&knobs);
        // A device may round a value by another one that was still ours: vmxnet3 makes 1056 of a ring of 1024 while its
        // MTU is 9000. So what is not as before is undone once more, in the order in which it would be applied.
        let astray: Vec<KnobId> = knobs
            .iter()
            .rev()
            .filter(|knob| !self.is_as_before(knob))
            .cloned()
            .collect();
        errors.extend(self.undo_each(&astray));
        for knob in knobs {
            self.judge(knob.clone(), errors.get(&knob), report);
        }
    }

    /// Undoes each knob in this order; returns the errors.
    fn undo_each(&self, knobs: &[KnobId]) -> BTreeMap<KnobId, DoorError> {
        let mut errors = BTreeMap::new();
        for knob in knobs {
            if let Some(undo) = self.originals.get(knob)
                && let Err(error) = self.doors.undo(knob, undo)
            {
                log::debug!("undo of {error}");
                errors.insert(knob.clone(), error);
            }
        }
        errors
    }

    /// Whether a knob reads as before the trial, or is gone.
    fn is_as_before(&self, knob: &KnobId) -> bool {
        let before = self.originals.get(knob).and_then(Undo::before);
        match self.doors.read(knob) {
            Ok(Reading::Is(now)) => before == Some(now),
            Ok(Reading::Absent) => true,
            _ => false,
        }
    }

    /// Reads a knob after its undo and puts it where it belongs in the report.
    fn judge(&mut self, knob: KnobId, error: Option<&DoorError>, report: &mut RollbackReport) {
        let Some(expected) = self.originals.get(&knob).and_then(Undo::before) else {
            return;
        };
        let found = match self.doors.read(&knob) {
            Ok(Reading::Is(now)) if now == expected => {
                self.record_undone(&knob, &now);
                report.undone.push(Undone { knob, now });
                return;
            }
            Ok(Reading::Absent) => {
                report.gone.push(knob);
                return;
            }
            Ok(other) => no_value(&other),
            Err(error) => error.to_string(),
        };
        let found = error.map_or(found.clone(), |error| format!("{found} ({error})"));
        report.unverified.push(Unverified {
            knob,
            expected: expected.to_string(),
            found,
        });
    }

    /// Marks the intents of a knob as taken back, in memory and in the journal.
    pub(super) fn record_undone(&mut self, knob: &KnobId, now: &Value) {
        for intent in self
            .intents
            .iter_mut()
            .filter(|intent| intent.live && intent.knob == *knob)
        {
            intent.live = false;
            let line = Event::Undone {
                of: intent.seq,
                now: now.clone(),
            };
            // The value is back, which is what counts; without its line it would be undone once more, to no effect.
            if let Err(error) = self.journal.append(line) {
                log::warn!("{error}");
            }
        }
    }
}
