//! A trial: a plan that is live and not committed, with a way back that is on disk before each write.
//!
//! [`Transaction`] applies a plan through the [doors](crate::door), group by group if need be, and takes it back.
//! Three rules make the way back sure:
//!
//! - **The first record counts.** The way back of *all* steps is taken before the first write, because one write may
//!   change another knob: a start of tuned sets sysctls, a new number of queues makes new leaves. Each record goes to
//!   the [journal](journal) before its write, and a knob that is written again keeps its first record.
//! - **All is undone, then all is read.** [`rollback`](Transaction::rollback) puts the files back, then tuned (whose
//!   stop writes what it saw at its start), then every knob in reverse order, those included that were taken back
//!   before. Undoing is idempotent. Only then is each knob read; what is not as before is reported, not hidden.
//! - **A dead process is a crash like any other.** [`recover()`] does the same from the journal of a process that was
//!   killed; [`settle`] ends one that was killed after its commit was stored. A power cut needs nothing: journal,
//!   files and values are gone with the boot.
//!
//! [`Transaction::withdraw`] is the same the other way round: it takes a committed plan out for a while.

mod compare;
pub mod files;
pub mod journal;
mod modules;
mod recover;
mod report;
mod restore;
mod rollback;
mod transaction;
mod withdraw;

pub use compare::{Mismatch, fits, verify};
pub use recover::{RecoverError, recover, settle};
pub use report::{
    Applied, ApplyReport, FileLeft, ModuleFailure, RollbackReport, StepError, Stopped, Undone, Unverified,
};
pub use restore::{Failure, Goal, OnFailure, RestoreReport};
pub use transaction::{BeginError, Transaction};
pub use withdraw::WithdrawError;

/// Where the journal of a trial lies.
pub const JOURNAL_PATH: &str = "/run/dtnforge/trial.journal";

/// Where the journal of a restore lies: what it tells of is taken back after a crash, whatever is committed.
pub const RESTORE_JOURNAL_PATH: &str = "/run/dtnforge/restore.journal";

/// Where the journal lies while a commit is [withdrawn](Transaction::withdraw): it leads back to the commit, not to
/// stock.
pub const WITHDRAWAL_PATH: &str = "/run/dtnforge/withdrawal.journal";

#[cfg(test)]
mod tests;
