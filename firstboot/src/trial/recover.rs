//! Taking back the trial of a process that died in this boot.

use super::files::{self, FilesError, Set};
use super::journal::{Found, JournalError, JournalFile};
use super::report::RollbackReport;
use super::transaction::{Intent, Transaction};
use crate::door::Door;
use crate::host::Host;
use dtnforge_profiles::journal::Event;
use std::collections::BTreeMap;
use std::path::Path;

/// A trial of a dead process that could not even be read.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The journal cannot be read or cut, or could not be removed at the end.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The files of a commit could not be adopted.
    #[error("{0}")]
    Files(#[from] FilesError),
}

/// Ends the trial of a process that died *after* its commit was stored: the files are those of the commit, and the
/// journal has nothing to take back. To be called instead of [`recover`] when the state on disk is a commit of this
/// boot; without leftovers it does nothing. True when there were some.
///
/// # Errors
/// [`RecoverError`].
pub fn settle(host: &Host, journal_path: &Path) -> Result<bool, RecoverError> {
    let files = files::exists(host, Set::Trial);
    if files {
        files::adopt(host)?;
    }
    let Some(found) = JournalFile::reopen(journal_path)? else {
        return Ok(files);
    };
    found.file.remove()?;
    Ok(true)
}

/// Takes back what the journal at `journal_path` and the record of placed files tell of, and removes the journal when
/// the host was read and is as before. `None` when there is nothing to take back.
///
/// Each intent is undone, whether its write happened or not. A torn last line is dropped: its write had not begun.
///
/// # Errors
/// [`RecoverError`].
pub fn recover(
    host: &Host,
    doors: &dyn Door,
    journal_path: &Path,
) -> Result<Option<RollbackReport>, RecoverError> {
    let Some(found) = JournalFile::reopen(journal_path)? else {
        // A process may die after a commit or a rollback, between the journal and the record of its files.
        if !files::exists(host, Set::Trial) {
            return Ok(None);
        }
        let files_left = files::remove(host, Set::Trial);
        return Ok(Some(RollbackReport {
            files_left,
            ..RollbackReport::default()
        }));
    };
    let Found {
        file,
        records,
        damage,
    } = found;
    let mut transaction = Transaction {
        host,
        doors,
        journal: file,
        originals: BTreeMap::new(),
        intents: Vec::new(),
    };
    for record in records {
        match record.event {
            Event::Intent { knob, undo, .. } => {
                // The first record of a knob tells how it was before the trial.
                transaction.originals.entry(knob.clone()).or_insert(undo);
                transaction.intents.push(Intent {
                    seq: record.seq,
                    knob,
                    group: None,
                    live: true,
                });
            }
            Event::Undone { of, .. } => {
                for intent in transaction.intents.iter_mut().filter(|intent| intent.seq == of) {
                    intent.live = false;
                }
            }
            Event::Done { .. } => {}
        }
    }
    let mut report = transaction.rollback();
    report.journal_damage = damage;
    if report.verified() {
        transaction.finish()?;
    }
    Ok(Some(report))
}
