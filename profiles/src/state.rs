//! The state of a node: what was decided, what is being tried, and what happened before.
//!
//! One file, `/etc/dtnforge/state.json`. It is written beside and renamed; the intent is on disk before the act.
//! A state that is empty, cut, foreign or newer means stock ([`parse`] says why), never a panic. A `trial` found at
//! start means that the attempt died.

use crate::digest::Digest;
use crate::plan::Plan;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Form of [`StateFile`] on disk.
pub const STATE_SCHEMA: u32 = 1;

/// Trials of one layer, interrupted ones included, before it is rejected until an admin says `retry`.
pub const MAX_ATTEMPTS: u32 = 2;

/// Entries kept in the history; the oldest go first.
pub const HISTORY_LENGTH: usize = 50;

/// All of `state.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateFile {
    /// [`STATE_SCHEMA`]; read first.
    pub schema: u32,
    /// Trials begun for each layer digest.
    pub attempts: BTreeMap<Digest, u32>,
    /// Where the node is.
    pub state: State,
    /// What happened, oldest first.
    pub history: Vec<HistoryEntry>,
    /// Boots seen, oldest first.
    pub boots: Vec<Boot>,
}

/// Where a node is. A variant holds what is true in it and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum State {
    /// No tuning, for a reason.
    Stock {
        /// Why: `role not set`, `no carrier`, `interrupted`, ...
        why: String,
    },
    /// Stock is being measured before a trial.
    Baseline {
        /// The boot in which it began.
        boot_id: String,
        /// The layer to be tried.
        layer: Digest,
        /// What was committed before, if anything.
        previous: Option<Box<Commit>>,
    },
    /// A plan is live and not committed.
    Trial {
        /// The boot in which it began.
        boot_id: String,
        /// The layer.
        layer: Digest,
        /// Name of the profile.
        profile: String,
        /// [`Plan::digest`].
        plan: Digest,
        /// What was committed before, if anything.
        previous: Option<Box<Commit>>,
    },
    /// A plan was proved and is re-activated on each boot.
    Committed(Box<Commit>),
    /// A trial ended in stock.
    Rejected(Box<Rejection>),
    /// A rollback was done and could not be verified.
    RollbackUnverified {
        /// The knobs, and what was read instead of what was expected.
        what: Vec<String>,
    },
    /// An admin told the agent to do nothing.
    Held {
        /// The state to return to.
        previous: Box<State>,
    },
}

/// A commit: all that a later boot needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// Name of the profile.
    pub profile: String,
    /// The layer that it came from.
    pub layer: Digest,
    /// The plan, with the values of this host.
    pub plan: Plan,
    /// Digest of the site's decisions that the plan followed.
    pub site: Digest,
    /// PCI address -> `vendor:device` of the NICs in the plan: all that the early unit can see of them, because
    /// no NIC driver is loaded yet when it runs.
    pub pci: BTreeMap<String, String>,
    /// Why it was kept.
    pub verdict: Verdict,
    /// The boot in which it was committed.
    pub boot_id: String,
    /// Seconds since 1970, UTC, by the host's clock (which may be wrong).
    pub at: i64,
}

/// A rejected trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// Name of the profile.
    pub profile: String,
    /// The layer that it came from.
    pub layer: Digest,
    /// Digest of the site's decisions that the trial followed: others may be tried.
    pub site: Digest,
    /// The reason, one sentence.
    pub reason: String,
    /// The numbers, when it came that far.
    pub verdict: Option<Verdict>,
    /// The boot in which it was rejected.
    pub boot_id: String,
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// What was committed before and holds again from the next boot, if anything.
    pub previous: Option<Box<Commit>>,
}

/// One line of history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// The boot.
    pub boot_id: String,
    /// Name of the state that was entered: `baseline`, `trial`, `committed`, ...
    pub entered: String,
    /// Profile, when one is involved.
    pub profile: Option<String>,
    /// Why.
    pub reason: String,
}

/// How a boot came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootKind {
    /// Through the firmware and the boot loader.
    Firmware,
    /// kexec from a running kernel.
    Kexec,
    /// systemd soft-reboot: same kernel, `/run` and sysctls kept.
    Soft,
    /// An entry that somebody picked by hand.
    Manual,
    /// From the network.
    Net,
    /// It could not be told.
    Unknown,
}

/// One boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Boot entry (`dtnforge`, `stock`), when known.
    pub entry: Option<String>,
    /// Tries left as the boot loader counted them, when the entry is counted.
    pub tries_left: Option<u32>,
    /// How it came about.
    pub kind: BootKind,
    /// Why it ended as it did, or what this boot was for.
    pub reason: Option<String>,
}

/// Why a state file is not usable. The node is stock then, and says this.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadState {
    /// No bytes.
    #[error("the state file is empty")]
    Empty,
    /// Not the form that we know.
    #[error("the state file cannot be read as schema {STATE_SCHEMA}: {0}")]
    Malformed(String),
    /// A newer program wrote it.
    #[error("the state file has schema {found}, newer than {STATE_SCHEMA}, which this version knows")]
    Newer {
        /// The number found.
        found: u64,
    },
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u64,
}

/// Reads a state file's bytes.
///
/// # Errors
/// [`BadState`]; the caller goes on as stock with that reason.
pub fn parse(bytes: &[u8]) -> Result<StateFile, BadState> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(BadState::Empty);
    }
    let malformed = |error: serde_json::Error| BadState::Malformed(error.to_string());
    let SchemaOnly { schema } = serde_json::from_slice(bytes).map_err(malformed)?;
    if schema > u64::from(STATE_SCHEMA) {
        return Err(BadState::Newer { found: schema });
    }
    serde_json::from_slice(bytes).map_err(malformed)
}

impl Default for StateFile {
    fn default() -> Self {
        Self::stock("nothing was tried yet")
    }
}

impl StateFile {
    /// A fresh state: stock, for `why`.
    pub fn stock(why: &str) -> Self {
        let state = State::Stock { why: why.to_owned() };
        Self {
            schema: STATE_SCHEMA,
            attempts: BTreeMap::new(),
            state,
            history: vec![],
            boots: vec![],
        }
    }

    /// The pretty JSON text.
    ///
    /// # Errors
    /// Never in practice: only when a value cannot be serialised.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Adds to the history, dropping the oldest entries beyond [`HISTORY_LENGTH`].
    pub fn remember(&mut self, entry: HistoryEntry) {
        self.history.push(entry);
        let surplus = self.history.len().saturating_sub(HISTORY_LENGTH);
        self.history.drain(..surplus);
    }
}

impl State {
    /// The name used in `status` and in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            State::Stock { .. } => "stock",
            State::Baseline { .. } => "baseline",
            State::Trial { .. } => "trial",
            State::Committed(_) => "committed",
            State::Rejected(_) => "rejected",
            State::RollbackUnverified { .. } => "rollback-unverified",
            State::Held { .. } => "held",
        }
    }

    /// The commit that the next boot may re-activate: the current one, or the one that a dead trial was to replace.
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            State::Committed(commit) => Some(commit),
            State::Baseline { previous, .. } | State::Trial { previous, .. } => previous.as_deref(),
            State::Rejected(rejection) => rejection.previous.as_deref(),
            State::Held { .. } | State::Stock { .. } | State::RollbackUnverified { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_cut_at_any_byte_is_an_error_and_never_a_panic() {
        let text = StateFile::stock("role not set").to_text().unwrap();
        for cut in 0..text.trim_end().len() {
            assert!(parse(&text.as_bytes()[..cut]).is_err(), "cut at {cut}");
        }
        assert_eq!(parse(text.as_bytes()).unwrap(), StateFile::stock("role not set"));
    }

    #[test]
    fn a_newer_schema_is_named() {
        assert_eq!(
            parse(br#"{"schema": 7, "new": true}"#),
            Err(BadState::Newer { found: 7 })
        );
    }

    #[test]
    fn the_history_is_bounded() {
        let mut file = StateFile::default();
        for number in 0..HISTORY_LENGTH as i64 + 5 {
            let entry = HistoryEntry {
                at: number,
                boot_id: "b".into(),
                entered: "stock".into(),
                profile: None,
                reason: "test".into(),
            };
            file.remember(entry);
        }
        assert_eq!(file.history.len(), HISTORY_LENGTH);
        assert_eq!(file.history[0].at, 5);
    }
}
