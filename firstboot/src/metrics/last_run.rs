//! When the agent ran last in this boot, and how that ended.

use crate::atomic::{self, WriteError};
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::fs;

const PATH: &str = "/run/dtnforge/last-run.json";

/// The end of the last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// Its exit code.
    pub exit: u8,
    /// Its last word.
    pub sentence: String,
}

/// The last run of this boot, when there was one whose record can be read.
pub fn read_last_run(host: &Host) -> Option<LastRun> {
    serde_json::from_slice(&fs::read(host.path(PATH)).ok()?).ok()
}

/// Remembers the end of a run.
///
/// # Errors
/// When the record cannot be written.
pub fn write_last_run(host: &Host, run: &LastRun) -> Result<(), WriteError> {
    // Numbers and a text always become JSON.
    let text = serde_json::to_string(run).unwrap_or_default() + "\n";
    atomic::write(&host.path(PATH), text.as_bytes(), 0o644)
}
