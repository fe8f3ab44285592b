//! `dtn-firstboot boot failed WHAT`: a boot that does not come up is given up.
//!
//! The reason is on disk before anything else happens, because the journal of this boot may be gone in the next one.
//! What follows is decided by [`goodboot::decide`]; this is the hand that does it.

use super::say;
use crate::boot::{self, counter};
use crate::detect::SystemClock;
use crate::early;
use crate::goodboot::{self, Deed, Situation};
use crate::host::Host;
use crate::store::{self, StoreError};
use anyhow::anyhow;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::fallback::{Cause, Conclusion};
use dtnforge_profiles::state::{Boot, BootEnd, HistoryEntry, StateFile};
use log::Level;
use std::fs;
use std::time::Duration;

/// Time for a question to systemd.
const QUESTION: Duration = Duration::from_secs(10);

/// What does not come up.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Called by dtn-boot-failed@WHAT.service.\nExample: dtn-firstboot boot failed basic.target"
)]
pub(super) struct Args {
    /// The target that was not reached, `emergency`, `rescue` or `sshd`.
    what: String,
}

/// Gives the boot up.
///
/// # Errors
/// When the node was to be rebooted and did not.
pub(super) fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    give_up(host, &args.what)?;
    Ok(Exit::Ok)
}

/// Stores why, then does what is to be done.
///
/// # Errors
/// When the node was to be rebooted and did not; the ways in are open then.
pub(super) fn give_up(host: &Host, what: &str) -> anyhow::Result<()> {
    let this = boot::this(host);
    let mut file = store::load(host).file;
    let boot = file.boot_mut(&this).clone();
    let reason = reason(host, what);
    let deed = decide(host, what, &boot, &file);
    let tell = |level, sentence: &str| say(host, level, &boot.boot_id, sentence);
    match deed {
        Deed::LeaveAlone(why) => {
            tell(Level::Warn, &format!("{reason}; nothing is done about it: {why}"));
            Ok(())
        }
        Deed::Stay(why) => {
            if let Err(error) = store_reason(host, &boot, &reason) {
                tell(Level::Error, &format!("the reason could not be stored: {error}"));
            }
            stay(host, what, &boot, &format!("{reason}; no reboot: {why}"));
            Ok(())
        }
        Deed::Reboot(why) => {
            // The count ends this even where the reason cannot be stored.
            mark(host, &boot, true);
            if let Err(error) = store_reason(host, &boot, &reason) {
                tell(Level::Error, &format!("the reason could not be stored: {error}"));
            }
            // A try that was given back while the network was missing is used up after all.
            if let Err(error) = counter::take_again(host, &boot) {
                tell(
                    Level::Warn,
                    &format!("its try was given back, and cannot be taken again: {error}"),
                );
            }
            tell(Level::Error, &format!("this boot is given up: {reason}; {why}"));
            reboot(host, what, &boot)
        }
        Deed::GiveUpCommit(why) => match store_fallback(host, &boot, &reason) {
            Ok(()) => {
                tell(
                    Level::Error,
                    &format!("this boot is given up: {reason}; {why}: the next one is stock"),
                );
                reboot(host, what, &boot)
            }
            // Nothing would end this a second time.
            Err(error) => {
                stay(
                    host,
                    what,
                    &boot,
                    &format!("{reason}; no reboot: {why}, and that cannot be stored: {error}"),
                );
                Ok(())
            }
        },
    }
}

/// A target fails with the one that it requires, and both say so at the same time: the lowest one is the reason.
fn reason(host: &Host, what: &str) -> String {
    let lowest = if what == "multi-user.target" && !had_come_up(host) {
        "basic.target"
    } else {
        what
    };
    let described = goodboot::described(lowest);
    match goodboot::trouble(host) {
        Some(trouble) => format!("{described} ({trouble})"),
        None => described,
    }
}

fn decide(host: &Host, what: &str, boot: &Boot, file: &StateFile) -> Deed {
    // An unreadable command line asks for nothing.
    let cmdline = fs::read_to_string(host.path("/proc/cmdline")).unwrap_or_default();
    let gave_up_before = matches!(&file.state, dtnforge_profiles::state::State::Fallback(fallback)
        if fallback.boot_id == boot.boot_id);
    goodboot::decide(&Situation {
        what,
        words: boot::parse_words(&cmdline),
        rescue_word: goodboot::asked_for_rescue(&cmdline),
        boot,
        commit_active: boot.active && (file.state.commit().is_some() || gave_up_before),
        had_come_up: goodboot::is_rescue(what) && had_come_up(host),
    })
}

/// Whether basic.target was reached in this boot: what enters emergency mode by itself, a file system that is missing,
/// comes before it. Where systemd does not say, it was not.
fn had_come_up(host: &Host) -> bool {
    let args = [
        "show",
        "--property=ActiveEnterTimestampMonotonic",
        "--value",
        "basic.target",
    ];
    let reached = host.run("systemctl", &args, QUESTION).unwrap_or_default();
    reached
        .trim()
        .parse()
        .is_ok_and(|microseconds: u64| microseconds > 0)
}

/// Notes under `/run` whether this boot is given up: the shutdown, which gives tries back, finds it there when the
/// state file cannot be written.
pub(super) fn mark(host: &Host, boot: &Boot, failed: bool) {
    let Some(mut marker) = early::read_marker(host).filter(|marker| marker.boot_id == boot.boot_id) else {
        return;
    };
    marker.failed = failed;
    if let Err(error) = early::write_marker(host, &marker) {
        say(host, Level::Warn, &boot.boot_id, &format!("{error:#}"));
    }
}

/// Stores that this boot failed, and why. The first reason stays: what fails later often fails because of it.
///
/// # Errors
/// When it cannot be stored.
pub(super) fn store_reason(host: &Host, boot: &Boot, reason: &str) -> Result<(), StoreError> {
    store::change(host, |file| note(file, boot, reason)).map(drop)
}

fn note(file: &mut StateFile, boot: &Boot, reason: &str) {
    let record = file.boot_mut(boot);
    if record.end != Some(BootEnd::Failed) {
        record.end = Some(BootEnd::Failed);
        record.reason = Some(reason.to_owned());
    }
}

/// Stores the reason and that nothing is put in place from now on.
fn store_fallback(host: &Host, boot: &Boot, reason: &str) -> Result<(), StoreError> {
    let at = boot::now();
    store::change(host, |file| {
        note(file, boot, reason);
        if file.state.commit().is_none() {
            return;
        }
        let reason = format!("a boot with the committed profile in place failed: {reason}");
        let conclusion = Conclusion {
            cause: Cause::Failed,
            reason: reason.clone(),
        };
        file.fall_back(conclusion, &boot.boot_id, at);
        file.remember(HistoryEntry {
            at,
            boot_id: boot.boot_id.clone(),
            entered: file.state.name().to_owned(),
            profile: None,
            reason,
        });
    })
    .map(drop)
}

/// Stays up, with all ways in opened. An emergency shell is not taken away by starting the rest of the boot.
fn stay(host: &Host, what: &str, boot: &Boot, sentence: &str) {
    let problems = goodboot::open_access(host, !goodboot::is_rescue(what));
    say(
        host,
        Level::Error,
        &boot.boot_id,
        &format!("this boot failed: {sentence}; the node stays up"),
    );
    for problem in problems {
        log::info!("could not be started: {problem}");
    }
}

fn reboot(host: &Host, what: &str, boot: &Boot) -> anyhow::Result<()> {
    goodboot::reboot(host, &SystemClock::default()).map_err(|error| {
        stay(host, what, boot, &error);
        anyhow!(error)
    })
}

#[cfg(test)]
mod tests;
