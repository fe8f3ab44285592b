//! Whether values of a commit are live in this boot: one answer for all who ask.
//!
//! The marker of the early unit says so, from when a commit is put in place or made until all of its knobs were read as
//! before it. Another state changes nothing about what the kernel has, and neither does a soft-reboot.

use super::{Marker, read_marker, write_marker};
use crate::host::Host;
use dtnforge_profiles::state::{Commit, State};

/// Whether values of a commit are live in the boot `boot_id`, which is the present one. The commit may be a former one:
/// a state that has none by now says nothing about the kernel.
pub fn live(host: &Host, state: &State, boot_id: &str) -> bool {
    let marked = read_marker(host).is_some_and(|marker| marker.live && marker.boot_id == boot_id);
    // Where the marker could not be written, the commit itself says in which boot it was made.
    marked || commit_of(state).is_some_and(|commit| commit.boot_id == boot_id)
}

fn commit_of(state: &State) -> Option<&Commit> {
    match state {
        State::Held { previous } => commit_of(previous),
        State::Fallback(fallback) => commit_of(&fallback.former),
        state => state.commit(),
    }
}

/// Notes that a commit was made in the boot `boot_id`: its values stay live, whatever becomes of it.
pub fn note_committed(host: &Host, boot_id: &str) {
    let known = read_marker(host).filter(|marker| marker.boot_id == boot_id);
    let marker = known.unwrap_or_else(|| Marker {
        boot_id: boot_id.to_owned(),
        activated: false,
        live: false,
        why: "the early unit did not run in this boot".to_owned(),
        files: Vec::new(),
        boot: None,
        ended: false,
        failed: false,
    });
    replace(host, &Marker { live: true, ..marker });
}

/// Notes that the values of the commit were taken out of the running system, and read as before it.
pub fn note_taken_out(host: &Host, boot_id: &str) {
    if let Some(marker) = read_marker(host).filter(|marker| marker.boot_id == boot_id) {
        let taken_out = Marker {
            activated: false,
            live: false,
            why: "its values were taken out of the running system".to_owned(),
            ..marker
        };
        replace(host, &taken_out);
    }
}

/// A note that cannot be written undoes nothing: a commit says itself in which boot it was made, and values that are
/// taken for live only put a trial off until the next boot.
fn replace(host: &Host, marker: &Marker) {
    if let Err(error) = write_marker(host, marker) {
        log::warn!("what is live could not be noted: {error:#}");
    }
}
