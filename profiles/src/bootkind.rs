//! How a boot came about, concluded from what can be read early in it.
//!
//! The variables of systemd-boot say which entry it started and whether it counted it. They are still there after a
//! kexec or a soft-reboot, which the boot loader never saw, so two more signs are needed: a volatile EFI variable of
//! ours that holds the id of the boot which the firmware started, and a marker under `/run`, which only a soft-reboot
//! keeps.

use crate::bootcount::{EntryName, STOCK_ENTRY, TRIES, TUNED_ENTRY};
use crate::state::{Boot, BootKind, Reached};

/// The boot protocol's number of kexec, in the upper four bits of `/proc/sys/kernel/bootloader_type` (x86).
const KEXEC_LOADER: u32 = 0xD;

/// What was read of this boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Our volatile EFI variable: the id of the boot that the firmware started.
    pub firmware_boot_id: Option<String>,
    /// The marker under `/run` is of this boot id and says that its userspace was shut down.
    pub ended_before: bool,
    /// `/proc/sys/kernel/bootloader_type`.
    pub bootloader_type: Option<u32>,
    /// `LoaderEntrySelected`: the entry, under the name that it had before it was counted.
    pub selected: Option<String>,
    /// `LoaderBootCountPath`: the name after it was counted; absent when the boot loader did not count.
    pub counted: Option<String>,
    /// `LoaderEntries`: all entries that the boot loader found, under the names that they had then.
    pub entries: Vec<String>,
    /// `StubInfo` is there: a UKI was started.
    pub stub: bool,
    /// `LoaderDevicePartUUID` is there: from a disk.
    pub from_disk: bool,
}

impl Seen {
    /// How this boot came about.
    pub fn kind(&self) -> BootKind {
        if self.ended_before {
            return BootKind::Soft;
        }
        if self
            .bootloader_type
            .is_some_and(|number| number >> 4 == KEXEC_LOADER)
        {
            return BootKind::Kexec;
        }
        match &self.firmware_boot_id {
            Some(id) if *id == self.boot_id => return BootKind::Soft,
            Some(_) => return BootKind::Kexec,
            None => {}
        }
        match self.selected() {
            None if self.stub && !self.from_disk => BootKind::Net,
            None => BootKind::Unknown,
            Some(_) if self.picked_by_hand() => BootKind::Manual,
            Some(_) => BootKind::Firmware,
        }
    }

    fn selected(&self) -> Option<EntryName> {
        self.selected.as_deref().map(EntryName::parse)
    }

    /// The tuned entry as the boot loader found it, out of its list of entries.
    pub fn tuned_entry(&self) -> Option<EntryName> {
        self.entries
            .iter()
            .map(|file| EntryName::parse(file))
            .find(|entry| entry.is(TUNED_ENTRY))
    }

    /// The boot loader never takes an exhausted entry by itself while there is another one, nor the stock entry while
    /// a counted tuned one has tries left.
    fn picked_by_hand(&self) -> bool {
        let Some(selected) = self.selected() else {
            return false;
        };
        if selected.is(STOCK_ENTRY) {
            let tuned = self.tuned_entry().and_then(|entry| entry.counter);
            return tuned.is_some_and(|counter| !counter.is_exhausted());
        }
        let was_exhausted = selected.counter.is_some_and(|counter| counter.is_exhausted());
        let counted = self.counted.as_deref().map(EntryName::parse);
        let beyond = counted
            .and_then(|entry| entry.counter)
            .is_some_and(|counter| counter.is_exhausted() && counter.done > TRIES);
        was_exhausted || beyond
    }

    /// The record of this boot, made at `at` (seconds since 1970).
    pub fn record(&self, at: i64) -> Boot {
        let kind = self.kind();
        let selected = self.selected();
        let counted = self.counted.as_deref().map(EntryName::parse);
        let counter = counted.as_ref().and_then(|entry| entry.counter);
        let stuck = counter.is_none() && selected.as_ref().is_some_and(|entry| entry.counter.is_some());
        let entry = selected.or(counted).map(|entry| entry.name.to_ascii_lowercase());
        Boot {
            boot_id: self.boot_id.clone(),
            entry,
            tries_left: counter.map(|counter| counter.left),
            tries_done: counter.map(|counter| counter.done),
            stuck,
            kind,
            at,
            active: false,
            reached: Reached::Early,
            end: None,
            after_watchdog: false,
            reason: stuck.then(|| {
                "the boot loader could not count this boot (EFI system partition read-only or full?)"
                    .to_owned()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firmware(selected: &str, counted: Option<&str>) -> Seen {
        Seen {
            boot_id: "b2".into(),
            bootloader_type: Some(0x70),
            selected: Some(selected.into()),
            counted: counted.map(|name| format!(r"\EFI\Linux\{name}")),
            stub: true,
            from_disk: true,
            ..Seen::default()
        }
    }

    #[test]
    fn a_counted_boot_of_the_tuned_entry_is_a_firmware_boot_that_counts() {
        let boot = firmware("dtnforge+3.efi", Some("dtnforge+2-1.efi")).record(7);
        assert_eq!(boot.kind, BootKind::Firmware);
        assert_eq!((boot.tries_left, boot.tries_done, boot.at), (Some(2), Some(1), 7));
        assert_eq!(boot.entry.as_deref(), Some("dtnforge"));
        assert!(boot.is_counted() && !boot.stuck);
    }

    #[test]
    fn the_last_try_counts_and_the_one_after_it_was_picked_by_hand() {
        let last = firmware("dtnforge+1-2.efi", Some("dtnforge+0-3.efi"));
        assert_eq!(last.kind(), BootKind::Firmware);
        assert!(last.record(0).is_counted());
        let picked = firmware("dtnforge+0-3.efi", Some("dtnforge+0-4.efi"));
        assert_eq!(picked.kind(), BootKind::Manual);
        assert!(!picked.record(0).is_counted());
        // A boot loader that reports the name without its counter.
        let picked = firmware("dtnforge.efi", Some("dtnforge+0-4.efi"));
        assert_eq!(picked.kind(), BootKind::Manual);
    }

    #[test]
    fn a_blessed_entry_is_not_counted() {
        let boot = firmware("dtnforge.efi", None).record(0);
        assert_eq!(
            (boot.kind, boot.counter(), boot.stuck),
            (BootKind::Firmware, None, false)
        );
        assert!(!boot.is_counted());
    }

    #[test]
    fn a_counter_that_the_boot_loader_could_not_move_is_stuck_and_says_so() {
        let boot = firmware("dtnforge+3.efi", None).record(0);
        assert!(boot.stuck && !boot.is_counted());
        assert!(boot.reason.unwrap().contains("could not count"));
    }

    #[test]
    fn the_stock_entry_is_picked_by_hand_only_while_the_tuned_one_has_tries_left() {
        let stock = |entries: &[&str]| Seen {
            entries: entries.iter().map(|name| (*name).to_owned()).collect(),
            ..firmware("stock.efi", None)
        };
        assert_eq!(stock(&["dtnforge+3.efi", "stock.efi"]).kind(), BootKind::Manual);
        assert_eq!(
            stock(&["stock.efi", "dtnforge+0-3.efi"]).kind(),
            BootKind::Firmware
        );
        assert_eq!(stock(&["stock.efi"]).kind(), BootKind::Firmware);
        assert_eq!(stock(&[]).kind(), BootKind::Firmware);
    }

    #[test]
    fn our_variable_tells_kexec_and_soft_reboot_from_a_boot_of_the_firmware() {
        let seen = |id: &str| Seen {
            firmware_boot_id: Some(id.into()),
            ..firmware("dtnforge+3.efi", Some("dtnforge+2-1.efi"))
        };
        assert_eq!(seen("b1").kind(), BootKind::Kexec);
        assert_eq!(seen("b2").kind(), BootKind::Soft);
        assert!(!seen("b1").record(0).is_counted());
    }

    #[test]
    fn a_kernel_started_by_kexec_says_so_itself_where_there_is_no_variable() {
        let seen = Seen {
            bootloader_type: Some(0xD0),
            ..firmware("dtnforge+3.efi", Some("dtnforge+2-1.efi"))
        };
        assert_eq!(seen.kind(), BootKind::Kexec);
    }

    #[test]
    fn a_soft_reboot_inside_a_kernel_started_by_kexec_is_a_soft_reboot() {
        let seen = Seen {
            ended_before: true,
            bootloader_type: Some(0xD0),
            firmware_boot_id: Some("b1".into()),
            ..firmware("dtnforge.efi", None)
        };
        assert_eq!(seen.kind(), BootKind::Soft);
    }

    #[test]
    fn without_a_boot_loader_it_is_the_network_or_unknown() {
        let seen = Seen {
            boot_id: "b".into(),
            ..Seen::default()
        };
        assert_eq!(seen.kind(), BootKind::Unknown);
        let stub = Seen { stub: true, ..seen };
        assert_eq!(stub.kind(), BootKind::Net);
        let disk = Seen {
            from_disk: true,
            ..stub
        };
        assert_eq!(disk.kind(), BootKind::Unknown);
        assert_eq!(disk.record(0).entry, None);
    }
}
