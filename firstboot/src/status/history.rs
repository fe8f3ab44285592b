//! Boots and states for people: one line each, oldest first, each state below the boot in which it was entered.

use dtnforge_profiles::report::Moment;
use dtnforge_profiles::state::HistoryEntry;
use dtnforge_profiles::timeline::{BootLine, Event};
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// Writes the joined history.
pub(super) fn write(out: &mut String, timeline: &[Event]) -> std::fmt::Result {
    if timeline.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nhistory:")?;
    for event in timeline {
        match event {
            Event::Boot(boot) => writeln!(out, "  {}", boot_line(boot))?,
            Event::State(entry) => writeln!(out, "    {}", state_line(entry))?,
        }
    }
    Ok(())
}

/// The same lines for a report, with their times apart.
pub fn moments(timeline: &[Event]) -> Vec<Moment> {
    let at = |seconds: i64| rfc3339(seconds).unwrap_or_default();
    timeline
        .iter()
        .map(|event| match event {
            Event::Boot(boot) => Moment {
                at: at(boot.at),
                boot: true,
                what: boot_text(boot),
            },
            Event::State(entry) => Moment {
                at: at(entry.at),
                boot: false,
                what: state_text(entry),
            },
        })
        .collect()
}

/// A boot in one line: when, which, how it came about, what became of it.
pub fn boot_line(boot: &BootLine) -> String {
    format!("{} {}", when(boot.at), boot_text(boot))
}

fn boot_text(boot: &BootLine) -> String {
    let entry = boot.entry.as_deref().unwrap_or("entry unknown");
    let mut about = vec![format!("{entry}, {}", boot.kind.name())];
    if let (Some(done), Some(left)) = (boot.tries_done, boot.tries_left) {
        let uncounted = if boot.counted { "" } else { ", not counted" };
        about.push(format!("try {done}, {left} left{uncounted}"));
    }
    if boot.active {
        about.push("commit put in place".to_owned());
    }
    let outcome = boot.outcome.name();
    let reason = boot
        .reason
        .as_deref()
        .map_or_else(String::new, |why| format!(": {why}"));
    format!(
        "boot {} ({}) {outcome}{reason}",
        short(&boot.boot_id),
        about.join(", ")
    )
}

fn state_line(entry: &HistoryEntry) -> String {
    format!("{} {}", when(entry.at), state_text(entry))
}

fn state_text(entry: &HistoryEntry) -> String {
    let profile = entry
        .profile
        .as_deref()
        .map_or_else(String::new, |name| format!(" {name}"));
    format!("{}{profile}: {}", entry.entered, entry.reason)
}

fn short(boot_id: &str) -> &str {
    boot_id.get(..8).unwrap_or(boot_id)
}

/// RFC 3339, or as many dashes where a record has no time.
fn when(seconds: i64) -> String {
    rfc3339(seconds).unwrap_or_else(|| "-".repeat("1970-01-01T00:00:00Z".len()))
}

/// RFC 3339; `None` where a record has no time.
pub fn rfc3339(seconds: i64) -> Option<String> {
    let seconds = u64::try_from(seconds).ok().filter(|&seconds| seconds > 0)?;
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtnforge_profiles::state::{BootKind, Reached};
    use dtnforge_profiles::timeline::Outcome;

    fn boot() -> BootLine {
        BootLine {
            at: 1_764_500_000,
            boot_id: "0123456789abcdef".into(),
            entry: Some("dtnforge".into()),
            kind: BootKind::Firmware,
            tries_left: Some(2),
            tries_done: Some(1),
            counted: true,
            active: true,
            reached: Reached::Early,
            outcome: Outcome::Failed,
            reason: Some("sshd does not listen".into()),
        }
    }

    #[test]
    fn both_levels_are_one_list_and_states_stand_below_their_boot() {
        let entry = HistoryEntry {
            at: 1_764_500_060,
            boot_id: "0123456789abcdef".into(),
            entered: "committed".into(),
            profile: Some("dtn-vm".into()),
            reason: "kept".into(),
        };
        let mut out = String::new();
        write(&mut out, &[Event::Boot(boot()), Event::State(entry)]).unwrap();
        let expected = "
history:
  2025-11-30T10:53:20Z boot 01234567 (dtnforge, firmware, try 1, 2 left, commit put in place) failed: sshd does not listen
    2025-11-30T10:54:20Z committed dtn-vm: kept
";
        assert_eq!(out, expected);
    }

    #[test]
    fn what_is_not_known_is_not_invented() {
        let boot = BootLine {
            at: 0,
            entry: None,
            kind: BootKind::Unknown,
            tries_left: None,
            tries_done: None,
            counted: false,
            active: false,
            outcome: Outcome::CutShort,
            reason: None,
            ..boot()
        };
        assert_eq!(
            boot_line(&boot),
            "-------------------- boot 01234567 (entry unknown, unknown) cut-short"
        );
    }

    #[test]
    fn a_boot_with_a_counter_that_does_not_count_says_so() {
        let boot = BootLine {
            kind: BootKind::Kexec,
            counted: false,
            ..boot()
        };
        assert!(boot_line(&boot).contains("(dtnforge, kexec, try 1, 2 left, not counted,"));
    }
}
