//! `dtn-firstboot boot ended`: an orderly shutdown. A reboot that somebody asks for is not a failed boot.

use crate::host::Host;
use crate::{boot, early, store};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::BootEnd;

/// Notes the end in the marker under `/run`, which a soft-reboot keeps, and in the state. An end that was noted
/// before stays: the first reason is the true one.
///
/// # Errors
/// When neither could be written.
pub(super) fn run(host: &Host) -> anyhow::Result<Exit> {
    let this = boot::this(host);
    if let Some(mut marker) = early::read_marker(host) {
        marker.ended = true;
        early::write_marker(host, &marker)?;
    }
    store::change(host, |file| {
        file.boot_mut(&this).end.get_or_insert(BootEnd::Orderly);
    })?;
    Ok(Exit::Ok)
}
