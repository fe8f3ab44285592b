//! Applying a plan, step by step, with the way back recorded before each write.

use super::files::{self, FilesError, Set};
use super::journal::{JournalError, JournalFile};
use super::report::{Applied, ApplyReport, StepError, Stopped};
use super::{compare, modules, verify};
use crate::door::Door;
use crate::failpoint;
use crate::host::Host;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::journal::Event;
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::plan::{Plan, Step};
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A trial in progress.
pub struct Transaction<'a> {
    pub(super) host: &'a Host,
    pub(super) doors: &'a dyn Door,
    pub(super) journal: JournalFile,
    /// The way back of each knob as it was before the trial; taken for a whole plan before its first write.
    pub(super) originals: BTreeMap<KnobId, Undo>,
    /// The writes that were begun, in order.
    pub(super) intents: Vec<Intent>,
}

/// A write that was begun.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) seq: u64,
    pub(super) knob: KnobId,
    pub(super) group: Option<Group>,
    /// Whether it was not taken back yet.
    pub(super) live: bool,
}

/// A trial that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The journal could not be made, or there is one of an earlier trial.
    #[error("{0}; hint: a journal that exists belongs to a trial that was not ended, recover it first")]
    Journal(#[from] JournalError),
}

impl<'a> Transaction<'a> {
    /// Begins a trial with a new journal at `journal_path` (normally [`super::JOURNAL_PATH`]).
    ///
    /// # Errors
    /// [`BeginError`].
    pub fn begin(host: &'a Host, doors: &'a dyn Door, journal_path: &Path) -> Result<Self, BeginError> {
        Ok(Self {
            host,
            doors,
            journal: JournalFile::create(journal_path)?,
            originals: BTreeMap::new(),
            intents: Vec::new(),
        })
    }

    /// Places the rendered files of a plan under `/run`; the rollback puts back what was there. Takes the way back of
    /// the plan's knobs first, because tuned's own state is among the files.
    ///
    /// # Errors
    /// [`FilesError`]; what was placed until then is put back by a rollback.
    pub fn place(&mut self, plan: &Plan, rendered: &[(String, String)]) -> Result<(), FilesError> {
        self.take_originals(plan);
        files::place(self.host, Set::Trial, rendered)
    }

    /// Applies all steps of a plan. Stops at the first that fails and takes nothing back by itself.
    pub fn apply(&mut self, plan: &Plan) -> ApplyReport {
        self.apply_groups(plan, &Group::ALL)
    }

    /// Applies the steps of some groups, in the order of the plan.
    pub fn apply_groups(&mut self, plan: &Plan, groups: &[Group]) -> ApplyReport {
        self.take_originals(plan);
        let mut report = ApplyReport {
            modules_failed: modules::load(self.host, &plan.modules),
            ..ApplyReport::default()
        };
        for step in plan.steps.iter().filter(|step| groups.contains(&step.group)) {
            match self.apply_step(step) {
                Ok(Some(applied)) => report.applied.push(applied),
                Ok(None) => report.already.push(step.knob.clone()),
                Err(error @ StepError::Ignored { .. }) => {
                    log::info!("{error}");
                    report.ignored.push(step.knob.clone());
                }
                Err(error) => {
                    let knob = step.knob.clone();
                    report.stopped = Some(Stopped { knob, error });
                    break;
                }
            }
        }
        report
    }

    /// Reads every knob of the plan and returns those that do not have their value.
    pub fn verify(&self, plan: &Plan) -> Vec<compare::Mismatch> {
        verify(self.doors, plan)
    }

    /// Ends a trial that was committed or rolled back: removes its journal. After a commit the placed files are kept
    /// with [`files::adopt`], before this.
    ///
    /// # Errors
    /// When the journal cannot be removed.
    pub fn finish(self) -> Result<(), JournalError> {
        self.journal.remove()
    }

    /// Takes the way back of each knob that has none yet. A knob whose way back cannot be taken stops its own step.
    fn take_originals(&mut self, plan: &Plan) {
        for step in &plan.steps {
            if !self.originals.contains_key(&step.knob)
                && let Ok(undo) = self.doors.undo_for(&step.knob)
            {
                self.originals.insert(step.knob.clone(), undo);
            }
        }
    }

    /// Does one step; `None` when the knob has its value and had it before the trial.
    fn apply_step(&mut self, step: &Step) -> Result<Option<Applied>, StepError> {
        let knob = &step.knob;
        let undo = match self.originals.get(knob) {
            Some(undo) => undo.clone(),
            None => self.doors.undo_for(knob)?,
        };
        let before = undo.before().unwrap_or_else(|| step.from.clone());
        let found = compare::value_of(knob, self.doors.read(knob)?)?;
        if found == step.to && before == step.to {
            return Ok(None);
        }
        let seq = self.journal.append(Event::Intent {
            knob: knob.clone(),
            to: step.to.clone(),
            undo: undo.clone(),
        })?;
        self.originals.entry(knob.clone()).or_insert(undo);
        self.intents.push(Intent {
            seq,
            knob: knob.clone(),
            group: Some(step.group),
            live: true,
        });
        let now = self.write_and_read(step, found, &before)?;
        self.journal.append(Event::Done {
            of: seq,
            now: now.clone(),
        })?;
        Ok(Some(Applied {
            knob: knob.clone(),
            wanted: step.to.clone(),
            now,
        }))
    }

    /// Writes a step unless the knob has the value by the side effect of another, and reads it back.
    fn write_and_read(&self, step: &Step, found: Value, before: &Value) -> Result<Value, StepError> {
        if found == step.to {
            return Ok(found);
        }
        log::debug!("{}: {} -> {}", step.knob, found, step.to);
        self.doors.write(&step.knob, &step.to)?;
        failpoint::hit("write");
        let now = compare::value_of(&step.knob, self.doors.read(&step.knob)?)?;
        if compare::fits(&step.knob, before, &step.to, &now) {
            return Ok(now);
        }
        if now == *before && matches!(step.knob, KnobId::Nic(..)) {
            return Err(StepError::Ignored {
                knob: step.knob.clone(),
                wanted: step.to.to_string(),
                kept: now.to_string(),
            });
        }
        Err(StepError::NotKept {
            knob: step.knob.clone(),
            wanted: step.to.to_string(),
            found: now.to_string(),
        })
    }
}

impl Intent {
    /// Whether the knob belongs to one of `groups`.
    pub(super) fn is_of(&self, groups: &[Group]) -> bool {
        let by_registry = || definition_of(&self.knob).map(|definition| definition.group);
        self.group
            .or_else(by_registry)
            .is_some_and(|group| groups.contains(&group))
    }
}
