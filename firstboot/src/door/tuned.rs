//! The active tuned profile.
//!
//! tuned keeps its choice in two files, `/etc/tuned/active_profile` and `profile_mode`, and applies it while its daemon
//! runs. A choice of ours dies with the boot: [`choice`] says how. A profile counts as active when the unit runs and the file names it: tuned writes
//! the file itself once a profile is applied. After a start of ours `tuned-adm active` has to confirm it.
//!
//! Stopping the daemon restores what it saw when it started. So the way back is: stop, put the two files back, and
//! start again only if it ran before.

mod choice;

use super::{Door, DoorError, attribute};
use crate::host::{CommandError, Host};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::{NO_TUNED_PROFILE, Undo};
use dtnforge_profiles::value::Value;
use std::io;
use std::time::{Duration, Instant};

const UNIT: &str = "tuned.service";
const ACTIVE_PROFILE: &str = "/etc/tuned/active_profile";
const PROFILE_MODE: &str = "/etc/tuned/profile_mode";

/// Time for a start, a stop or a restart of the daemon: 25 s in emulation, one or two on hardware.
const PATIENCE: Duration = Duration::from_secs(180);

/// Time for a question.
const QUESTION: Duration = Duration::from_secs(60);

/// The door to tuned.
#[derive(Debug)]
pub struct TunedDoor {
    host: Host,
    patience: Duration,
}

/// What systemd says about the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Daemon {
    NotInstalled,
    Stopped,
    Running,
}

impl TunedDoor {
    /// The door of `host`.
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            patience: PATIENCE,
        }
    }

    fn check(knob: &KnobId) -> Result<(), DoorError> {
        match knob {
            KnobId::Tuned(key) if key == "profile" => Ok(()),
            _ => Err(DoorError::wrong_door(knob)),
        }
    }

    fn systemctl(&self, knob: &KnobId, verb: &str) -> Result<(), DoorError> {
        self.host
            .run("systemctl", &[verb, UNIT], self.patience)
            .map(drop)
            .map_err(|source| command_error(knob, source))
    }

    fn daemon(&self, knob: &KnobId) -> Result<Daemon, DoorError> {
        let args = ["show", "--property=LoadState,ActiveState", UNIT];
        match self.host.run("systemctl", &args, QUESTION) {
            Ok(text) => Ok(parse_daemon(&text)),
            // A host without systemd has no tuned that we could start.
            Err(CommandError::Start { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Daemon::NotInstalled)
            }
            Err(source) => Err(command_error(knob, source)),
        }
    }

    /// The trimmed text of a state file; `None` when it is missing or empty.
    fn state(&self, knob: &KnobId, path: &str) -> Result<Option<String>, DoorError> {
        choice::read(&self.host, path).map_err(|error| attribute::io_error(knob, error))
    }

    /// Writes a state file, or removes it.
    fn set_state(&self, knob: &KnobId, path: &str, text: Option<&str>) -> Result<(), DoorError> {
        choice::write(&self.host, path, text).map_err(|error| attribute::io_error(knob, error))
    }

    /// Starts or restarts the daemon and waits until it says that `profile` is active.
    fn activate(&self, knob: &KnobId, verb: &str, profile: &str) -> Result<(), DoorError> {
        self.systemctl(knob, verb)?;
        let deadline = Instant::now() + self.patience;
        loop {
            // A unit whose condition fails is "started" with success and does not run.
            if self.daemon(knob)? != Daemon::Running {
                let why = format!(
                    "{UNIT} did not stay up; hint: see `systemctl status {UNIT}`, and its \
                     ConditionPathExists= for {ACTIVE_PROFILE}"
                );
                return Err(attribute::io_error(knob, io::Error::other(why)));
            }
            let said = self.active_by_daemon();
            if said.as_deref() == Some(profile) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let said = said.unwrap_or_else(|| "nothing".to_owned());
                let seconds = self.patience.as_secs();
                let why = format!(
                    "tuned did not activate {profile} within {seconds} s (it says {said:?}); hint: see \
                     /var/log/tuned/tuned.log"
                );
                return Err(attribute::io_error(
                    knob,
                    io::Error::new(io::ErrorKind::TimedOut, why),
                ));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// What `tuned-adm active` answers; `None` when no profile is active or it has no answer yet.
    fn active_by_daemon(&self) -> Option<String> {
        match self.host.run("tuned-adm", &["active"], QUESTION) {
            Ok(text) => parse_active(&text),
            Err(error) => {
                log::debug!("tuned-adm: {error}");
                None
            }
        }
    }
}

/// Reads the answer of `systemctl show --property=LoadState,ActiveState`.
fn parse_daemon(text: &str) -> Daemon {
    let value = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
    };
    match (value("LoadState"), value("ActiveState")) {
        ("loaded", "active" | "reloading" | "activating") => Daemon::Running,
        ("loaded", _) => Daemon::Stopped,
        _ => Daemon::NotInstalled,
    }
}

/// Reads the answer of `tuned-adm active`. "Preset profile" is what would be active if the daemon ran, and is not.
fn parse_active(text: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.strip_prefix("Current active profile:"))
        .map(|profile| profile.trim().to_owned())
}

fn command_error(knob: &KnobId, source: CommandError) -> DoorError {
    DoorError::Command {
        knob: knob.clone(),
        source,
    }
}

impl Door for TunedDoor {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        Self::check(knob)?;
        Ok(match self.daemon(knob)? {
            Daemon::NotInstalled => Reading::Absent,
            Daemon::Stopped => Reading::Is(Value::new(NO_TUNED_PROFILE)),
            Daemon::Running => {
                let profile = self.state(knob, ACTIVE_PROFILE)?;
                Reading::Is(Value::new(profile.as_deref().unwrap_or(NO_TUNED_PROFILE)))
            }
        })
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        Self::check(knob)?;
        let daemon = self.daemon(knob)?;
        if daemon == Daemon::NotInstalled {
            return Err(DoorError::Vanished { knob: knob.clone() });
        }
        Ok(Undo::Tuned {
            profile: self.state(knob, ACTIVE_PROFILE)?,
            mode: self.state(knob, PROFILE_MODE)?,
            running: daemon == Daemon::Running,
        })
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        Self::check(knob)?;
        let verb = match self.daemon(knob)? {
            Daemon::NotInstalled => return Err(DoorError::Vanished { knob: knob.clone() }),
            Daemon::Running => "restart",
            Daemon::Stopped => "start",
        };
        self.set_state(knob, ACTIVE_PROFILE, Some(value.as_str()))?;
        self.set_state(knob, PROFILE_MODE, Some("manual"))?;
        self.activate(knob, verb, value.as_str())
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        let Undo::Tuned {
            profile,
            mode,
            running,
        } = undo
        else {
            return Err(DoorError::foreign_undo(knob, undo));
        };
        Self::check(knob)?;
        let now = self.daemon(knob)?;
        if now == Daemon::NotInstalled {
            return Err(DoorError::Vanished { knob: knob.clone() });
        }
        let files_fit =
            self.state(knob, ACTIVE_PROFILE)? == *profile && self.state(knob, PROFILE_MODE)? == *mode;
        // The file alone does not tell what a running daemon applied: it may have been put back by other means.
        let daemon_fits = match now {
            Daemon::Running => *running && self.active_by_daemon() == *profile,
            _ => !*running,
        };
        if files_fit && daemon_fits {
            return Ok(());
        }
        if now == Daemon::Running {
            self.systemctl(knob, "stop")?;
        }
        self.set_state(knob, ACTIVE_PROFILE, profile.as_deref())?;
        self.set_state(knob, PROFILE_MODE, mode.as_deref())?;
        match profile {
            Some(profile) if *running => self.activate(knob, "start", profile),
            None if *running => self.systemctl(knob, "start"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
