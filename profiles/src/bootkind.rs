//! How a boot came about, concluded from what can be read early in it.
//!
//! The variables of systemd-boot say which entry it started and whether it counted it. They are still there after a
//! kexec or a soft-reboot, which the boot loader never saw, so more signs are needed: the time that the boot loader
//! noted when it ran, which is new at each run and kept with the record of the boot; the number by which a kernel knows
//! that kexec started it; and a marker under `/run`, which only a soft-reboot keeps. (A variable of ours that the
//! firmware forgets at a reset would be the simplest sign. Firmware does not take such variables from a running
//! system.)
//!
//! Since the boot loader reports names without their counters, its list of entries tells in another way whether the
//! tuned one is exhausted: entries without tries left are at the end.

use crate::bootcount::{EntryName, STOCK_ENTRY, TRIES, TUNED_ENTRY};
use crate::state::{Boot, BootKind};

/// The boot protocol's number of kexec, in the upper four bits of `/proc/sys/kernel/bootloader_type` (x86).
const KEXEC_LOADER: u32 = 0xD;

/// The reason in the record of a boot whose entry has a counter that the boot loader could not move.
pub const STUCK: &str = "the boot loader could not count this boot (EFI system partition read-only or full?)";

/// What was read of this boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// `LoaderTimeInitUSec` and `LoaderTimeExecUSec`: when the boot loader ran.
    pub stamp: Option<String>,
    /// The id of the recorded boot that had the same stamp.
    pub stamp_of: Option<String>,
    /// The marker under `/run` is of this boot id and says that its userspace was shut down.
    pub ended_before: bool,
    /// `/proc/sys/kernel/bootloader_type`.
    pub bootloader_type: Option<u32>,
    /// `LoaderEntrySelected`: the entry; where a boot loader reports counters, under its name before it was counted.
    pub selected: Option<String>,
    /// `LoaderBootCountPath`: the name after it was counted; absent when the boot loader did not count.
    pub counted: Option<String>,
    /// `LoaderEntries`: all entries that the boot loader found, in its order.
    pub entries: Vec<String>,
    /// The entry that runs, by the mode on its command line. The boot loader's variables may speak of another one, which
    /// it could not load before the firmware went on to its next entry.
    pub running: Option<&'static str>,
    /// `dtnforge.boot=net` is on the kernel command line: the root came from the network.
    pub net: bool,
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
        match &self.stamp_of {
            Some(id) if *id == self.boot_id => return BootKind::Soft,
            Some(_) => return BootKind::Kexec,
            None => {}
        }
        if self.net {
            return BootKind::Net;
        }
        if self.started_directly().is_some() {
            return BootKind::Direct;
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

    /// The entry that the firmware started itself: one of ours runs, and the boot loader started none, or the other one.
    fn started_directly(&self) -> Option<&'static str> {
        let running = self.running.filter(|_| self.stub && self.from_disk)?;
        let ours = |entry: &EntryName| entry.is(TUNED_ENTRY) || entry.is(STOCK_ENTRY);
        match self.selected() {
            None => Some(running),
            Some(selected) if ours(&selected) && !selected.is(running) => Some(running),
            Some(_) => None,
        }
    }

    /// Whether the boot loader found the tuned entry without tries left; `None` when its list does not tell.
    pub fn tuned_was_exhausted(&self) -> Option<bool> {
        let place = |name: &str| {
            self.entries
                .iter()
                .position(|file| EntryName::parse(file).is(name))
        };
        Some(place(TUNED_ENTRY)? > place(STOCK_ENTRY)?)
    }

    /// The boot loader never takes an exhausted entry by itself while there is another one, nor the stock entry while
    /// the tuned one has tries left.
    fn picked_by_hand(&self) -> bool {
        let Some(selected) = self.selected() else {
            return false;
        };
        if selected.is(STOCK_ENTRY) {
            return self.tuned_was_exhausted() == Some(false);
        }
        let counted = self.counted.as_deref().map(EntryName::parse);
        let beyond = counted
            .and_then(|entry| entry.counter)
            .is_some_and(|counter| counter.is_exhausted() && counter.done > TRIES);
        beyond || selected.is(TUNED_ENTRY) && self.tuned_was_exhausted() == Some(true)
    }

    /// The record of this boot, made at `at` (seconds since 1970).
    pub fn record(&self, at: i64) -> Boot {
        let kind = self.kind();
        if let (BootKind::Direct, Some(entry)) = (kind, self.running) {
            // What the boot loader counted was its own try, which is no boot.
            return Boot {
                entry: Some(entry.to_owned()),
                stamp: self.stamp.clone(),
                ..Boot::begun(&self.boot_id, kind, at)
            };
        }
        let selected = self.selected();
        let counted = self.counted.as_deref().map(EntryName::parse);
        let counter = counted.as_ref().and_then(|entry| entry.counter);
        let stuck = counter.is_none() && selected.as_ref().is_some_and(|entry| entry.counter.is_some());
        let entry = selected.or(counted).map(|entry| entry.name.to_ascii_lowercase());
        Boot {
            entry,
            tries_left: counter.map(|counter| counter.left),
            tries_done: counter.map(|counter| counter.done),
            stuck,
            stamp: self.stamp.clone(),
            reason: stuck.then(|| STUCK.to_owned()),
            ..Boot::begun(&self.boot_id, kind, at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|name| (*name).to_owned()).collect()
    }

    fn firmware(selected: &str, counted: Option<&str>) -> Seen {
        Seen {
            boot_id: "b2".into(),
            bootloader_type: Some(0x21),
            selected: Some(selected.into()),
            counted: counted.map(|name| format!(r"\EFI\Linux\{name}")),
            stub: true,
            from_disk: true,
            ..Seen::default()
        }
    }

    #[test]
    fn a_counted_boot_of_the_tuned_entry_is_a_firmware_boot_that_counts() {
        let boot = firmware("dtnforge.efi", Some("dtnforge+2-1.efi")).record(7);
        assert_eq!(boot.kind, BootKind::Firmware);
        assert_eq!((boot.tries_left, boot.tries_done, boot.at), (Some(2), Some(1), 7));
        assert_eq!(boot.entry.as_deref(), Some("dtnforge"));
        assert!(boot.is_counted() && !boot.stuck);
    }

    #[test]
    fn the_last_try_counts_and_the_one_after_it_was_picked_by_hand() {
        let last = Seen {
            entries: list(&["dtnforge.efi", "stock.efi"]),
            ..firmware("dtnforge.efi", Some("dtnforge+0-3.efi"))
        };
        assert_eq!(last.kind(), BootKind::Firmware);
        assert!(last.record(0).is_counted());
        let picked = firmware("dtnforge.efi", Some("dtnforge+0-4.efi"));
        assert_eq!(picked.kind(), BootKind::Manual);
        assert!(!picked.record(0).is_counted());
        // On a partition where the boot loader cannot count, its list tells.
        let picked = Seen {
            entries: list(&["stock.efi", "dtnforge.efi"]),
            ..firmware("dtnforge.efi", None)
        };
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
            entries: list(entries),
            ..firmware("stock.efi", None)
        };
        assert_eq!(stock(&["dtnforge.efi", "stock.efi"]).kind(), BootKind::Manual);
        assert_eq!(
            stock(&["stock.efi", "auto-windows", "dtnforge.efi"]).kind(),
            BootKind::Firmware
        );
        assert_eq!(stock(&["stock.efi"]).kind(), BootKind::Firmware);
        assert_eq!(stock(&[]).kind(), BootKind::Firmware);
    }

    #[test]
    fn a_boot_loader_that_did_not_run_again_tells_kexec_and_soft_reboot_from_a_boot_of_the_firmware() {
        let seen = |id: &str| Seen {
            stamp: Some("1712345 2012345".into()),
            stamp_of: Some(id.into()),
            ..firmware("dtnforge.efi", Some("dtnforge+2-1.efi"))
        };
        assert_eq!(seen("b1").kind(), BootKind::Kexec);
        assert_eq!(seen("b2").kind(), BootKind::Soft);
        assert!(!seen("b1").record(0).is_counted());
    }

    #[test]
    fn a_kernel_started_by_kexec_says_so_itself_where_nothing_else_does() {
        let seen = Seen {
            bootloader_type: Some(0xD0),
            ..firmware("dtnforge.efi", Some("dtnforge+2-1.efi"))
        };
        assert_eq!(seen.kind(), BootKind::Kexec);
    }

    #[test]
    fn a_soft_reboot_inside_a_kernel_started_by_kexec_is_a_soft_reboot() {
        let seen = Seen {
            ended_before: true,
            bootloader_type: Some(0xD0),
            stamp_of: Some("b1".into()),
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
        let kernel = Seen {
            net: true,
            ..Seen::default()
        };
        assert_eq!(
            kernel.kind(),
            BootKind::Net,
            "a kernel and an initrd without a stub"
        );
        let disk = Seen {
            from_disk: true,
            ..stub
        };
        assert_eq!(disk.kind(), BootKind::Unknown);
        assert_eq!(disk.record(0).entry, None);
    }

    #[test]
    fn a_uki_that_the_firmware_started_itself_is_a_direct_boot_of_its_entry() {
        let alone = Seen {
            running: Some(STOCK_ENTRY),
            stub: true,
            from_disk: true,
            ..Seen::default()
        };
        let boot = alone.record(7);
        assert_eq!(
            (boot.kind, boot.entry.as_deref()),
            (BootKind::Direct, Some("stock"))
        );
        // The boot loader counted the tuned entry, could not load it, and its variables are still there.
        let after_a_failure = Seen {
            running: Some(STOCK_ENTRY),
            ..firmware("dtnforge.efi", Some("dtnforge+2-1.efi"))
        };
        let boot = after_a_failure.record(7);
        assert_eq!(
            (boot.kind, boot.entry.as_deref()),
            (BootKind::Direct, Some("stock"))
        );
        assert!(
            !boot.is_counted() && boot.counter().is_none() && !boot.stuck,
            "{boot:?}"
        );
        let as_selected = Seen {
            running: Some(TUNED_ENTRY),
            ..firmware("dtnforge.efi", Some("dtnforge+2-1.efi"))
        };
        assert!(as_selected.record(7).is_counted());
        let renamed = Seen {
            running: Some(STOCK_ENTRY),
            ..firmware("rescue.efi", None)
        };
        assert_eq!(
            renamed.kind(),
            BootKind::Firmware,
            "an entry of the administrator's own"
        );
    }
}
