//! The record of this boot in the state file.
//!
//! Nothing here may keep a boot from going on: what cannot be stored is said, and kept under `/run` by the caller.

use super::{efi, look, now};
use crate::early::Marker;
use crate::events::{self, About};
use crate::host::Host;
use crate::store::{self, Loaded};
use dtnforge_profiles::fallback::{self, StockBoot, TunedEntry};
use dtnforge_profiles::state::{Boot, BootKind, HistoryEntry, StateFile};
use log::Level;

/// The record of this boot, made anew unless the early step was only repeated in it. A boot that the firmware started
/// leaves its id in the firmware, so that a later kexec or soft-reboot is known for what it is.
pub fn this_boot(host: &Host, old: Option<&Marker>) -> Boot {
    if let Some(boot) = old.filter(|old| !old.ended).and_then(|old| old.boot.clone()) {
        return boot;
    }
    let seen = look(host, old.is_some_and(|old| old.ended));
    if seen.firmware_boot_id.is_none()
        && let Err(error) = efi::set_firmware_boot(host, &seen.boot_id)
    {
        say(
            &seen.boot_id,
            &format!("a later kexec cannot be told from a boot: EFI variable: {error}"),
        );
    }
    seen.record(now())
}

/// Adds the record to the state file and concludes a fallback, and returns the state as it is then. A damaged file is
/// left alone: the main unit says so first.
pub fn store(host: &Host, boot: &Boot) -> Loaded {
    let loaded = store::load(host);
    if loaded.damage.is_some() {
        return loaded;
    }
    match store::change(host, |file| note(host, file, boot)) {
        Ok(file) => Loaded { file, damage: None },
        Err(error) => {
            say(
                &boot.boot_id,
                &format!("this boot could not be recorded: {error}"),
            );
            loaded
        }
    }
}

fn note(host: &Host, file: &mut StateFile, boot: &Boot) {
    file.add_boot(boot.clone());
    let tuned = match look(host, false).tuned_entry() {
        Some(entry) => TunedEntry::There(entry.counter),
        // Not in the boot loader's list: why not, only a look at the EFI system partition can tell.
        None => TunedEntry::Unknown,
    };
    conclude(file, boot, &tuned);
}

/// Enters the fallback when `boot` means that, and corrects the kind of a stock boot that somebody picked.
pub fn conclude(file: &mut StateFile, boot: &Boot, tuned: &TunedEntry) {
    match fallback::of_stock_boot(file, boot, tuned) {
        StockBoot::NothingNew => {}
        StockBoot::PickedByHand => file.boot_mut(boot).kind = BootKind::Manual,
        StockBoot::Fallback(conclusion) => {
            let reason = conclusion.reason.clone();
            file.fall_back(conclusion, &boot.boot_id, boot.at);
            file.remember(HistoryEntry {
                at: boot.at,
                boot_id: boot.boot_id.clone(),
                entered: "fallback".to_owned(),
                profile: None,
                reason,
            });
        }
    }
}

/// Notes that the files of a commit are being put in place in this boot.
pub fn activated(host: &Host, boot: &Boot) {
    if let Err(error) = store::change(host, |file| file.boot_mut(boot).active = true) {
        say(
            &boot.boot_id,
            &format!("the activation could not be recorded: {error}"),
        );
    }
}

fn say(boot_id: &str, sentence: &str) {
    let about = About {
        reason: sentence,
        boot_id,
        ..About::default()
    };
    events::tell(Level::Warn, events::BOOT_RECORDED, about, sentence);
}
