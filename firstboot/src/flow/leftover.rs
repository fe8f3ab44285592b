//! What a process of this boot left behind when it died: a journal and files under `/run`.
//!
//! If it died after its commit was stored, the values are those of the commit and only the leftovers go. Else what it
//! wrote is taken back. A process that had taken a commit out to find out whether it is guilty left a journal of its
//! own, which leads back to the commit; if the commit was given up by then, stock it stays.

use super::window;
use crate::door::Doors;
use crate::host::Host;
use crate::labels::restore;
use crate::trial::{self, JOURNAL_PATH, WITHDRAWAL_PATH};
use dtnforge_profiles::state::State;

/// What was found and done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// Nothing was there.
    None,
    /// The commit had been stored; its values stay.
    Settled,
    /// A commit had been taken out, and is in place again; so many knobs were read.
    PutBack(usize),
    /// A trial was taken back; so many knobs were read and are as before.
    TakenBack(usize),
    /// A restore of a label was taken back, whatever is committed; so many knobs were read and are as before it.
    RestoreTakenBack(usize),
    /// It could not be shown that the host is as before.
    NotAsBefore(Vec<String>),
}

/// Ends what a dead process left, if it left anything. `state` is the one on disk.
pub fn end(host: &Host, state: &State, boot_id: &str) -> Leftover {
    // No window is live here, so a record of one is of no use. What its trial wrote is in the journal.
    if let Err(error) = window::record::remove(host) {
        log::warn!("{error}");
    }
    let of_restore = match restore::end_dead(host, &Doors::new(host)) {
        Ok(None) => Leftover::None,
        Ok(Some(count)) => Leftover::RestoreTakenBack(count),
        Err(error) => return Leftover::NotAsBefore(vec![error.to_string()]),
    };
    match end_trial(host, state, boot_id) {
        Leftover::None => of_restore,
        of_trial => of_trial,
    }
}

fn end_trial(host: &Host, state: &State, boot_id: &str) -> Leftover {
    if host.path(WITHDRAWAL_PATH).exists() {
        return end_withdrawal(host, state);
    }
    let journal = host.path(JOURNAL_PATH);
    if matches!(state, State::Committed(commit) if commit.boot_id == boot_id) {
        return match trial::settle(host, &journal) {
            Ok(true) => Leftover::Settled,
            Ok(false) => Leftover::None,
            Err(error) => Leftover::NotAsBefore(vec![error.to_string()]),
        };
    }
    match trial::recover(host, &Doors::new(host), &journal) {
        Ok(None) => Leftover::None,
        Ok(Some(report)) if report.verified() => Leftover::TakenBack(report.undone.len()),
        Ok(Some(report)) => Leftover::NotAsBefore(report.problems()),
        Err(error) => Leftover::NotAsBefore(vec![error.to_string()]),
    }
}

/// Puts a commit back in that was taken out, or ends its removal when the state on disk has no commit any more.
fn end_withdrawal(host: &Host, state: &State) -> Leftover {
    let journal = host.path(WITHDRAWAL_PATH);
    if state.commit().is_none() {
        return match trial::settle(host, &journal) {
            Ok(_) => Leftover::Settled,
            Err(error) => Leftover::NotAsBefore(vec![error.to_string()]),
        };
    }
    match trial::recover(host, &Doors::new(host), &journal) {
        Ok(None) => Leftover::None,
        Ok(Some(report)) if report.verified() => Leftover::PutBack(report.undone.len()),
        Ok(Some(report)) => Leftover::NotAsBefore(report.problems()),
        Err(error) => Leftover::NotAsBefore(vec![error.to_string()]),
    }
}

impl Leftover {
    /// One sentence; `None` when there was nothing.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Leftover::None => None,
            Leftover::Settled => Some(
                "a process died after it had stored what became of its trial: that stays, and the rest was \
                 cleared away"
                    .to_owned(),
            ),
            Leftover::PutBack(count) => Some(format!(
                "a process died while a commit was taken out: the commit is in place again, {count} knobs read"
            )),
            Leftover::TakenBack(count) => Some(format!(
                "a trial that died was taken back, {count} knobs read back as before"
            )),
            Leftover::RestoreTakenBack(count) => Some(format!(
                "a restore that died was taken back, {count} knobs read back as before"
            )),
            Leftover::NotAsBefore(what) => {
                Some(format!("what died could not be taken back: {}", what.join(", ")))
            }
        }
    }
}
