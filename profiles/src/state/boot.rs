//! The record of a boot: how it came about, how far it got and how it ended.
//!
//! The early unit writes one for each boot before it does anything else, so that a boot that died later is known.
//! Only a boot through the firmware of the counted entry says anything about tuning; [`Boot::is_counted`] is the one
//! place that says which boots those are.

use crate::bootcount::{Counter, TUNED_ENTRY};
use serde::{Deserialize, Serialize};

/// How a boot came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BootKind {
    /// Through the firmware and the boot loader.
    Firmware,
    /// kexec from a running kernel.
    Kexec,
    /// systemd soft-reboot: same kernel, `/run` and sysctls kept.
    Soft,
    /// An entry that somebody picked by hand.
    Manual,
    /// The firmware started the entry itself, past the boot loader.
    Direct,
    /// From the network.
    Net,
    /// It could not be told.
    Unknown,
}

impl BootKind {
    /// The name used in files and for people.
    pub fn name(self) -> &'static str {
        match self {
            BootKind::Firmware => "firmware",
            BootKind::Kexec => "kexec",
            BootKind::Soft => "soft",
            BootKind::Manual => "manual",
            BootKind::Direct => "direct",
            BootKind::Net => "net",
            BootKind::Unknown => "unknown",
        }
    }
}

/// How far a boot got, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    /// The early unit: kernel, initrd and the mounts worked.
    #[default]
    Early,
    /// The agent ended, with any verdict.
    Agent,
    /// It was judged good: network configured, sshd listening, agent ended.
    Good,
}

impl Reached {
    /// The name used in files and for people.
    pub fn name(self) -> &'static str {
        match self {
            Reached::Early => "early",
            Reached::Agent => "agent",
            Reached::Good => "good",
        }
    }
}

/// How a boot ended, when something was there to say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootEnd {
    /// Somebody asked for a shutdown or a reboot.
    Orderly,
    /// It was given up, for [`Boot::reason`].
    Failed,
}

/// One boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// `/proc/sys/kernel/random/boot_id`. A soft-reboot keeps it and has a record of its own.
    pub boot_id: String,
    /// Boot entry (`dtnforge`, `stock`), when known.
    pub entry: Option<String>,
    /// Tries left as the boot loader counted them, when it counted this boot.
    pub tries_left: Option<u32>,
    /// Tries used, this boot included, when the boot loader counted it.
    #[serde(default)]
    pub tries_done: Option<u32>,
    /// The entry has a counter and the boot loader could not count this boot: a read-only or full EFI system
    /// partition. Nothing is activated in such a boot, since nothing would end it.
    #[serde(default)]
    pub stuck: bool,
    /// How it came about.
    pub kind: BootKind,
    /// When the record was made: seconds since 1970, UTC, by the host's clock (which may be wrong).
    #[serde(default)]
    pub at: i64,
    /// When the boot loader ran, by its own clock: the same in all kernels and userspaces that one run of it led to.
    #[serde(default)]
    pub stamp: Option<String>,
    /// Whether the early unit put the files of a commit in place.
    #[serde(default)]
    pub active: bool,
    /// How far it got.
    #[serde(default)]
    pub reached: Reached,
    /// How it ended; `None` while it runs, and for ever when it was cut short.
    #[serde(default)]
    pub end: Option<BootEnd>,
    /// The watchdog says that it had reset the machine before this boot: it ended the boot before.
    #[serde(default)]
    pub after_watchdog: bool,
    /// The agent missed the network or sshd in this boot, took the commit out, and saw the same without it.
    #[serde(default)]
    pub acquitted: bool,
    /// Why it ended as it did, or what is to be known of it.
    pub reason: Option<String>,
}

impl Boot {
    /// The record of a boot of which nothing but this is known.
    pub fn begun(boot_id: &str, kind: BootKind, at: i64) -> Self {
        Self {
            boot_id: boot_id.to_owned(),
            entry: None,
            tries_left: None,
            tries_done: None,
            stuck: false,
            kind,
            at,
            stamp: None,
            active: false,
            reached: Reached::Early,
            end: None,
            after_watchdog: false,
            acquitted: false,
            reason: None,
        }
    }

    /// The counter as the boot loader left it, when it counted this boot.
    pub fn counter(&self) -> Option<Counter> {
        Some(Counter {
            left: self.tries_left?,
            done: self.tries_done?,
        })
    }

    /// Whether this boot counts as good or bad: through the firmware, of the tuned entry, counted by the boot loader.
    pub fn is_counted(&self) -> bool {
        self.kind == BootKind::Firmware && self.is_tuned_entry() && self.counter().is_some()
    }

    /// Whether the entry is the one that tunes.
    pub fn is_tuned_entry(&self) -> bool {
        self.entry.as_deref() == Some(TUNED_ENTRY)
    }
}
