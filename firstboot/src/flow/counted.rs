//! What a run owes to the boot counter: no trial that a dead boot could not end, and no commit that waits for ever.

use super::context::Context;
use crate::boot::counter::{self, Arming};
use crate::boot::{self, Mode};
use crate::esp::{Access, Esp};
use crate::events;
use dtnforge_profiles::state::Reached;
use log::Level;

/// Whether a tuned boot could be counted, asked before a trial: a commit whose boots nobody counts could not be put in
/// place, and a partition that we cannot write is one that the boot loader cannot count on.
///
/// # Errors
/// Why not, one sentence.
pub(super) fn could_be_counted(context: &Context) -> Result<(), String> {
    let boot = &context.boot;
    if boot::words(&context.host).mode != Mode::Tuned || boot.entry.is_none() {
        return Ok(());
    }
    if boot.stuck {
        let why = boot
            .reason
            .as_deref()
            .unwrap_or("the boot loader could not count this boot");
        return Err(format!("{why}: a tuned boot could not be ended by the count"));
    }
    Esp::open(&context.host, Access::Write)
        .and_then(|esp| esp.probe())
        .map_err(|error| {
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default();
            format!("the EFI system partition cannot be written ({why}): a tuned boot could not be counted")
        })
}

/// Notes that the agent ended, with any verdict, and arms the counter when a commit waits for a counted boot. In a
/// counted boot that is not judged yet the entry has its counter still; what comes after the blessing sees to it then.
pub(super) fn finish(context: &mut Context) {
    let arming = if boot::words(&context.host).mode == Mode::Tuned {
        counter::arm_for_commit(&context.host, &context.file, &context.boot)
    } else {
        Arming::NotNeeded
    };
    if !arming.is_fine() {
        context.tell(Level::Error, events::BOOT_RECORDED, "", &arming.to_string());
    }
    let boot = context.boot.clone();
    let stored = context.change(|file| {
        let record = file.boot_mut(&boot);
        record.reached = record.reached.max(Reached::Agent);
        arming.note(file, &boot, boot::now());
    });
    if let Err(error) = stored {
        let sentence = format!("the end of the agent could not be recorded: {error}");
        context.tell(Level::Error, events::BOOT_RECORDED, "", &sentence);
    }
}
