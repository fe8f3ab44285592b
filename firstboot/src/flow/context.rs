//! What one run carries along: the host, the state on disk, and the way to say what happened.

use crate::boot;
use crate::events::{self, About, MessageId};
use crate::host::Host;
use crate::notify;
use crate::store::{self, StoreError};
use dtnforge_profiles::state::{Boot, HistoryEntry, State, StateFile};
use log::Level;

/// One run of the agent.
#[derive(Debug)]
pub struct Context {
    /// The host.
    pub host: Host,
    /// The state, as on disk after the last [`Context::enter`].
    pub file: StateFile,
    /// Id of this boot.
    pub boot_id: String,
    /// The record of this boot, as the early unit made it.
    pub boot: Boot,
    /// Why the state file was not usable, when it was not.
    pub damage: Option<String>,
}

impl Context {
    /// Reads the state. This boot is noted in it on disk by the next [`Context::enter`] or [`Context::save`], when the
    /// early unit did not do so.
    pub fn open(host: Host) -> Self {
        let loaded = store::load(&host);
        let boot = boot::this(&host);
        Self {
            host,
            file: loaded.file,
            boot_id: boot.boot_id.clone(),
            boot,
            damage: loaded.damage,
        }
    }

    /// Seconds since 1970 by the host's clock.
    pub fn now() -> i64 {
        boot::now()
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
        self.change(|file| {
            file.state = state;
            file.remember(entry);
        })?;
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
    pub fn save(&mut self) -> Result<(), StoreError> {
        self.change(|_| ())
    }

    /// Changes the file on disk. The attempts are this run's; records of boots, the counter and what a boot has proved
    /// are written by other processes too, so those are taken from the disk.
    ///
    /// # Errors
    /// When it cannot be stored; the file on disk is then the old one.
    pub fn change(&mut self, edit: impl FnOnce(&mut StateFile)) -> Result<(), StoreError> {
        let (attempts, boot) = (self.file.attempts.clone(), &self.boot);
        self.file = store::change(&self.host, |file| {
            file.attempts = attempts;
            file.boot_mut(boot);
            edit(file);
        })?;
        Ok(())
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
        notify::console(&self.host, sentence);
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
