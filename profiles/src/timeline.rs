//! One history out of two levels: the boots of a node and the states that it entered in them.
//!
//! The order is that of the records and not that of the clock, which may jump: each state follows the boot in which it
//! was entered.

use crate::state::{Boot, BootEnd, BootKind, HistoryEntry, Reached, StateFile};
use serde::{Deserialize, Serialize};

/// What became of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is the present one.
    Running,
    /// It was judged good.
    Good,
    /// It was given up.
    Failed,
    /// It was shut down by somebody before it was judged.
    ShutDown,
    /// It just ended.
    CutShort,
    /// It just ended, and the boot after it saw the mark of the watchdog.
    Watchdog,
}

impl Outcome {
    /// The name used in files and for people.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Running => "running",
            Outcome::Good => "good",
            Outcome::Failed => "failed",
            Outcome::ShutDown => "shut-down",
            Outcome::CutShort => "cut-short",
            Outcome::Watchdog => "watchdog",
        }
    }
}

/// A boot as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootLine {
    /// Seconds since 1970, UTC, by the host's clock; 0 when it is not known.
    pub at: i64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Boot entry, when known.
    pub entry: Option<String>,
    /// How it came about.
    pub kind: BootKind,
    /// Tries left, when the boot loader counted it.
    pub tries_left: Option<u32>,
    /// Tries used, when the boot loader counted it.
    pub tries_done: Option<u32>,
    /// Whether it says anything about tuning.
    pub counted: bool,
    /// Whether the early unit put a commit in place.
    pub active: bool,
    /// How far it got.
    pub reached: Reached,
    /// What became of it.
    pub outcome: Outcome,
    /// Why.
    pub reason: Option<String>,
}

/// One line of the joined history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Event {
    /// A boot.
    Boot(BootLine),
    /// A state that was entered.
    State(HistoryEntry),
}

/// All boots, oldest first. `present` is the id of the running boot.
pub fn boots(file: &StateFile, present: &str) -> Vec<BootLine> {
    let after = |index: usize| file.boots.get(index + 1);
    let line = |(index, boot): (usize, &Boot)| BootLine {
        at: boot.at,
        boot_id: boot.boot_id.clone(),
        entry: boot.entry.clone(),
        kind: boot.kind,
        tries_left: boot.tries_left,
        tries_done: boot.tries_done,
        counted: boot.is_counted(),
        active: boot.active,
        reached: boot.reached,
        outcome: outcome(boot, after(index), present),
        reason: boot.reason.clone(),
    };
    file.boots.iter().enumerate().map(line).collect()
}

fn outcome(boot: &Boot, next: Option<&Boot>, present: &str) -> Outcome {
    match (boot.end, boot.reached) {
        (Some(BootEnd::Failed), _) => Outcome::Failed,
        (_, Reached::Good) => Outcome::Good,
        (None, _) if next.is_none() && boot.boot_id == present => Outcome::Running,
        (Some(BootEnd::Orderly), _) => Outcome::ShutDown,
        (None, _) if next.is_some_and(|next| next.after_watchdog) => Outcome::Watchdog,
        (None, _) => Outcome::CutShort,
    }
}

/// Boots and states in one list, oldest first.
pub fn timeline(file: &StateFile, present: &str) -> Vec<Event> {
    let boots = boots(file, present);
    let home = |entry: &HistoryEntry| home_of(entry, &boots);
    // States of boots that are no longer listed come first.
    let strays = file.history.iter().filter(|entry| home(entry).is_none());
    let mut events: Vec<Event> = strays.cloned().map(Event::State).collect();
    for (index, boot) in boots.iter().enumerate() {
        events.push(Event::Boot(boot.clone()));
        let inside = file.history.iter().filter(|entry| home(entry) == Some(index));
        events.extend(inside.cloned().map(Event::State));
    }
    events
}

/// The boot in which a state was entered. A soft-reboot shares its id with the boot before it: then the time decides.
fn home_of(entry: &HistoryEntry, boots: &[BootLine]) -> Option<usize> {
    let same = |boot: &&BootLine| boot.boot_id == entry.boot_id;
    let begun = boots.iter().rposition(|boot| same(&boot) && boot.at <= entry.at);
    begun.or_else(|| boots.iter().position(|boot| same(&boot)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(boot_id: &str, at: i64, kind: BootKind) -> Boot {
        Boot {
            entry: Some("dtnforge".into()),
            tries_left: Some(2),
            tries_done: Some(1),
            ..Boot::begun(boot_id, kind, at)
        }
    }

    fn entered(boot_id: &str, at: i64, state: &str) -> HistoryEntry {
        HistoryEntry {
            at,
            boot_id: boot_id.into(),
            entered: state.into(),
            profile: None,
            reason: "test".into(),
        }
    }

    fn file(history: Vec<HistoryEntry>, boots: Vec<Boot>) -> StateFile {
        StateFile {
            history,
            boots,
            ..StateFile::default()
        }
    }

    fn names(file: &StateFile) -> Vec<String> {
        let name = |event: &Event| match event {
            Event::Boot(boot) => format!("boot {} {}", boot.boot_id, boot.outcome.name()),
            Event::State(entry) => entry.entered.clone(),
        };
        timeline(file, "b3").iter().map(name).collect()
    }

    #[test]
    fn states_follow_the_boot_in_which_they_were_entered_whatever_the_clock_says() {
        let orderly = Boot {
            end: Some(BootEnd::Orderly),
            ..boot("b1", 890, BootKind::Firmware)
        };
        let history = vec![
            entered("b0", 1, "stock"),
            entered("b1", 900, "baseline"),
            entered("b1", 950, "committed"),
            entered("b3", 20, "fallback"),
        ];
        let boots = vec![
            orderly,
            boot("b2", 5, BootKind::Firmware),
            boot("b3", 10, BootKind::Firmware),
        ];
        let file = file(history, boots);
        assert_eq!(
            names(&file),
            [
                "stock",
                "boot b1 shut-down",
                "baseline",
                "committed",
                "boot b2 cut-short",
                "boot b3 running",
                "fallback"
            ]
        );
    }

    #[test]
    fn a_soft_reboot_has_the_states_that_came_after_it() {
        let boots = vec![
            boot("b3", 10, BootKind::Firmware),
            boot("b3", 100, BootKind::Soft),
        ];
        let file = file(
            vec![entered("b3", 50, "committed"), entered("b3", 150, "held")],
            boots,
        );
        assert_eq!(
            names(&file),
            ["boot b3 cut-short", "committed", "boot b3 running", "held"]
        );
    }

    #[test]
    fn a_failure_outweighs_a_good_judgement_and_that_an_orderly_end() {
        let mut good = boot("b1", 1, BootKind::Firmware);
        good.reached = Reached::Good;
        good.end = Some(BootEnd::Orderly);
        assert_eq!(outcome(&good, None, "b3"), Outcome::Good);
        good.end = Some(BootEnd::Failed);
        assert_eq!(outcome(&good, None, "b3"), Outcome::Failed);
    }

    #[test]
    fn the_boot_before_the_mark_of_the_watchdog_was_ended_by_it() {
        let cut = boot("b1", 1, BootKind::Firmware);
        let next = Boot {
            after_watchdog: true,
            ..boot("b2", 2, BootKind::Firmware)
        };
        assert_eq!(outcome(&cut, Some(&next), "b2"), Outcome::Watchdog);
        assert_eq!(outcome(&next, None, "b2"), Outcome::Running);
    }
}
