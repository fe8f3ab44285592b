//! The native files of a plan under `/run`: placed so that exactly they are there, and put back as it was.
//!
//! There are two sets. *Active* is what a commit needs in this boot; the early unit places it. *Trial* is laid over it
//! while a trial runs: a file of the active set that the new plan does not have is taken away for that time. Each set
//! has a record in `/run/dtnforge` with every path and the text that was there before, written before the first file,
//! so that [`remove`] restores the earlier state whatever happened in between. A commit turns one into the other with
//! [`adopt`].

use super::report::FileLeft;
use crate::atomic;
use crate::failpoint;
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

/// Directories under `/run` that a plan may write to.
const ALLOWED: &[&str] = &["sysctl.d", "udev/rules.d", "modules-load.d", "dtnforge"];

/// Form of [`Record`].
const SCHEMA: u32 = 1;

/// Whose files they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// What a commit needs in this boot.
    Active,
    /// What a trial laid over it.
    Trial,
}

/// Files that could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A path that is not ours to write.
    #[error(
        "refusing to write /run/{path:?}: expected a file with `dtnforge` in its path under /run/sysctl.d, \
         /run/udev/rules.d, /run/modules-load.d or /run/dtnforge"
    )]
    ForeignPath {
        /// The path, relative to `/run`.
        path: String,
    },
    /// The record of placed files is damaged, so that nothing may be laid over it.
    #[error("{path}: {why}; hint: reboot, the files under /run do not survive it")]
    BadRecord {
        /// The record.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A file could not be read or written.
    #[error("/run/{path}: {why}")]
    Io {
        /// The path, relative to `/run`.
        path: String,
        /// The cause.
        why: String,
    },
}

/// What was placed, and what was there before.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    schema: u32,
    /// Text before us by path relative to `/run`; `None` when there was no file.
    before: BTreeMap<String, Option<String>>,
    /// Directories that we made, relative to `/run`, outer ones first.
    directories: Vec<String>,
}

impl Set {
    fn record_path(self) -> &'static str {
        match self {
            Set::Active => "dtnforge/files-active.json",
            Set::Trial => "dtnforge/files-trial.json",
        }
    }
}

/// Makes it so that exactly `wanted` (path relative to `/run`, text) are the files of `set`.
///
/// # Errors
/// [`FilesError`]; the record then tells what to put back.
pub fn place(host: &Host, set: Set, wanted: &[(String, String)]) -> Result<(), FilesError> {
    for (path, _) in wanted {
        check(path)?;
    }
    let wanted: BTreeMap<&str, &str> = wanted
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let active: BTreeSet<String> = match set {
        Set::Active => BTreeSet::new(),
        Set::Trial => load(host, Set::Active)?.before.into_keys().collect(),
    };
    let mut record = load(host, set)?;
    let touched = wanted.keys().map(|path| (*path).to_owned()).chain(active.clone());
    for path in touched {
        if let Entry::Vacant(new) = record.before.entry(path) {
            let before = read(host, new.key())?;
            new.insert(before);
        }
    }
    note_directories(host, &mut record);
    store(host, set, &record)?;
    for (path, before) in &record.before {
        let text = match wanted.get(path.as_str()) {
            Some(text) => Some(*text),
            // Of the commit, and not in this plan: not in force while the trial runs.
            None if active.contains(path) => None,
            None => before.as_deref(),
        };
        write(host, path, text)?;
        failpoint::hit("file");
    }
    Ok(())
}

/// Puts back what was there before `set` was placed, and removes the directories that were made and are empty. Goes on
/// after an error; returns the files that could not be put back. No record: nothing to do.
pub fn remove(host: &Host, set: Set) -> Vec<FileLeft> {
    let record = match load(host, set) {
        Ok(record) => record,
        Err(error) => {
            let path = set.record_path().to_owned();
            let why = error.to_string();
            return vec![FileLeft { path, why }];
        }
    };
    let mut left = Vec::new();
    for (path, before) in &record.before {
        if let Err(error) = write(host, path, before.as_deref()) {
            let why = error.to_string();
            left.push(FileLeft {
                path: path.clone(),
                why,
            });
        }
    }
    if left.is_empty()
        && let Err(error) = write(host, set.record_path(), None)
    {
        let path = set.record_path().to_owned();
        let why = error.to_string();
        left.push(FileLeft { path, why });
    }
    for directory in record.directories.iter().rev() {
        // Not empty means that it holds files of others by now, and then it stays.
        let _ = fs::remove_dir(run(host, directory));
    }
    left
}

/// Whether there is a record of `set`.
pub fn exists(host: &Host, set: Set) -> bool {
    run(host, set.record_path()).exists()
}

/// A trial was committed: its files are the active set from now on.
///
/// # Errors
/// [`FilesError`].
pub fn adopt(host: &Host) -> Result<(), FilesError> {
    let trial = load(host, Set::Trial)?;
    let mut active = load(host, Set::Active)?;
    for (path, before) in trial.before {
        // A file of both sets was there before us only if it was before the first of them.
        active.before.entry(path).or_insert(before);
    }
    // What the commit does not have is not on disk, and is ours no more.
    active
        .before
        .retain(|path, before| before.is_some() || run(host, path).exists());
    for directory in trial.directories {
        if !active.directories.contains(&directory) {
            active.directories.push(directory);
        }
    }
    store(host, Set::Active, &active)?;
    write(host, Set::Trial.record_path(), None)
}

/// The paths of `set`, relative to `/run`.
///
/// # Errors
/// [`FilesError`] when the record is damaged.
pub fn paths(host: &Host, set: Set) -> Result<Vec<String>, FilesError> {
    Ok(load(host, set)?.before.into_keys().collect())
}

/// Whether a path is one that we may write.
fn check(path: &str) -> Result<(), FilesError> {
    let plain = Path::new(path)
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    let allowed = ALLOWED
        .iter()
        .any(|dir| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/')));
    let records = [Set::Active.record_path(), Set::Trial.record_path()];
    if plain && allowed && path.contains("dtnforge") && !path.ends_with('/') && !records.contains(&path) {
        return Ok(());
    }
    Err(FilesError::ForeignPath {
        path: path.chars().take(200).collect(),
    })
}

/// Adds the directories that are missing now to the record, outer ones first. `/run/dtnforge` is the agent's own and
/// stays.
fn note_directories(host: &Host, record: &mut Record) {
    let mut missing = BTreeSet::new();
    for path in record.before.keys() {
        let parents = Path::new(path).ancestors().skip(1);
        let parents = parents.filter(|dir| !dir.as_os_str().is_empty());
        missing.extend(
            parents
                .filter_map(Path::to_str)
                .filter(|dir| *dir != "dtnforge" && !run(host, dir).exists())
                .map(str::to_owned),
        );
    }
    // Sorted, an outer directory stands before those in it.
    for directory in missing {
        if !record.directories.contains(&directory) {
            record.directories.push(directory);
        }
    }
}

fn run(host: &Host, path: &str) -> std::path::PathBuf {
    host.path(&format!("/run/{path}"))
}

fn failed(path: &str) -> impl Fn(io::Error) -> FilesError {
    move |error| FilesError::Io {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

/// The text of a file; `None` when there is none.
fn read(host: &Host, path: &str) -> Result<Option<String>, FilesError> {
    match fs::read_to_string(run(host, path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path)(error)),
    }
}

/// Gives a file this text, or removes it.
fn write(host: &Host, path: &str, text: Option<&str>) -> Result<(), FilesError> {
    let file = run(host, path);
    let Some(text) = text else {
        return match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
            _ => Ok(()),
        };
    };
    atomic::write(&file, text.as_bytes(), 0o644).map_err(|error| failed(path)(io::Error::other(error)))?;
    // Readable for all whatever the umask: sysctl, udev and tuned are not the only readers.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).map_err(failed(path))
}

fn load(host: &Host, set: Set) -> Result<Record, FilesError> {
    let bad = |why: String| FilesError::BadRecord {
        path: format!("/run/{}", set.record_path()),
        why,
    };
    let Some(text) = read(host, set.record_path())? else {
        return Ok(Record {
            schema: SCHEMA,
            ..Record::default()
        });
    };
    let record: Record = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if record.schema != SCHEMA {
        return Err(bad(format!(
            "schema {} where {SCHEMA} was expected",
            record.schema
        )));
    }
    // A record that names other paths than we ever write is not ours.
    for path in record.before.keys() {
        check(path)?;
    }
    Ok(record)
}

fn store(host: &Host, set: Set, record: &Record) -> Result<(), FilesError> {
    let path = set.record_path();
    let text = serde_json::to_string_pretty(record).map_err(|error| failed(path)(io::Error::other(error)))?;
    write(host, path, Some(&(text + "\n")))
}

#[cfg(test)]
mod tests;
