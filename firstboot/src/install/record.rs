//! What was placed on a host: `/etc/dtnforge/installed.json`.

use crate::atomic::{self, WriteError};
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;

/// Where the record lies.
pub(super) const PATH: &str = "/etc/dtnforge/installed.json";
const SCHEMA: u32 = 1;

/// Files, links and directories that are ours to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    schema: u32,
    /// Absolute paths of files and links.
    pub files: BTreeSet<String>,
    /// Absolute paths of directories that were not there before; an outer one stands before those in it.
    pub directories: BTreeSet<String>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            files: BTreeSet::new(),
            directories: BTreeSet::new(),
        }
    }
}

/// A record that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{PATH}: {0}\nhint: what it lists has to be removed by hand, and then the file itself")]
pub struct BadRecord(String);

impl Record {
    /// The record of `host`; `None` when nothing was installed.
    ///
    /// # Errors
    /// When it cannot be read, or another version wrote it.
    pub fn load(host: &Host) -> Result<Option<Self>, BadRecord> {
        let text = match fs::read_to_string(host.path(PATH)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BadRecord(error.to_string())),
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| BadRecord(error.to_string()))?;
        if record.schema != SCHEMA {
            let other = record.schema;
            return Err(BadRecord(format!(
                "schema {other}, and this version knows {SCHEMA}"
            )));
        }
        Ok(Some(record))
    }

    pub(super) fn store(&self, host: &Host) -> Result<(), WriteError> {
        // Lists of texts are always JSON.
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        atomic::write(&host.path(PATH), text.as_bytes(), 0o644)
    }

    /// Notes a file, and the directories above it that are missing now.
    pub(super) fn note(&mut self, host: &Host, path: &str) {
        self.files.insert(path.to_owned());
        let mut above = path;
        while let Some((directory, _)) = above
            .rsplit_once('/')
            .filter(|(directory, _)| !directory.is_empty())
        {
            if !host.path(directory).exists() {
                self.directories.insert(directory.to_owned());
            }
            above = directory;
        }
    }
}
