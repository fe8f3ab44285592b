//! The present boot: its id, what the kernel command line asks for, which entry the boot loader took.

use crate::host::Host;
use dtnforge_profiles::state::{Boot, BootKind};
use std::fs;

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

/// The words of this boot. An unreadable command line reads as empty.
pub fn words(host: &Host) -> Words {
    parse_words(&fs::read_to_string(host.path("/proc/cmdline")).unwrap_or_default())
}

/// The id of this boot; `unknown` when the kernel does not give one.
pub fn boot_id(host: &Host) -> String {
    fs::read_to_string(host.path("/proc/sys/kernel/random/boot_id"))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// The entry that systemd-boot started, for instance `dtnforge+2-1.efi`; `None` without systemd-boot.
fn selected_entry(host: &Host) -> Option<String> {
    let path = "/sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let bytes = fs::read(host.path(path)).ok()?;
    decode_efi_text(&bytes)
}

/// The text of an EFI variable: four bytes of attributes, then UTF-16 with a NUL at its end.
fn decode_efi_text(bytes: &[u8]) -> Option<String> {
    let units: Vec<u16> = bytes
        .get(4..)?
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|unit| *unit != 0)
        .collect();
    String::from_utf16(&units).ok().filter(|text| !text.is_empty())
}

/// Splits an entry's file name into its name and the tries left: `dtnforge+2-1.efi` is (`dtnforge`, 2).
fn parse_entry(file: &str) -> (String, Option<u32>) {
    let stem = file
        .strip_suffix(".efi")
        .or(file.strip_suffix(".conf"))
        .unwrap_or(file);
    let Some((name, counter)) = stem.rsplit_once('+') else {
        return (stem.to_owned(), None);
    };
    let left = counter.split('-').next().unwrap_or_default();
    match left.parse() {
        Ok(left) => (name.to_owned(), Some(left)),
        Err(_) => (stem.to_owned(), None),
    }
}

/// The record of this boot for the state's history.
pub fn record(host: &Host) -> Boot {
    let (entry, tries_left) = match selected_entry(host) {
        Some(file) => {
            let (name, left) = parse_entry(&file);
            (Some(name), left)
        }
        None => (None, None),
    };
    let kind = if entry.is_some() {
        BootKind::Firmware
    } else {
        BootKind::Unknown
    };
    Boot {
        boot_id: boot_id(host),
        entry,
        tries_left,
        kind,
        reason: None,
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

    #[test]
    fn entry_names_lose_their_counter() {
        assert_eq!(parse_entry("dtnforge+2-1.efi"), ("dtnforge".into(), Some(2)));
        assert_eq!(parse_entry("dtnforge+3.efi"), ("dtnforge".into(), Some(3)));
        assert_eq!(parse_entry("stock.efi"), ("stock".into(), None));
        assert_eq!(parse_entry("a+b.efi"), ("a+b".into(), None));
        assert_eq!(parse_entry("x+0-3.efi"), ("x".into(), Some(0)));
    }

    #[test]
    fn an_efi_text_is_utf16_after_its_attributes() {
        assert_eq!(
            decode_efi_text(&[6, 0, 0, 0, b'a', 0, b'b', 0, 0, 0]),
            Some("ab".into())
        );
        assert_eq!(decode_efi_text(&[6, 0]), None);
        assert_eq!(decode_efi_text(&[6, 0, 0, 0]), None);
    }
}
