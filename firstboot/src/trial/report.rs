//! What an apply and a rollback tell their caller.

use super::journal::JournalError;
use crate::door::DoorError;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::value::Value;
use std::fmt;

/// What an apply did.
#[derive(Debug, Default)]
pub struct ApplyReport {
    /// Knobs that have their value now, in order.
    pub applied: Vec<Applied>,
    /// Knobs that had it before.
    pub already: Vec<KnobId>,
    /// NIC settings that the driver took without an error and did not change: unsupported in all but name. Nothing was
    /// changed, so nothing is wrong; they are not part of what is proved and kept.
    pub ignored: Vec<KnobId>,
    /// Modules that could not be loaded. No error by itself: a knob that needs one is refused and stops the apply.
    pub modules_failed: Vec<ModuleFailure>,
    /// Where it stopped; `None` when all steps were done. Nothing is taken back yet.
    pub stopped: Option<Stopped>,
}

/// A step that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The knob.
    pub knob: KnobId,
    /// What was to be written.
    pub wanted: Value,
    /// What was read back; differs from `wanted` where the device rounds.
    pub now: Value,
}

/// A module that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFailure {
    /// The module.
    pub module: String,
    /// What `modprobe` said.
    pub why: String,
}

/// The step at which an apply stopped.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Stopped {
    /// The knob.
    pub knob: KnobId,
    /// What happened.
    pub error: StepError,
}

/// Why a step was not done.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The door did not read or write.
    #[error("{0}")]
    Door(#[from] DoorError),
    /// Its intent could not be recorded, so nothing was written.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The driver took the value and kept the old one.
    #[error("{knob}: the driver takes {wanted:?} without an error and keeps {kept:?}")]
    Ignored {
        /// The knob.
        knob: KnobId,
        /// What was written.
        wanted: String,
        /// What it had and has.
        kept: String,
    },
    /// It was written without an error, and reads otherwise.
    #[error("{knob}: wrote {wanted:?}, and it reads {found:?}")]
    NotKept {
        /// The knob.
        knob: KnobId,
        /// What was written.
        wanted: String,
        /// What was read back.
        found: String,
    },
}

/// What a rollback did.
#[derive(Debug, Default)]
pub struct RollbackReport {
    /// Knobs that read as before, in the order in which they were taken back.
    pub undone: Vec<Undone>,
    /// Knobs that do not read as before, or cannot be read.
    pub unverified: Vec<Unverified>,
    /// Knobs whose device or file is gone, and our value with it.
    pub gone: Vec<KnobId>,
    /// Files that could not be put back.
    pub files_left: Vec<FileLeft>,
    /// What is wrong with the journal: then writes that it does not tell of may be left.
    pub journal_damage: Option<String>,
}

/// A knob that reads as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The knob.
    pub knob: KnobId,
    /// What it reads.
    pub now: Value,
}

/// A knob that could not be shown to be as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unverified {
    /// The knob.
    pub knob: KnobId,
    /// What it read before.
    pub expected: String,
    /// What it reads, or why it cannot be read.
    pub found: String,
}

/// A file that could not be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLeft {
    /// Path relative to `/run`.
    pub path: String,
    /// Why.
    pub why: String,
}

impl RollbackReport {
    /// Whether the host was read and is as before.
    pub fn verified(&self) -> bool {
        self.unverified.is_empty() && self.files_left.is_empty() && self.journal_damage.is_none()
    }

    /// What is not as before, one sentence each: for the state `rollback-unverified`.
    pub fn problems(&self) -> Vec<String> {
        let knobs = self.unverified.iter().map(ToString::to_string);
        let files = self
            .files_left
            .iter()
            .map(|file| format!("/run/{} could not be put back: {}", file.path, file.why));
        knobs.chain(files).chain(self.journal_damage.clone()).collect()
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            knob,
            expected,
            found,
        } = self;
        write!(
            f,
            "{knob}: expected {expected:?} as before the trial, found {found:?}"
        )
    }
}
