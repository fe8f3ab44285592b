//! Where labels are kept: one file for each, `/var/lib/dtnforge/labels/LABEL.json`.
//!
//! `/var/lib` and not `/etc`: a label is a state of this machine and no setting of it. Configuration management purges
//! and versions `/etc`, nothing reads a label before `/var` is mounted, and an admin's labels may grow in number.

use crate::atomic::{self, WriteError};
use crate::host::Host;
use dtnforge_profiles::label::{self, BadSnapshot, Label, Snapshot};
use std::fs;
use std::io;

/// The directory.
pub const DIRECTORY: &str = "/var/lib/dtnforge/labels";

const SUFFIX: &str = ".json";

/// A label that could not be read, written or removed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is none of that name.
    #[error("there is no label {label}; {}", known(.all))]
    NotFound {
        /// The label.
        label: Label,
        /// Those that there are.
        all: Vec<Label>,
    },
    /// There is one already.
    #[error("there is a label {0} already\nhint: another name, or --replace")]
    Exists(Label),
    /// Its file is damaged, of a newer version or renamed.
    #[error("label {label}: {path}: {source}")]
    Bad {
        /// The label.
        label: Label,
        /// Its file.
        path: String,
        /// What is wrong.
        source: BadSnapshot,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The snapshot could not be put into JSON.
    #[error("the label cannot be written as JSON: {0}")]
    Serialise(#[from] serde_json::Error),
}

fn known(all: &[Label]) -> String {
    if all.is_empty() {
        return "none is saved\nhint: dtn-firstboot save LABEL".to_owned();
    }
    let names: Vec<&str> = all.iter().map(Label::as_str).collect();
    format!("saved are: {}", names.join(", "))
}

/// The path of a label's file.
pub fn path(label: &Label) -> String {
    format!("{DIRECTORY}/{label}{SUFFIX}")
}

/// The labels that have a file, in order. None where nothing was ever saved.
///
/// # Errors
/// When the directory is there and cannot be read.
pub fn list(host: &Host) -> Result<Vec<Label>, StoreError> {
    let failed = |source| StoreError::Io {
        path: DIRECTORY.to_owned(),
        source,
    };
    let entries = match fs::read_dir(host.path(DIRECTORY)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut labels = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        // A file that is no label's (half a write, a note of an admin) is not ours to speak of.
        let label = name
            .to_str()
            .and_then(|name| name.strip_suffix(SUFFIX)?.parse().ok());
        labels.extend(label);
    }
    labels.sort();
    Ok(labels)
}

/// Reads a label.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::Bad`] or [`StoreError::Io`].
pub fn read(host: &Host, label: &Label) -> Result<Snapshot, StoreError> {
    let path = path(label);
    match fs::read(host.path(&path)) {
        Ok(bytes) => label::parse(&bytes, label).map_err(|source| StoreError::Bad {
            label: label.clone(),
            path,
            source,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(host, label)?),
        Err(source) => Err(StoreError::Io { path, source }),
    }
}

fn not_found(host: &Host, label: &Label) -> Result<StoreError, StoreError> {
    Ok(StoreError::NotFound {
        label: label.clone(),
        all: list(host)?,
    })
}

/// Writes a label. `replace`: over one of the same name.
///
/// # Errors
/// [`StoreError::Exists`], or when it cannot be written; an older one is then unchanged.
pub fn write(host: &Host, snapshot: &Snapshot, replace: bool) -> Result<(), StoreError> {
    let path = path(&snapshot.label);
    if !replace && host.path(&path).exists() {
        return Err(StoreError::Exists(snapshot.label.clone()));
    }
    atomic::write(&host.path(&path), snapshot.to_text()?.as_bytes(), 0o644)?;
    Ok(())
}

/// Removes a label, damaged ones too.
///
/// # Errors
/// [`StoreError::NotFound`] or [`StoreError::Io`].
pub fn remove(host: &Host, label: &Label) -> Result<(), StoreError> {
    let path = path(label);
    match fs::remove_file(host.path(&path)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(host, label)?),
        Err(source) => Err(StoreError::Io { path, source }),
    }
}
