//! The state of a node: what was decided, what is being tried, and what happened before.
//!
//! One file, `/etc/dtnforge/state.json`. It is written beside and renamed; the intent is on disk before the act.
//! A state that is empty, cut, foreign or newer means stock ([`parse`] says why), never a panic. A `trial` found at
//! start means that the attempt died.

mod boot;
mod commit;
mod file;
mod history;
#[cfg(test)]
mod tests;

pub use boot::{Boot, BootEnd, BootKind, Reached};
pub use commit::{Commit, Rejection};
pub use file::{BadState, HISTORY_LENGTH, STATE_SCHEMA, StateFile, parse};
pub use history::{Armed, Counting, HistoryEntry};

use crate::digest::Digest;
use crate::fallback::Fallback;
use serde::{Deserialize, Serialize};

/// Trials of one layer, interrupted ones included, before it is rejected until an admin says `retry`.
pub const MAX_ATTEMPTS: u32 = 2;

/// Where a node is. A variant holds what is true in it and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum State {
    /// No tuning, for a reason.
    Stock {
        /// Why: `role not set`, `no carrier`, `interrupted`, ...
        why: String,
    },
    /// Stock is being measured before a trial.
    Baseline {
        /// The boot in which it began.
        boot_id: String,
        /// The layer to be tried.
        layer: Digest,
        /// What was committed before, if anything.
        previous: Option<Box<Commit>>,
    },
    /// A plan is live and not committed.
    Trial {
        /// The boot in which it began.
        boot_id: String,
        /// The layer.
        layer: Digest,
        /// Name of the profile.
        profile: String,
        /// [`Plan::digest`](crate::plan::Plan::digest).
        plan: Digest,
        /// What was committed before, if anything.
        previous: Option<Box<Commit>>,
        /// Set for a trial that an admin began: the state to return to. Such a trial outlives its process, as long as
        /// its [window](crate::window) is there, and is not counted as an attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        former: Option<Box<State>>,
    },
    /// A plan was proved and is re-activated on each boot.
    Committed(Box<Commit>),
    /// A trial ended in stock.
    Rejected(Box<Rejection>),
    /// A rollback was done and could not be verified.
    RollbackUnverified {
        /// The knobs, and what was read instead of what was expected.
        what: Vec<String>,
    },
    /// The boot loader gave the tuned entry up. Nothing is put in place until `retry`.
    Fallback(Box<Fallback>),
    /// An admin told the agent to do nothing.
    Held {
        /// The state to return to.
        previous: Box<State>,
    },
}

impl State {
    /// The name used in `status` and in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            State::Stock { .. } => "stock",
            State::Baseline { .. } => "baseline",
            State::Trial { .. } => "trial",
            State::Committed(_) => "committed",
            State::Rejected(_) => "rejected",
            State::RollbackUnverified { .. } => "rollback-unverified",
            State::Fallback(_) => "fallback",
            State::Held { .. } => "held",
        }
    }

    /// The commit that the next boot may re-activate: the current one, or the one that a dead trial was to replace.
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            State::Committed(commit) => Some(commit),
            State::Baseline { previous, .. } | State::Trial { previous, .. } => previous.as_deref(),
            State::Rejected(rejection) => rejection.previous.as_deref(),
            State::Held { .. }
            | State::Stock { .. }
            | State::Fallback(_)
            | State::RollbackUnverified { .. } => None,
        }
    }

    /// [`State::commit`], to be changed.
    pub fn commit_mut(&mut self) -> Option<&mut Commit> {
        match self {
            State::Committed(commit) => Some(commit),
            State::Baseline { previous, .. } | State::Trial { previous, .. } => previous.as_deref_mut(),
            State::Rejected(rejection) => rejection.previous.as_deref_mut(),
            State::Held { .. }
            | State::Stock { .. }
            | State::Fallback(_)
            | State::RollbackUnverified { .. } => None,
        }
    }

    /// `Baseline` or `Trial` found by another run or boot means that the attempt did not end: with a former commit the
    /// node is committed again, without one it is stock. After the trial of an admin it is what it was before. Returns
    /// why, when that was so.
    pub fn conclude_dead_attempt(&mut self) -> Option<String> {
        if let State::Trial {
            boot_id,
            former: Some(former),
            ..
        } = self
        {
            let why =
                format!("the trial that an admin began in boot {boot_id} was not committed, and is over");
            *self = State::clone(former);
            return Some(why);
        }
        let (stage, boot_id, previous) = match self {
            State::Baseline {
                boot_id, previous, ..
            } => ("baseline", boot_id.clone(), previous.take()),
            State::Trial {
                boot_id, previous, ..
            } => ("trial", boot_id.clone(), previous.take()),
            _ => return None,
        };
        let why = format!(
            "interrupted: the {stage} begun in boot {boot_id} did not end (power cut, crash or kill)"
        );
        *self = match previous {
            Some(commit) => State::Committed(commit),
            None => State::Stock { why: why.clone() },
        };
        Some(why)
    }
}
