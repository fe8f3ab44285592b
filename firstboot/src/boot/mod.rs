//! The present boot: its id, what the kernel command line asks for, which entry the boot loader took.

pub mod counter;
pub mod efi;
pub mod firmware;
pub mod record;
pub mod watchdog;

use crate::early;
use crate::host::Host;
use crate::store;
use dtnforge_profiles::bootcount::{STOCK_ENTRY, TUNED_ENTRY};
use dtnforge_profiles::bootkind::Seen;
use dtnforge_profiles::state::{Boot, StateFile};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the kernel command line asks of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `dtnforge.mode=tuned`: our image, the tuned entry.
    Tuned,
    /// `dtnforge.mode=stock`: our image, the entry that never tunes.
    Stock,
    /// No such word: a host that was not built by us.
    Foreign,
}

/// The words of the kernel command line that concern us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Which entry.
    pub mode: Mode,
    /// `dtn-firstboot.hold`: do nothing in this boot.
    pub hold: bool,
}

/// Reads the words out of a command line. The last `dtnforge.mode=` wins; an unknown mode counts as stock, since
/// doing nothing is the safe reading of a word that somebody mistyped.
pub fn parse_words(cmdline: &str) -> Words {
    let mut words = Words {
        mode: Mode::Foreign,
        hold: false,
    };
    for word in cmdline.split_whitespace() {
        match word.split_once('=') {
            Some(("dtnforge.mode", "tuned")) => words.mode = Mode::Tuned,
            Some(("dtnforge.mode", _)) => words.mode = Mode::Stock,
            Some(("dtn-firstboot.hold", "0")) => words.hold = false,
            None if word == "dtn-firstboot.hold" => words.hold = true,
            Some(("dtn-firstboot.hold", _)) => words.hold = true,
            _ => {}
        }
    }
    words
}

/// Whether `dtnforge.boot=net` is on the kernel command line: the root came from the network, and nothing is kept over
/// this boot. The last such word wins.
pub fn is_from_network(host: &Host) -> bool {
    let cmdline = fs::read_to_string(host.path("/proc/cmdline")).unwrap_or_default();
    let last = cmdline
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("dtnforge.boot="))
        .next_back();
    last == Some("net")
}

/// The words of this boot. An unreadable command line reads as empty.
pub fn words(host: &Host) -> Words {
    parse_words(&fs::read_to_string(host.path("/proc/cmdline")).unwrap_or_default())
}

/// The id of this boot; `unknown` when the kernel does not give one.
pub fn boot_id(host: &Host) -> String {
    fs::read_to_string(host.path("/proc/sys/kernel/random/boot_id"))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Seconds since 1970 by the host's clock.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What can be read of this boot. `ended_before` is what the marker under `/run` says, `file` has the boots before.
pub fn look(host: &Host, ended_before: bool, file: &StateFile) -> Seen {
    let bootloader_type = fs::read_to_string(host.path("/proc/sys/kernel/bootloader_type"));
    let stamp = stamp(host);
    Seen {
        boot_id: boot_id(host),
        stamp_of: stamp
            .as_deref()
            .and_then(|stamp| file.boot_with_stamp(stamp))
            .map(str::to_owned),
        stamp,
        ended_before,
        bootloader_type: bootloader_type.ok().and_then(|text| text.trim().parse().ok()),
        selected: efi::loader(host, "LoaderEntrySelected"),
        counted: efi::loader(host, "LoaderBootCountPath"),
        entries: efi::loader_list(host, "LoaderEntries"),
        running: match words(host).mode {
            Mode::Tuned => Some(TUNED_ENTRY),
            Mode::Stock => Some(STOCK_ENTRY),
            Mode::Foreign => None,
        },
        net: is_from_network(host),
        stub: efi::loader(host, "StubInfo").is_some(),
        from_disk: efi::loader(host, "LoaderDevicePartUUID").is_some(),
    }
}

/// When the boot loader ran: microseconds at its start and at the kernel's, since the machine was switched on.
fn stamp(host: &Host) -> Option<String> {
    let start = efi::loader(host, "LoaderTimeInitUSec")?;
    let kernel = efi::loader(host, "LoaderTimeExecUSec")?;
    Some(format!("{start} {kernel}"))
}

/// The record of this boot: the one that the early unit made, which is kept under `/run` too, or what can be read now
/// when that unit did not run.
pub fn this(host: &Host) -> Boot {
    let boot_id = boot_id(host);
    let made = early::read_marker(host).and_then(|marker| marker.boot);
    if let Some(boot) = made.filter(|boot| boot.boot_id == boot_id) {
        return boot;
    }
    let file = store::load(host).file;
    match file.boot(&boot_id) {
        Some(boot) => boot.clone(),
        None => look(host, false, &file).record(now()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_words_and_the_last_mode_wins() {
        let words = parse_words("ro dtnforge.mode=tuned xdtn-firstboot.hold quiet dtnforge.mode=stock");
        assert_eq!(
            words,
            Words {
                mode: Mode::Stock,
                hold: false
            }
        );
        assert!(parse_words("dtn-firstboot.hold").hold);
        assert_eq!(parse_words("dtnforge.mode=tunde").mode, Mode::Stock);
        assert_eq!(parse_words("quiet").mode, Mode::Foreign);
    }
}
