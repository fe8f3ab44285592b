//! The record of this boot in the state file.
//!
//! Nothing here may keep a boot from going on: what cannot be stored is said, and kept under `/run` by the caller.

use super::{look, now, watchdog};
use crate::early::Marker;
use crate::events::{self, About};
use crate::host::Host;
use crate::store::{self, Loaded};
use dtnforge_profiles::bootcount::Counter;
use dtnforge_profiles::bootkind::Seen;
use dtnforge_profiles::fallback::{self, StockBoot, TunedEntry};
use dtnforge_profiles::state::{Boot, BootKind, HistoryEntry, StateFile};
use log::Level;

/// The record of this boot, made anew unless the early step was only repeated in it. `file` has the boots before.
pub fn this_boot(host: &Host, old: Option<&Marker>, file: &StateFile) -> (Seen, Boot) {
    let seen = look(host, old.is_some_and(|old| old.ended), file);
    let known = old.filter(|old| !old.ended).and_then(|old| old.boot.clone());
    let mut boot = known.unwrap_or_else(|| seen.record(now()));
    // Asked for here already, where the initrd has its driver: this boot may hang as well, before the main unit asks.
    boot.after_watchdog |= watchdog::reset_the_machine(host);
    (seen, boot)
}

/// Adds the record to the state file and concludes a fallback, and returns the state as it is then. A damaged file is
/// left alone: the main unit says so first.
pub fn store(host: &Host, loaded: Loaded, seen: &Seen, boot: &Boot) -> Loaded {
    if loaded.damage.is_some() {
        return loaded;
    }
    match store::change(host, |file| note(file, seen, boot)) {
        Ok(file) => Loaded { file, damage: None },
        Err(error) => {
            say(
                &boot.boot_id,
                &format!("this boot could not be recorded: {error}"),
            );
            let mut loaded = loaded;
            note(&mut loaded.file, seen, boot);
            loaded
        }
    }
}

fn note(file: &mut StateFile, seen: &Seen, boot: &Boot) {
    file.add_boot(boot.clone());
    let tuned = match seen.tuned_was_exhausted() {
        Some(true) => TunedEntry::There(Some(Counter::EXHAUSTED)),
        // Picked by hand, or not in the boot loader's list: why not, only a look at the partition can tell.
        Some(false) | None => TunedEntry::Unknown,
    };
    conclude(file, boot, &tuned);
}

/// Enters the fallback when `boot` means that, and corrects the kind of a stock boot that somebody picked.
pub fn conclude(file: &mut StateFile, boot: &Boot, tuned: &TunedEntry) {
    match fallback::of_stock_boot(file, boot, tuned) {
        StockBoot::NothingNew => {}
        StockBoot::PastTheLoader(counter) => file.boot_mut(boot).reason = Some(past_the_loader(counter)),
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

/// Why the firmware took the stock entry itself; the counter tells what is left of the tuned one.
fn past_the_loader(counter: Option<Counter>) -> String {
    let tries = counter.map_or_else(
        || "its tries are not counted".to_owned(),
        |counter| format!("{} of its tries are left", counter.left),
    );
    format!(
        "the firmware started stock itself: it could not load the boot loader or the tuned entry, or somebody chose so \
         in its menu; {tries}, and the next boot begins with it again"
    )
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
