//! Taking layers and units off a host, so that nothing of ours is left.

use super::layers::{self, AddError};
use super::place::{RELOAD, reload};
use super::record::{self, BadRecord, Record};
use super::units;
use crate::early;
use crate::host::Host;
use crate::layers::HOST_DIR;
use crate::metrics;
use crate::siteconf;
use crate::store;
use crate::trial::files::{self, Set};
use dtnforge_profiles::state::State;
use serde::Serialize;
use std::fs;
use std::io;

/// Directories of which all is ours.
const OURS: [&str; 3] = [HOST_DIR, "/var/lib/dtnforge", "/run/dtnforge"];
/// Files of ours that a running agent makes.
const MADE: [&str; 3] = [store::STATE_PATH, "/run/motd.d/50-dtnforge", record::PATH];
/// Units that may still be active when their files are gone.
const UNITS: [&str; 4] = [
    "dtn-firstboot.service",
    "dtn-firstboot-early.service",
    "dtn-verdict.service",
    "dtn-tuned.service",
];

/// What was removed.
#[derive(Debug, Serialize)]
pub struct Removed {
    /// Paths that are gone.
    pub removed: Vec<String>,
    /// Paths that an admin made and that are still there.
    pub kept: Vec<String>,
}

/// Why nothing, or not all, was removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// There is nothing of ours.
    #[error("no layer was installed on this host: there is no {}", record::PATH)]
    NotInstalled,
    /// A profile that is not installed.
    #[error("there is no layer of {0}\nhint: installed are {1}")]
    Unknown(String, String),
    /// Values of ours are live.
    #[error("{0}\nhint: take it back first: dtn-firstboot rollback")]
    Live(String),
    /// The record cannot be used.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// The layers cannot be changed.
    #[error(transparent)]
    Layers(#[from] AddError),
    /// A file cannot be removed.
    #[error("cannot remove {path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

/// Removes the layers of `profiles`; all of ours when none is named.
///
/// # Errors
/// [`RemoveError`]; running it again goes on.
pub fn remove(host: &Host, profiles: &[String]) -> Result<Removed, RemoveError> {
    let record = Record::load(host)?.ok_or(RemoveError::NotInstalled)?;
    if let Some(what) = live(host, profiles) {
        return Err(RemoveError::Live(what));
    }
    if profiles.is_empty() {
        return remove_all(host, &record);
    }
    let installed = layers::installed(host).map_err(AddError::from)?;
    let names: Vec<&str> = installed.iter().map(|entry| entry.profile.as_str()).collect();
    if let Some(unknown) = profiles.iter().find(|profile| !names.contains(&profile.as_str())) {
        return Err(RemoveError::Unknown(unknown.clone(), names.join(", ")));
    }
    layers::take_out(host, profiles)?;
    let links = profiles
        .iter()
        .filter_map(|profile| units::tuned_link(host, profile));
    let mut removed = Vec::new();
    for link in links.filter(|link| record.files.contains(&link.path)) {
        remove_file(host, &link.path, &mut removed)?;
    }
    Ok(Removed {
        removed,
        kept: Vec::new(),
    })
}

/// What of the layers to be removed is live, or would be on the next boot.
fn live(host: &Host, profiles: &[String]) -> Option<String> {
    let concerns = |profile: &str| profiles.is_empty() || profiles.iter().any(|named| named == profile);
    let state = store::load(host).file.state;
    let name = state.name();
    match &state {
        State::Baseline { .. } | State::Trial { .. } => return Some("a trial is on disk".to_owned()),
        state => {
            if let Some(commit) = committed(state).filter(|commit| concerns(&commit.profile)) {
                return Some(format!(
                    "this host is {name}, with the profile {}",
                    commit.profile
                ));
            }
        }
    }
    let is_placed = [Set::Trial, Set::Active]
        .iter()
        .any(|set| files::exists(host, *set));
    let marker = early::read_marker(host).filter(|marker| marker.live && is_placed);
    (is_placed && profiles.is_empty()).then(|| {
        let why = marker.map_or_else(String::new, |marker| format!(" ({})", marker.why));
        format!("values of a profile are live in this boot{why}")
    })
}

fn committed(state: &State) -> Option<&dtnforge_profiles::state::Commit> {
    match state {
        State::Held { previous } => committed(previous),
        state => state.commit(),
    }
}

fn remove_all(host: &Host, record: &Record) -> Result<Removed, RemoveError> {
    let mut removed = Vec::new();
    for path in &record.files {
        remove_file(host, path, &mut removed)?;
    }
    for directory in OURS {
        remove_tree(host, directory, &mut removed)?;
    }
    if let Ok(directory) = siteconf::metrics_dir(host) {
        // A file of node_exporter that stays tells of a node that is no more; a missing one is as good.
        let _ = fs::remove_file(directory.join(metrics::FILE));
    }
    for path in MADE {
        remove_file(host, path, &mut removed)?;
    }
    // Outer directories stand before those in them.
    for directory in record
        .directories
        .iter()
        .rev()
        .map(String::as_str)
        .chain(["/etc/dtnforge"])
    {
        // Not empty means that it holds files of others, and then it stays.
        if fs::remove_dir(host.path(directory)).is_ok() {
            removed.push(directory.to_owned());
        }
    }
    forget_units(host);
    let kept = [siteconf::NODE_PATH]
        .into_iter()
        .filter(|path| host.path(path).exists());
    Ok(Removed {
        removed,
        kept: kept.map(str::to_owned).collect(),
    })
}

/// systemd still knows units that were started; without their files it can only let them go. What it says to that
/// changes nothing on disk.
fn forget_units(host: &Host) {
    if let Err(error) = reload(host) {
        log::warn!("systemd was not told that units are gone: {error}");
        return;
    }
    if host.path("/run/systemd/system").is_dir() {
        let stop: Vec<&str> = ["stop"].into_iter().chain(UNITS).collect();
        if let Err(error) = host.run("systemctl", &stop, RELOAD) {
            log::info!("units without files stay in the list until the next boot: {error}");
        }
    }
}

fn remove_file(host: &Host, path: &str, removed: &mut Vec<String>) -> Result<(), RemoveError> {
    done(path, fs::remove_file(host.path(path)), removed)
}

fn remove_tree(host: &Host, path: &str, removed: &mut Vec<String>) -> Result<(), RemoveError> {
    done(path, fs::remove_dir_all(host.path(path)), removed)
}

fn done(path: &str, result: io::Result<()>, removed: &mut Vec<String>) -> Result<(), RemoveError> {
    match result {
        Ok(()) => removed.push(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => {
            let path = path.to_owned();
            return Err(RemoveError::Io { path, source });
        }
    }
    Ok(())
}
