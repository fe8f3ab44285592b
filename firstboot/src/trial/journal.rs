//! The journal file: one synced line before each write and after it.
//!
//! A line that could not be written whole is cut off again, so that the next one does not run into it. When that fails
//! too, the journal takes no more lines: an apply then stops, a rollback goes on without it.

use crate::failpoint;
use dtnforge_profiles::journal::{self, Event, Record};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A journal that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("trial journal {}: {step}: {source}", path.display())]
pub struct JournalError {
    path: PathBuf,
    step: &'static str,
    source: io::Error,
}

/// An open journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    /// Bytes that are whole lines.
    length: u64,
    /// Number of the next line.
    next: u64,
    /// Set when a half line could not be cut off.
    closed: bool,
}

/// What was found in the journal of a process that died.
#[derive(Debug)]
pub(super) struct Found {
    /// The journal, ready for more lines.
    pub(super) file: JournalFile,
    /// Its whole lines, up to the first damage.
    pub(super) records: Vec<Record>,
    /// Damage other than a torn last line.
    pub(super) damage: Option<String>,
}

impl JournalFile {
    /// Makes a new journal.
    ///
    /// # Errors
    /// When there is one already (its writes must be undone first), or the file cannot be made.
    pub(super) fn create(path: &Path) -> Result<Self, JournalError> {
        let fail = |step| fail(path, step);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(fail("making its directory"))?;
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(fail("making it"))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            length: 0,
            next: 0,
            closed: false,
        })
    }

    /// Opens the journal of a process that died; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn reopen(path: &Path) -> Result<Option<Found>, JournalError> {
        let fail = |step| fail(path, step);
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail("reading it")(error)),
        };
        let (records, length, damage) = whole_lines(&bytes);
        let file = OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(fail("opening it"))?;
        let next = records.len() as u64;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            length,
            next,
            // A damaged journal is evidence and is not written to.
            closed: damage.is_some(),
        };
        if !journal.closed {
            journal.cut().map_err(fail("cutting its torn last line"))?;
        }
        Ok(Some(Found {
            file: journal,
            records,
            damage,
        }))
    }

    /// Adds a line and syncs it; returns its number.
    ///
    /// # Errors
    /// When it is not on disk; it is then not in the journal either.
    pub(super) fn append(&mut self, event: Event) -> Result<u64, JournalError> {
        let path = self.path.clone();
        let fail = |step| fail(&path, step);
        if self.closed {
            let damaged = io::Error::other("it is damaged");
            return Err(fail("adding a line")(damaged));
        }
        let seq = self.next;
        let line = Record { seq, event }
            .to_line()
            .map_err(io::Error::from)
            .map_err(fail("making a line"))?;
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.closed = self.cut().is_err();
            return Err(fail("adding a line")(error));
        }
        self.length += line.len() as u64;
        self.next += 1;
        failpoint::hit("journal");
        Ok(seq)
    }

    /// Makes it take no more lines, as after a half line that could not be cut off.
    #[cfg(test)]
    pub(super) fn close_for_test(&mut self) {
        self.closed = true;
    }

    /// Cuts the file to its whole lines.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        Ok(())
    }

    /// Removes the journal: its trial is over.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub(super) fn remove(self) -> Result<(), JournalError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(fail(&self.path, "removing it")(error))
            }
            _ => Ok(()),
        }
    }
}

fn fail(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> JournalError {
    move |source| JournalError {
        path: path.to_owned(),
        step,
        source,
    }
}

/// The records that can be trusted, the bytes that they take, and the damage after them.
fn whole_lines(bytes: &[u8]) -> (Vec<Record>, u64, Option<String>) {
    // Bytes that are no UTF-8 are damage; replaced, they do not fit the checksum of their line.
    let text = String::from_utf8_lossy(bytes);
    let (good, damage) = match journal::parse(&text) {
        Ok(_) => (text.matches('\n').count(), None),
        Err(bad) => (bad.line.saturating_sub(1), Some(bad.to_string())),
    };
    let prefix: String = text.split_inclusive('\n').take(good).collect();
    let records = journal::parse(&prefix).unwrap_or_default();
    (records, prefix.len() as u64, damage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtnforge_profiles::undo::Undo;
    use proptest::prelude::*;

    fn intent(value: &str) -> Event {
        Event::Intent {
            knob: "sysctl:vm.swappiness".parse().unwrap(),
            to: value.into(),
            undo: Undo::Write("60".into()),
        }
    }

    fn path(dir: &tempfile::TempDir) -> PathBuf {
        dir.path().join("run/dtnforge/trial.journal")
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_the_next_line_takes_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(&dir);
        let mut journal = JournalFile::create(&path).unwrap();
        journal.append(intent("10")).unwrap();
        journal.append(intent("20")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let mut found = JournalFile::reopen(&path).unwrap().unwrap();
        assert_eq!((found.records.len(), found.damage), (1, None));
        assert_eq!(found.file.append(intent("30")).unwrap(), 1);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(journal::parse(&text).unwrap().len(), 2);
    }

    #[test]
    fn damage_in_the_middle_keeps_what_is_before_it_and_the_file_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(&dir);
        let mut journal = JournalFile::create(&path).unwrap();
        for value in ["10", "20", "30"] {
            journal.append(intent(value)).unwrap();
        }
        let damaged = std::fs::read_to_string(&path).unwrap().replacen("20", "21", 1);
        std::fs::write(&path, &damaged).unwrap();
        let mut found = JournalFile::reopen(&path).unwrap().unwrap();
        assert_eq!(found.records.len(), 1);
        assert_eq!(
            found.damage.as_deref(),
            Some("trial journal, line 2: checksum does not fit")
        );
        let error = found.file.append(intent("40")).unwrap_err().to_string();
        assert!(error.ends_with("adding a line: it is damaged"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
    }

    #[test]
    fn a_second_trial_does_not_overwrite_the_journal_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(&dir);
        JournalFile::create(&path).unwrap();
        let error = JournalFile::create(&path).unwrap_err().to_string();
        assert!(error.contains("making it: File exists"), "{error}");
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_journal() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut journal = JournalFile {
            path: "/dev/full".into(),
            file,
            length: 0,
            next: 0,
            closed: false,
        };
        let error = journal.append(intent("10")).unwrap_err().to_string();
        assert!(
            error.starts_with("trial journal /dev/full: adding a line: No space left"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_records_that_parse(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (records, length, _) = whole_lines(&bytes);
            prop_assert!(records.is_empty());
            prop_assert_eq!(length, 0);
        }
    }
}
