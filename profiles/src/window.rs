//! The window of an admin: a trial that stays live after the command that began it has ended.
//!
//! The record lies under `/run`, so that it is gone with the boot, like all that it tells of. It holds what `commit`
//! would keep, and until when somebody has to confirm. A window counts only while the state on disk says that its
//! trial is an admin's; the state says so before the first write and until the last read-back.

use crate::knob::KnobId;
use crate::state::Commit;
use crate::value::Value;
use crate::verdict::Check;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Form of [`Window`] and of [`Report`].
pub const WINDOW_SCHEMA: u32 = 1;

/// The record of a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// [`WINDOW_SCHEMA`].
    pub schema: u32,
    /// How far it came.
    pub phase: Phase,
    /// When it is taken back unless somebody confirms: seconds since the kernel started, so that no step of the clock
    /// moves it. `None`: it stays until `commit`, `rollback` or a reboot.
    pub until: Option<u64>,
    /// What `commit` keeps. Its verdict says what was checked; nothing in it was measured.
    pub commit: Commit,
}

/// How far a window came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Values are being written, by a process that holds the agent's lock.
    Applying,
    /// All values are live and were read.
    Live,
    /// It is being taken back.
    TakingBack,
}

/// A record that is not usable: its trial cannot be committed any more, and is taken back by its journal.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWindow {
    /// Not the form that we know.
    #[error("the record of the trial cannot be read: {0}")]
    Malformed(String),
    /// Another program wrote it.
    #[error("the record of the trial has schema {0}, expected {WINDOW_SCHEMA}")]
    Schema(u32),
}

impl Window {
    /// Reads a record.
    ///
    /// # Errors
    /// [`BadWindow`].
    pub fn parse(bytes: &[u8]) -> Result<Self, BadWindow> {
        let window: Self =
            serde_json::from_slice(bytes).map_err(|error| BadWindow::Malformed(error.to_string()))?;
        if window.schema != WINDOW_SCHEMA {
            return Err(BadWindow::Schema(window.schema));
        }
        Ok(window)
    }

    /// The text on disk.
    ///
    /// # Errors
    /// Never in practice: only when a value cannot be serialised.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Time to confirm, at `now` (seconds since the kernel started); `None` when nobody has to.
    pub fn left(&self, now: u64) -> Option<Duration> {
        self.until
            .map(|until| Duration::from_secs(until.saturating_sub(now)))
    }

    /// Whether the time to confirm is over at `now`.
    pub fn is_over(&self, now: u64) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

/// What `try`, `confirm`, `commit` and `rollback` answer with `--json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the state afterwards.
    pub state: String,
    /// What happened, one sentence.
    pub sentence: String,
    /// The profile that it is about.
    pub profile: Option<String>,
    /// Seconds until it is taken back unless somebody confirms; `None` when nobody has to.
    pub confirm_within_s: Option<u64>,
    /// Knobs that have their value now, with the value that was read back.
    pub applied: Vec<Live>,
    /// Knobs that were taken back, with the value that was read.
    pub undone: Vec<Live>,
    /// Knobs that do not read as they should, one sentence each.
    pub problems: Vec<String>,
    /// What the plan leaves out.
    pub skipped: Vec<crate::plan::Skipped>,
    /// The checks that ran while the values were live.
    pub checks: Vec<Check>,
    /// Sockets that stay on the old setting until their program is started again.
    pub needs_restart: Vec<OldSocket>,
}

/// A knob and what it reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// The knob.
    pub knob: KnobId,
    /// What was wanted, where the device made another value of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Value>,
    /// What it reads.
    pub now: Value,
}

/// A socket that keeps a setting that it got when it was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OldSocket {
    /// Local address and port.
    pub local: String,
    /// Its congestion control.
    pub has: String,
    /// The present default.
    pub wanted: String,
    /// Name of the program, when one could be found.
    pub program: Option<String>,
    /// Its process id.
    pub pid: Option<u32>,
    /// The systemd unit that it runs in.
    pub unit: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{self, State};

    fn commit() -> Commit {
        let text = include_str!("state/committed.json");
        match state::parse(text.as_bytes()).unwrap().state {
            State::Committed(commit) => *commit,
            other => panic!("{other:?}"),
        }
    }

    fn window(until: Option<u64>) -> Window {
        Window {
            schema: WINDOW_SCHEMA,
            phase: Phase::Live,
            until,
            commit: commit(),
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let window = window(Some(120));
        let text = window.to_text().unwrap();
        assert_eq!(Window::parse(text.as_bytes()), Ok(window));
    }

    #[test]
    fn a_record_cut_at_any_byte_or_of_another_schema_is_none() {
        let text = window(None).to_text().unwrap();
        for cut in 0..text.len() - 1 {
            assert!(Window::parse(&text.as_bytes()[..cut]).is_err(), "cut at {cut}");
        }
        let newer = text.replacen("\"schema\": 1", "\"schema\": 2", 1);
        assert_eq!(Window::parse(newer.as_bytes()), Err(BadWindow::Schema(2)));
    }

    #[test]
    fn a_window_without_a_limit_is_never_over() {
        assert!(!window(None).is_over(u64::MAX));
        let limited = window(Some(120));
        assert_eq!(limited.left(100), Some(Duration::from_secs(20)));
        assert!(!limited.is_over(119) && limited.is_over(120));
        assert_eq!(limited.left(500), Some(Duration::ZERO));
    }
}
