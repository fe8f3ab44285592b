//! The early unit's work: put the files of a committed plan under `/run` before udevd, systemd-sysctl and
//! systemd-modules-load read there; or take them away when nothing is committed.
//!
//! First of all it records the boot: whatever kills it later, the next one knows that it came this far. When the boot
//! loader gave the tuned entry up, what became of the tries is concluded here too, from nothing but the records and
//! the boot loader's list of entries, so that it does not depend on anything that may fail later.
//!
//! It runs before any NIC driver is loaded, so it can compare the PCI devices of the plan and nothing finer. The main
//! unit compares the whole fingerprint later. What was done is written to a marker under `/run`, so that "committed
//! but not activated" can be told.

mod live;

pub use live::{live, note_committed, note_taken_out};

use crate::atomic;
use crate::boot::{self, Mode, record};
use crate::flow::{look, window};
use crate::host::Host;
use crate::layers;
use crate::siteconf;
use crate::store::{self, Loaded};
use crate::trial::files::{self, Set};
use dtnforge_profiles::render;
use dtnforge_profiles::state::{Boot, Commit, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

const MARKER: &str = "/run/dtnforge/early.json";

/// What the early unit did in this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The boot.
    pub boot_id: String,
    /// Whether the files of a commit were put in place.
    pub activated: bool,
    /// Whether values of a commit are live, put in place or committed in this boot. A soft-reboot keeps the kernel with
    /// all that was set. Ask [`live()`].
    #[serde(default)]
    pub live: bool,
    /// Why, or why not.
    pub why: String,
    /// The files, relative to `/run`.
    pub files: Vec<String>,
    /// The record of this boot, for when the state file cannot be written.
    #[serde(default)]
    pub boot: Option<Boot>,
    /// This userspace was shut down: whatever finds the marker of its own boot in this state was soft-rebooted.
    #[serde(default)]
    pub ended: bool,
    /// This boot was given up. Kept here too, for when the state file cannot be written: its try is used up.
    #[serde(default)]
    pub failed: bool,
}

/// The marker of the last early run, when there is one that can be read.
pub fn read_marker(host: &Host) -> Option<Marker> {
    serde_json::from_slice(&fs::read(host.path(MARKER)).ok()?).ok()
}

/// Replaces the marker.
///
/// # Errors
/// When it cannot be written.
pub fn write_marker(host: &Host, marker: &Marker) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(marker)? + "\n";
    Ok(atomic::write(&host.path(MARKER), text.as_bytes(), 0o644)?)
}

/// The commit to put in place in this boot, or why there is none.
fn activatable(host: &Host, loaded: &Loaded, boot: &Boot) -> Result<Box<Commit>, String> {
    if let Some(damage) = &loaded.damage {
        return Err(format!("{damage}; the node is stock"));
    }
    let words = boot::words(host);
    if words.hold {
        return Err("dtn-firstboot.hold is on the kernel command line".to_owned());
    }
    if words.mode == Mode::Stock {
        return Err("the stock entry was booted".to_owned());
    }
    let state = &loaded.file.state;
    if let State::Held { .. } = state {
        return Err("held by an admin".to_owned());
    }
    let commit = state
        .commit()
        .ok_or_else(|| format!("nothing is committed (state {})", state.name()))?;
    let ours = words.mode != Mode::Foreign;
    let obstacle = changed_hardware(host, &commit.pci)
        .or_else(|| changed_wishes(host, commit))
        .or_else(|| commit.barrier(boot, ours));
    match obstacle {
        Some(why) => Err(why),
        None => Ok(Box::new(commit.clone())),
    }
}

/// Whether the image's layer or the site's decisions are others than those of the commit. The node then boots stock,
/// and the main unit begins a trial from there: a plan made over live values of an older one would leave them out.
fn changed_wishes(host: &Host, commit: &Commit) -> Option<String> {
    match layers::index(host) {
        Ok(index) if index.layers.iter().any(|entry| entry.digest == commit.layer) => {}
        Ok(_) => return Some("the layer changed since the commit".to_owned()),
        Err(error) => return Some(format!("the commit's layer cannot be found: {error}")),
    }
    match siteconf::load(host) {
        Ok(site) if look::site_digest(&site) == commit.site => None,
        Ok(_) => Some("the site's settings changed since the commit".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// The first NIC of the plan whose PCI device is gone or another one.
fn changed_hardware(host: &Host, expected: &BTreeMap<String, String>) -> Option<String> {
    expected.iter().find_map(|(slot, id)| {
        let read = |name: &str| {
            let path = host.path(&format!("/sys/bus/pci/devices/{slot}/{name}"));
            fs::read_to_string(path)
                .ok()
                .map(|text| text.trim().trim_start_matches("0x").to_owned())
        };
        match (read("vendor"), read("device")) {
            (Some(vendor), Some(device)) if format!("{vendor}:{device}") == *id => None,
            (Some(vendor), Some(device)) => Some(format!(
                "the hardware changed: {slot} is {vendor}:{device}, was {id}"
            )),
            _ => Some(format!("the hardware changed: nothing is at {slot}, was {id}")),
        }
    })
}

/// Does the early work and returns what was done.
///
/// # Errors
/// When the files cannot be written: then none of them is left.
pub fn run(host: &Host) -> anyhow::Result<Marker> {
    let boot_id = boot::boot_id(host);
    let old = read_marker(host).filter(|old| old.boot_id == boot_id);
    let loaded = store::load(host);
    let (seen, boot) = record::this_boot(host, old.as_ref(), &loaded.file);
    let loaded = record::store(host, loaded, &seen, &boot);
    let failed = old.as_ref().is_some_and(|old| old.failed && !old.ended);
    let mut marker = Marker {
        boot_id,
        activated: false,
        live: old.is_some_and(|old| old.live),
        why: "the early step did not end".to_owned(),
        files: Vec::new(),
        boot: Some(boot.clone()),
        ended: false,
        failed,
    };
    // Files of an earlier boot of userspace (a soft-reboot keeps /run) never outlive the decision of this one, also where
    // /run is too full for a marker.
    let removed = remove_files(host);
    // Whoever asks about this boot finds its record, whatever fails below.
    write_marker(host, &marker)?;
    removed?;
    // Nor does the window of an admin: the agent finds its trial without one, and takes it back.
    window::record::remove(host)?;
    match activatable(host, &loaded, &boot) {
        Ok(commit) => {
            record::activated(host, &boot);
            marker.files = place(host, &commit)?;
            marker.boot = Some(Boot { active: true, ..boot });
            marker.activated = true;
            marker.live = true;
            marker.why = format!("committed profile {}", commit.profile);
        }
        Err(why) => marker.why = why,
    }
    write_marker(host, &marker)?;
    Ok(marker)
}

fn remove_files(host: &Host) -> anyhow::Result<()> {
    let left: Vec<String> = [Set::Trial, Set::Active]
        .into_iter()
        .flat_map(|set| files::remove(host, set))
        .map(|file| format!("/run/{}: {}", file.path, file.why))
        .collect();
    if !left.is_empty() {
        anyhow::bail!(
            "files of an earlier boot of userspace could not be removed: {}",
            left.join(", ")
        );
    }
    Ok(())
}

fn place(host: &Host, commit: &Commit) -> anyhow::Result<Vec<String>> {
    let native: Vec<(String, String)> = render::files(&commit.plan)?
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect();
    files::place(host, Set::Active, &native)?;
    Ok(native.into_iter().map(|(path, _)| path).collect())
}

#[cfg(test)]
mod tests;
