//! Taking a committed plan out of the running system for a while: a trial of stock.
//!
//! It is a [`Transaction`] like any other, the other way round. The journal holds the way back to the *committed*
//! values, all of them before the first write, and the commit's files are laid aside in the record of the trial. So
//! [`Transaction::rollback`] puts the commit in place again, and [`super::recover()`] does it for a process that died:
//! there is no moment at which a crash leaves half a commit.

use super::compare::no_value;
use super::files::FilesError;
use super::journal::JournalError;
use super::report::{RollbackReport, Undone, Unverified};
use super::transaction::{Intent, Transaction};
use crate::door::DoorError;
use dtnforge_profiles::journal::Event;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::{Plan, Reading, Step};
use dtnforge_profiles::undo::Undo;
use std::collections::BTreeMap;

/// A plan that could not be taken out. No knob was written; files that were laid aside come back by a rollback.
#[derive(Debug, thiserror::Error)]
pub enum WithdrawError {
    /// Its files could not be laid aside.
    #[error("{0}")]
    Files(#[from] FilesError),
    /// The way back could not be recorded.
    #[error("{0}")]
    Journal(#[from] JournalError),
}

impl Transaction<'_> {
    /// Lays the files of the commit aside and gives each knob of `plan` the value that it had before the commit, by
    /// `stock`: tuned first, then the last step first. Goes on after an error and reports each knob by what it reads at
    /// the end. A knob that has its old value already is not touched, so that no link goes down for nothing.
    ///
    /// # Errors
    /// [`WithdrawError`]: then no knob was written.
    pub fn withdraw(
        &mut self,
        plan: &Plan,
        stock: &BTreeMap<KnobId, Undo>,
    ) -> Result<RollbackReport, WithdrawError> {
        // Values of ours are live, a root qdisc among them: each is what this leads back to, not a leftover.
        for step in &plan.steps {
            self.take_original(&step.knob);
        }
        self.place(plan, &[])?;
        let mut steps: Vec<&Step> = plan.steps.iter().rev().collect();
        steps.sort_by_key(|step| !matches!(step.knob, KnobId::Tuned(_)));
        let mut errors = BTreeMap::new();
        for step in &steps {
            match self.originals.get(&step.knob).cloned() {
                Some(original) => self.announce(step, original)?,
                // Without a way back to the committed value nothing is written; what it reads is judged below.
                None => self.note_refusal(&step.knob, &mut errors),
            }
        }
        self.write_stock(&steps, stock, &mut errors);
        // As in a rollback: what another one disturbed, in the order in which it would be applied.
        let astray: Vec<&Step> = steps
            .iter()
            .rev()
            .filter(|step| !self.is_stock(&step.knob, stock))
            .copied()
            .collect();
        self.write_stock(&astray, stock, &mut errors);
        let mut report = RollbackReport::default();
        for step in steps {
            self.judge_stock(step, stock, errors.get(&step.knob), &mut report);
        }
        Ok(report)
    }

    /// The ways back from the values of `plan` to those before it, for a commit to keep.
    pub fn ways_back(&self, plan: &Plan) -> BTreeMap<KnobId, Undo> {
        let way = |step: &Step| Some((step.knob.clone(), self.originals.get(&step.knob)?.clone()));
        plan.steps.iter().filter_map(way).collect()
    }

    fn announce(&mut self, step: &Step, original: Undo) -> Result<(), JournalError> {
        let seq = self.journal.append(Event::Intent {
            knob: step.knob.clone(),
            to: step.from.clone(),
            undo: original,
        })?;
        self.intents.push(Intent {
            seq,
            knob: step.knob.clone(),
            group: Some(step.group),
            live: true,
        });
        Ok(())
    }

    fn note_refusal(&self, knob: &KnobId, errors: &mut BTreeMap<KnobId, DoorError>) {
        if let Err(error) = self.doors.undo_for(knob) {
            errors.insert(knob.clone(), error);
        }
    }

    fn write_stock(
        &self,
        steps: &[&Step],
        stock: &BTreeMap<KnobId, Undo>,
        errors: &mut BTreeMap<KnobId, DoorError>,
    ) {
        let announced = |step: &&&Step| self.intents.iter().any(|intent| intent.knob == step.knob);
        for step in steps.iter().filter(announced) {
            if let Some(way) = stock.get(&step.knob)
                && let Err(error) = self.doors.undo(&step.knob, way)
            {
                log::debug!("withdrawing {error}");
                errors.insert(step.knob.clone(), error);
            }
            crate::failpoint::hit("write");
        }
    }

    fn is_stock(&self, knob: &KnobId, stock: &BTreeMap<KnobId, Undo>) -> bool {
        let expected = stock.get(knob).and_then(Undo::before);
        match self.doors.read(knob) {
            Ok(Reading::Is(now)) => expected == Some(now),
            Ok(Reading::Absent) => true,
            _ => false,
        }
    }

    fn judge_stock(
        &self,
        step: &Step,
        stock: &BTreeMap<KnobId, Undo>,
        error: Option<&DoorError>,
        report: &mut RollbackReport,
    ) {
        let knob = step.knob.clone();
        let expected = stock.get(&knob).and_then(Undo::before);
        let expected = expected.unwrap_or_else(|| step.from.clone());
        let found = match self.doors.read(&knob) {
            Ok(Reading::Is(now)) if now == expected => return report.undone.push(Undone { knob, now }),
            Ok(Reading::Absent) => return report.gone.push(knob),
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
}
