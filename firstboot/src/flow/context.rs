//! What one run carries along: the host, the state on disk, and the way to say what happened.

use crate::boot;
use crate::events::{self, About, MessageId};
use crate::host::Host;
use crate::store::{self, StoreError};
use dtnforge_profiles::state::{HistoryEntry, State, StateFile};
use log::Level;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// One run of the agent.
#[derive(Debug)]
pub struct Context {
    /// The host.
    pub host: Host,
    /// The state, as on disk after the last [`Context::enter`].
    pub file: StateFile,
    /// This boot.
    pub boot_id: String,
    /// Why the state file was not usable, when it was not.
    pub damage: Option<String>,
}

impl Context {
    /// Reads the state and notes this boot in it (on disk from the next [`Context::enter`] or [`Context::save`]).
    pub fn open(host: Host) -> Self {
        let loaded = store::load(&host);
        let boot = boot::record(&host);
        let mut file = loaded.file;
        let boot_id = boot.boot_id.clone();
        if file.boots.last().is_none_or(|last| last.boot_id != boot_id) {
            file.boots.push(boot);
            let surplus = file
                .boots
                .len()
                .saturating_sub(dtnforge_profiles::state::HISTORY_LENGTH);
            file.boots.drain(..surplus);
        }
        Self {
            host,
            file,
            boot_id,
            damage: loaded.damage,
        }
    }

    /// Seconds since 1970 by the host's clock.
    pub fn now() -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    /// Enters `state`: on disk first, then in the journal. The intent is on disk before the act.
    ///
    /// # Errors
    /// When the state cannot be stored; the state on disk is then the old one.
    pub fn enter(&mut self, state: State, reason: &str) -> Result<(), StoreError> {
        let profile = profile_of(&state);
        let entry = HistoryEntry {
            at: Self::now(),
            boot_id: self.boot_id.clone(),
            entered: state.name().to_owned(),
            profile: profile.clone(),
            reason: reason.to_owned(),
        };
        let mut next = self.file.clone();
        next.state = state;
        next.remember(entry);
        store::save(&self.host, &next)?;
        self.file = next;
        self.tell(
            Level::Info,
            events::STATE_ENTERED,
            profile.as_deref().unwrap_or(""),
            reason,
        );
        Ok(())
    }

    /// Stores what changed beside the state itself: boots, attempts.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn save(&self) -> Result<(), StoreError> {
        store::save(&self.host, &self.file)
    }

    /// Says `reason` with the fields of this run.
    pub fn tell(&self, level: Level, id: MessageId, profile: &str, reason: &str) {
        let state = self.file.state.name();
        let about = About {
            profile,
            state,
            reason,
            boot_id: &self.boot_id,
        };
        let of = if profile.is_empty() {
            String::new()
        } else {
            format!(" {profile}")
        };
        events::tell(level, id, about, &format!("{state}{of}: {reason}"));
    }

    /// The last word of a run, for whoever looks at the serial console.
    pub fn console(&self, sentence: &str) {
        let console = std::fs::OpenOptions::new()
            .append(true)
            .open(self.host.path("/dev/console"));
        if let Ok(mut console) = console {
            // A machine without a console loses nothing: the journal has the same sentence.
            let _ = writeln!(console, "dtn-firstboot: {sentence}\r");
        }
    }
}

fn profile_of(state: &State) -> Option<String> {
    match state {
        State::Committed(commit) => Some(commit.profile.clone()),
        State::Rejected(rejection) => Some(rejection.profile.clone()),
        State::Trial { profile, .. } => Some(profile.clone()),
        _ => None,
    }
}
