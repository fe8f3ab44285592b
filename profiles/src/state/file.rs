//! The state file as a whole, and how its bytes are read.

use super::{Boot, Counting, HistoryEntry, Reached, State};
use crate::digest::Digest;
use crate::fallback::{Conclusion, Fallback};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Form of [`StateFile`] on disk.
pub const STATE_SCHEMA: u32 = 1;

/// Entries kept in the history, and boots kept; the oldest go first.
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
    /// What this node did to the boot counter.
    #[serde(default)]
    pub counting: Counting,
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
            counting: Counting::default(),
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

    /// The record of the boot with this id: the last one, since a soft-reboot keeps the id.
    pub fn boot(&self, boot_id: &str) -> Option<&Boot> {
        self.boots.iter().rev().find(|boot| boot.boot_id == boot_id)
    }

    /// The id of the boot that was recorded with this stamp of the boot loader.
    pub fn boot_with_stamp(&self, stamp: &str) -> Option<&str> {
        let same = |boot: &&Boot| boot.stamp.as_deref() == Some(stamp);
        self.boots
            .iter()
            .rev()
            .find(same)
            .map(|boot| boot.boot_id.as_str())
    }

    /// The record of `boot`, which is added when there is none: the early unit did not run, or could not store it.
    pub fn boot_mut(&mut self, boot: &Boot) -> &mut Boot {
        let exact = self.boots.iter().rposition(|known| is_same(known, boot));
        let known = exact.or_else(|| self.boots.iter().rposition(|known| known.boot_id == boot.boot_id));
        let index = known.unwrap_or_else(|| {
            self.add_boot(boot.clone());
            self.boots.len() - 1
        });
        &mut self.boots[index]
    }

    /// Adds the record of a boot unless it is there, dropping the oldest ones beyond [`HISTORY_LENGTH`].
    pub fn add_boot(&mut self, boot: Boot) {
        if self.boots.iter().any(|known| is_same(known, &boot)) {
            return;
        }
        self.boots.push(boot);
        let surplus = self.boots.len().saturating_sub(HISTORY_LENGTH);
        self.boots.drain(..surplus);
    }

    /// The boots recorded after the counter was armed; all of them when nobody knows when that was.
    pub fn boots_since_arming(&self) -> &[Boot] {
        let armed_in = self.counting.armed.as_ref().map(|armed| &armed.boot_id);
        let at = self
            .boots
            .iter()
            .rposition(|boot| Some(&boot.boot_id) == armed_in);
        &self.boots[at.map_or(0, |index| index + 1)..]
    }

    /// Notes that `boot` was judged good. A counted one proves the commit that the early unit put in place in it, and
    /// a node that tried again by itself after a fallback may do so again some day.
    pub fn judged_good(&mut self, boot: &Boot) {
        let record = self.boot_mut(boot);
        record.reached = Reached::Good;
        let record = record.clone();
        if !record.is_counted() {
            return;
        }
        self.counting.retried = 0;
        if let Some(commit) = self.state.commit_mut()
            && record.active
            && commit.boot_id != record.boot_id
        {
            commit.proved_in_boot.get_or_insert(record.boot_id);
        }
    }

    /// Enters the fallback for what was concluded in boot `boot_id` at `at`. An attempt that was under way is dead, a
    /// hold stays, and the state before stays known; concluding anew in the same boot replaces the conclusion.
    pub fn fall_back(&mut self, conclusion: Conclusion, boot_id: &str, at: i64) {
        self.state.conclude_dead_attempt();
        let placeholder = State::Stock { why: String::new() };
        let state = std::mem::replace(&mut self.state, placeholder);
        self.state = fallen_back(state, conclusion, boot_id, at);
    }
}

/// A soft-reboot keeps the boot id, so the time belongs to the identity of a record.
fn is_same(known: &Boot, boot: &Boot) -> bool {
    known.boot_id == boot.boot_id && known.at == boot.at
}

fn fallen_back(state: State, conclusion: Conclusion, boot_id: &str, at: i64) -> State {
    let former = match state {
        State::Held { previous } => {
            let previous = Box::new(fallen_back(*previous, conclusion, boot_id, at));
            return State::Held { previous };
        }
        State::Fallback(old) => old.former,
        other => Box::new(other),
    };
    let Conclusion { cause, reason } = conclusion;
    State::Fallback(Box::new(Fallback {
        cause,
        reason,
        boot_id: boot_id.to_owned(),
        at,
        former,
    }))
}
