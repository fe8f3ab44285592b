//! A boot of the stock entry: was it picked, or did the boot loader give the tuned one up? And may it be tried again?
//!
//! The early unit has concluded what it could from the records. Here the EFI system partition and the watchdog can be
//! asked as well. After boots that were cut short the node arms the counter again by itself, once, when its own
//! network is up: a site-wide power cut is not the fault of tuning.

use super::context::Context;
use super::run::{End, store_or_say};
use crate::boot::{counter, efi, record, watchdog};
use crate::checks;
use crate::detect::{Clock, SystemClock};
use crate::esp::{Access, Esp, EspError};
use crate::events;
use crate::host::Host;
use crate::notify;
use crate::siteconf;
use crate::statefs;
use dtnforge_profiles::bootcount::{EntryName, TUNED_ENTRY};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::fallback::{Fallback, TunedEntry};
use dtnforge_profiles::state::{BootKind, HistoryEntry, State};
use log::Level;
use std::time::Duration;

/// How long the network may take before the tuned entry is tried again: switches come up later than servers.
const NETWORK_LIMIT: Duration = Duration::from_secs(300);
/// The time between two looks.
const STEP: Duration = Duration::from_secs(2);

/// Concludes what this boot of the stock entry means. `unit` says whether we run as the boot's unit and may reboot.
pub(super) fn stock_entry(context: &mut Context, unit: bool) -> End {
    conclude(context);
    let State::Fallback(fallback) = context.file.state.clone() else {
        let state = context.file.state.name();
        let record = context.file.boot(&context.boot.boot_id);
        let why = record
            .and_then(|boot| boot.reason.clone())
            .unwrap_or_else(|| "the stock entry was booted".to_owned());
        store_or_say(context, &why);
        return End::with(Exit::Ok, format!("{why}; state on disk: {state}"));
    };
    let reason = &fallback.reason;
    if unit && may_retry(context, &fallback) {
        match retry(context, &fallback, &SystemClock::default()) {
            Ok(sentence) => {
                return End {
                    reboot: true,
                    ..End::with(Exit::Ok, sentence)
                };
            }
            Err(why) => {
                let sentence = format!("fallback: {reason}; not tried again by itself: {why}");
                context.tell(Level::Warn, events::BOOT_RECORDED, "", &sentence);
                return End::with(Exit::Ok, sentence);
            }
        }
    }
    End::with(
        Exit::Ok,
        format!("fallback: {reason}; stock until `dtn-firstboot retry`"),
    )
}

/// Notes what the watchdog says and enters the fallback, where this boot is one.
fn conclude(context: &mut Context) {
    let tuned = tuned_entry(context);
    let reset = watchdog::reset_the_machine(&context.host);
    let boot = context.boot.clone();
    let before = context.file.state.name();
    let stored = context.change(|file| {
        file.boot_mut(&boot).after_watchdog |= reset;
        record::conclude(file, &boot, &tuned);
    });
    if let Err(error) = stored {
        let sentence = format!("cannot store what this boot means: {error}");
        context.tell(Level::Error, events::BOOT_RECORDED, "", &sentence);
        // Not on disk, and true all the same.
        record::conclude(&mut context.file, &boot, &tuned);
    }
    if let State::Fallback(fallback) = &context.file.state
        && before != "fallback"
    {
        context.tell(Level::Error, events::STATE_ENTERED, "", &fallback.reason);
    }
}

/// The tuned entry as the partition and the boot loader have it.
fn tuned_entry(context: &Context) -> TunedEntry {
    let on_disk = Esp::open(&context.host, Access::Read).and_then(|esp| esp.tuned_entry());
    if let Err(error) = &on_disk {
        let sentence = format!("the tuned entry cannot be looked at: {error}");
        context.tell(Level::Warn, events::BOOT_RECORDED, "", &sentence);
    }
    judge_entry(on_disk, &efi::loader_list(&context.host, "LoaderEntries"))
}

/// An entry that is on the disk and not in the boot loader's list is nothing that it takes for one.
fn judge_entry(on_disk: Result<Option<EntryName>, EspError>, listed: &[String]) -> TunedEntry {
    let in_list = listed.iter().any(|file| EntryName::parse(file).is(TUNED_ENTRY));
    match on_disk {
        Err(_) => TunedEntry::Unknown,
        Ok(None) => TunedEntry::Missing(EspError::NoEntry.to_string()),
        Ok(Some(entry)) if !in_list && !listed.is_empty() => TunedEntry::Missing(format!(
            "the boot loader does not take {entry} for an entry; is the file cut or damaged?"
        )),
        Ok(Some(entry)) => TunedEntry::There(entry.counter),
    }
}

fn may_retry(context: &Context, fallback: &Fallback) -> bool {
    // An unreadable site file decides nothing; what it would have said is not guessed.
    let Ok(site) = siteconf::load(&context.host) else {
        return false;
    };
    // A state in memory does not know in the next boot that it was tried: that would be four boots in a circle.
    statefs::fault(&context.host).is_none()
        && context.boot.kind == BootKind::Firmware
        && fallback.may_retry(site.retry_after_fallback, context.file.counting.retried)
}

/// Arms the counter and restores the state before the fallback. The counter first: a crash in between leaves a
/// fallback state in which nothing is put in place, and not a commit in an entry that nobody boots.
fn retry(context: &mut Context, fallback: &Fallback, clock: &dyn Clock) -> Result<String, String> {
    let network = network(&context.host, clock)?;
    let entry = counter::arm(&context.host).map_err(|error| error.to_string())?;
    let boot = context.boot.clone();
    let at = Context::now();
    let former = (*fallback.former).clone();
    let reason = format!("retried after fallback, by itself: {}", fallback.reason);
    let stored = context.change(|file| {
        counter::note_armed(file, &boot, at);
        file.counting.retried += 1;
        file.state = former;
        file.remember(HistoryEntry {
            at,
            boot_id: boot.boot_id.clone(),
            entered: file.state.name().to_owned(),
            profile: None,
            reason,
        });
    });
    stored.map_err(|error| {
        format!("the counter is armed ({entry}), and the state cannot be stored: {error}")
    })?;
    Ok(format!(
        "{}; {network}, so the tuned entry is tried once more, as {entry}",
        fallback.reason
    ))
}

/// Waits until the network is configured.
fn network(host: &Host, clock: &dyn Clock) -> Result<String, String> {
    let start = clock.now();
    loop {
        match checks::configured(host) {
            Ok(how) => return Ok(how),
            Err(why) if clock.now().saturating_sub(start) >= NETWORK_LIMIT => {
                return Err(format!("no network after {} s: {why}", NETWORK_LIMIT.as_secs()));
            }
            Err(why) => notify::progress(&format!("fallback, waiting for the network: {why}"), STEP * 30),
        }
        if notify::stop_asked() {
            return Err("stopped while waiting for the network".to_owned());
        }
        clock.sleep(STEP);
    }
}

#[cfg(test)]
mod tests;
