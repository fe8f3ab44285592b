//! `dtn-firstboot boot arm`: after the blessing. A commit that no counted boot has proved yet needs the next boot to be
//! counted.

use crate::boot::{self, Mode, counter};
use crate::host::Host;
use crate::store;
use dtnforge_profiles::envelope::Exit;
use log::Level;

/// Arms the counter when that is needed, and says what was done.
///
/// # Errors
/// When the counter could not be armed or taken off, or the state cannot be stored.
pub(super) fn run(host: &Host) -> anyhow::Result<Exit> {
    if boot::words(host).mode != Mode::Tuned {
        super::super::print("not the tuned entry: nothing to arm\n")?;
        return Ok(Exit::Ok);
    }
    let this = boot::this(host);
    let arming = counter::arm_for_commit(host, &store::load(host).file, &this);
    store::change(host, |file| arming.note(file, &this, boot::now()))?;
    let sentence = arming.to_string();
    let (level, exit) = if arming.is_fine() {
        (Level::Info, Exit::Ok)
    } else {
        (Level::Error, Exit::Failed)
    };
    super::say(host, level, &this.boot_id, &sentence);
    super::super::print(&format!("{sentence}\n"))?;
    Ok(exit)
}
