//! The output of a stage: a directory, with the digests that were taken when it was made.

use super::StageError;
use super::outputs::Artefact;
use crate::digest;
use crate::fsx::{self, FileError};
use dtnforge_profiles::digest::Digest;
use std::path::{Path, PathBuf};

/// Names in every output: what its programs said, and the digests of its files.
pub(super) const LOG: &str = "log";
pub(super) const DIGESTS: &str = "digests.json";

/// Where a stage works.
#[derive(Debug)]
pub struct Work<'a> {
    /// The directory that becomes its output.
    pub directory: &'a Path,
    /// The log of its programs; stays with the output.
    pub log: PathBuf,
}

impl Work<'_> {
    /// A path in the output.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// The output of a stage.
#[derive(Debug, Clone)]
pub struct Made {
    /// Which stage.
    pub stage: &'static str,
    /// Digest of its inputs.
    pub key: Digest,
    pub(super) directory: PathBuf,
}

impl Made {
    /// A path in the output.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The file `name` of the output with the digest that was taken when it was made.
    ///
    /// # Errors
    /// There is no such file.
    pub fn file(&self, name: &str) -> Result<Artefact, StageError> {
        let files: Vec<Artefact> = serde_json::from_slice(&fsx::read(&self.path(DIGESTS))?)
            .map_err(|error| StageError::Wrong(format!("{}: {error}", self.path(DIGESTS).display())))?;
        let missing = || StageError::Wrong(format!("stage `{}` has made no file {name}", self.stage));
        files
            .into_iter()
            .find(|file| file.path == name)
            .ok_or_else(missing)
    }
}

/// Takes the digests of the files in an output, not of those in directories below.
pub(super) fn take_digests(directory: &Path) -> Result<(), FileError> {
    let mut files = Vec::new();
    for path in fsx::list(directory)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_file() && name != LOG {
            let size = std::fs::metadata(&path)
                .map_err(|source| FileError::new("look at", &path, source))?
                .len();
            files.push(Artefact {
                sha256: digest::of_file(&path)?,
                path: name,
                size,
            });
        }
    }
    fsx::write_json(&directory.join(DIGESTS), &files)
}
