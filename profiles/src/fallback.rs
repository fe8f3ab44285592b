//! Why the boot loader fell back to the stock entry, concluded from what the dead boots left behind.
//!
//! Each try of the tuned entry is one number of the counter. A boot that reached userspace left a record with that
//! number; a try without a record died before userspace. Nothing is guessed: what the records cannot tell is named as
//! what it could have been.

use crate::bootcount::{Counter, STOCK_ENTRY};
use crate::site::RetryAfterFallback;
use crate::state::{Boot, BootEnd, BootKind, Reached, State, StateFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What ended the tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The boot loader, the kernel or the initrd: no try left a record.
    BeforeUserspace,
    /// Power cuts, or hangs that nothing recorded.
    CutShort,
    /// Userspace gave each try up and said why.
    Failed,
    /// The watchdog reset the machine.
    Watchdog,
    /// Different tries ended differently.
    Mixed,
    /// The tuned entry is not there, or is nothing that the boot loader takes for an entry.
    Missing,
}

impl Cause {
    /// The name used in files and for people.
    pub fn name(self) -> &'static str {
        match self {
            Cause::BeforeUserspace => "before-userspace",
            Cause::CutShort => "cut-short",
            Cause::Failed => "failed",
            Cause::Watchdog => "watchdog",
            Cause::Mixed => "mixed",
            Cause::Missing => "missing",
        }
    }
}

/// Why the tuned entry was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// What kind of end.
    pub cause: Cause,
    /// One sentence, with the number of tries.
    pub reason: String,
}

/// A node in the stock entry, because the boot loader gave the tuned one up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// What kind of end.
    pub cause: Cause,
    /// One sentence, with the number of tries.
    pub reason: String,
    /// The boot in which this was concluded.
    pub boot_id: String,
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// The state before; `retry` returns to its commit.
    pub former: Box<State>,
}

impl Fallback {
    /// Whether the node may try the tuned entry again by itself, having done so `retried` times since a tuned boot was
    /// good.
    pub fn may_retry(&self, policy: RetryAfterFallback, retried: u32) -> bool {
        let allowed = match policy {
            RetryAfterFallback::CutShort => self.cause == Cause::CutShort,
            // An entry that is not there does not come back by trying.
            RetryAfterFallback::Once => self.cause != Cause::Missing,
            RetryAfterFallback::Never => false,
        };
        allowed && retried == 0
    }
}

/// How one try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Try<'a> {
    NoRecord,
    CutShort(Reached),
    Watchdog(Reached),
    Shutdown(Reached),
    Failed(&'a str),
}

impl Try<'_> {
    fn cause(&self) -> Cause {
        match self {
            Try::NoRecord => Cause::BeforeUserspace,
            Try::CutShort(_) | Try::Shutdown(_) => Cause::CutShort,
            Try::Watchdog(_) => Cause::Watchdog,
            Try::Failed(_) => Cause::Failed,
        }
    }

    fn words(&self) -> String {
        match self {
            Try::NoRecord => "died before userspace (kernel, initrd or boot loader)".to_owned(),
            Try::CutShort(reached) => format!(
                "cut short {} (power cut, or a hang that nothing recorded)",
                after(*reached)
            ),
            Try::Watchdog(reached) => format!("reset by the watchdog {}", after(*reached)),
            Try::Shutdown(reached) => format!("shut down {}, before it was judged", after(*reached)),
            Try::Failed(reason) => format!("failed: {reason}"),
        }
    }
}

fn after(reached: Reached) -> &'static str {
    match reached {
        Reached::Early => "after the early unit",
        Reached::Agent | Reached::Good => "after the agent had ended",
    }
}

/// What is known of the tuned entry while the stock one runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TunedEntry {
    /// Nothing: it could not be looked at.
    Unknown,
    /// The boot loader has no such entry, for this reason.
    Missing(String),
    /// It is there, with this counter.
    There(Option<Counter>),
}

/// What a boot of the stock entry means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StockBoot {
    /// Nothing new: another kind of boot or entry, a fallback known already, or nothing can be told.
    NothingNew,
    /// Somebody picked the stock entry: the tuned one had tries left.
    PickedByHand,
    /// The boot loader gave the tuned entry up.
    Fallback(Conclusion),
}

/// Concludes what `boot` means, when it is one of the stock entry.
pub fn of_stock_boot(file: &StateFile, boot: &Boot, tuned: &TunedEntry) -> StockBoot {
    if boot.entry.as_deref() != Some(STOCK_ENTRY) || boot.kind != BootKind::Firmware {
        return StockBoot::NothingNew;
    }
    let known = fallback_in(&file.state).is_some_and(|fallback| fallback.boot_id != boot.boot_id);
    match tuned {
        TunedEntry::Unknown => StockBoot::NothingNew,
        TunedEntry::There(Some(counter)) if counter.is_exhausted() && !known => {
            StockBoot::Fallback(conclude(file.boots_since_arming(), *counter))
        }
        TunedEntry::Missing(why) if !known => StockBoot::Fallback(missing(why)),
        TunedEntry::There(Some(counter)) if counter.is_exhausted() => StockBoot::NothingNew,
        TunedEntry::There(_) => StockBoot::PickedByHand,
        TunedEntry::Missing(_) => StockBoot::NothingNew,
    }
}

/// The fallback that a state is or, when held, was.
fn fallback_in(state: &State) -> Option<&Fallback> {
    match state {
        State::Fallback(fallback) => Some(fallback),
        State::Held { previous } => fallback_in(previous),
        _ => None,
    }
}

/// Concludes from the boots recorded since the counter was armed, oldest first, the present one included, and from
/// the counter that the present boot found. `boots` may begin earlier when nobody knows when it was armed.
pub fn conclude(boots: &[Boot], counter: Counter) -> Conclusion {
    let tries = tries(boots, counter.done);
    let ends: Vec<String> = tries.iter().map(Try::words).collect();
    let count = match tries.len() {
        0 => return unused(counter),
        1 => "1 tuned boot".to_owned(),
        count => format!("{count} tuned boots"),
    };
    let first_cause = tries[0].cause();
    if tries.iter().any(|end| end.cause() != first_cause) {
        let reason = format!("{count} ended differently: {}", numbered(&ends));
        return Conclusion {
            cause: Cause::Mixed,
            reason,
        };
    }
    let same = ends.iter().all(|words| *words == ends[0]);
    let reason = match first_cause {
        _ if same => format!("{count} {}", ends[0]),
        Cause::CutShort => format!("{count} cut short (power cut, or a hang that nothing recorded)"),
        Cause::Watchdog => format!("{count} reset by the watchdog"),
        _ => format!("{count} failed: {}", numbered(&ends)),
    };
    Conclusion {
        cause: first_cause,
        reason,
    }
}

/// `1: ...; 2: ...`.
fn numbered(ends: &[String]) -> String {
    let each: Vec<String> = ends
        .iter()
        .zip(1..)
        .map(|(words, number)| format!("{number}: {words}"))
        .collect();
    each.join("; ")
}

/// The counter shows no try: somebody renamed the file to `+0`.
fn unused(counter: Counter) -> Conclusion {
    Conclusion {
        cause: Cause::Missing,
        reason: format!("the tuned entry has no try left and none was used (its counter is {counter})"),
    }
}

/// What is concluded when the boot loader took the stock entry and the tuned one is no choice at all.
pub fn missing(why: &str) -> Conclusion {
    Conclusion {
        cause: Cause::Missing,
        reason: format!("the tuned entry cannot be booted: {why}"),
    }
}

/// How each try ended. A try that was given back has its number used again, so the later record of a number counts;
/// a good boot ends a counting, and what comes later belongs to another.
fn tries(boots: &[Boot], done: u32) -> Vec<Try<'_>> {
    let mut records: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, boot) in boots.iter().enumerate() {
        let Some(number) = boot.tries_done.filter(|_| boot.is_counted()) else {
            continue;
        };
        if boot.reached == Reached::Good && boot.end != Some(BootEnd::Failed) {
            records.clear();
        } else {
            // A lower number than before: these are the tries of another counting, or one that was given back.
            records.retain(|known, _| *known < number);
            records.insert(number, index);
        }
    }
    (1..=done)
        .map(|number| match records.get(&number) {
            Some(index) => end_of(&boots[*index], boots.get(index + 1)),
            None => Try::NoRecord,
        })
        .collect()
}

fn end_of<'a>(boot: &'a Boot, next: Option<&Boot>) -> Try<'a> {
    match boot.end {
        Some(BootEnd::Failed) => Try::Failed(boot.reason.as_deref().unwrap_or("no reason was recorded")),
        Some(BootEnd::Orderly) => Try::Shutdown(boot.reached),
        None if next.is_some_and(|next| next.after_watchdog) => Try::Watchdog(boot.reached),
        None => Try::CutShort(boot.reached),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::BootKind;

    const EXHAUSTED: Counter = Counter { left: 0, done: 3 };

    fn boot(entry: &str, kind: BootKind, done: Option<u32>) -> Boot {
        Boot {
            entry: Some(entry.into()),
            tries_left: done.map(|done| 3 - done),
            tries_done: done,
            active: true,
            ..Boot::begun(&format!("b-{entry}-{done:?}"), kind, 0)
        }
    }

    fn tuned(done: u32) -> Boot {
        boot("dtnforge", BootKind::Firmware, Some(done))
    }

    fn stock() -> Boot {
        boot("stock", BootKind::Firmware, None)
    }

    fn failed(done: u32, reason: &str) -> Boot {
        Boot {
            end: Some(BootEnd::Failed),
            reason: Some(reason.into()),
            ..tuned(done)
        }
    }

    fn good(done: u32) -> Boot {
        Boot {
            reached: Reached::Good,
            ..tuned(done)
        }
    }

    fn concluded(boots: &[Boot]) -> (Cause, String) {
        let Conclusion { cause, reason } = conclude(boots, EXHAUSTED);
        (cause, reason)
    }

    #[test]
    fn tries_without_a_record_died_before_userspace() {
        let (cause, reason) = concluded(&[stock()]);
        assert_eq!(cause, Cause::BeforeUserspace);
        assert_eq!(
            reason,
            "3 tuned boots died before userspace (kernel, initrd or boot loader)"
        );
    }

    #[test]
    fn records_that_just_end_are_boots_cut_short() {
        let (cause, reason) = concluded(&[tuned(1), tuned(2), tuned(3), stock()]);
        assert_eq!(cause, Cause::CutShort);
        assert_eq!(
            reason,
            "3 tuned boots cut short after the early unit (power cut, or a hang that nothing recorded)"
        );
        let agent = Boot {
            reached: Reached::Agent,
            ..tuned(3)
        };
        let (cause, reason) = concluded(&[tuned(1), tuned(2), agent, stock()]);
        assert_eq!(cause, Cause::CutShort);
        assert_eq!(
            reason,
            "3 tuned boots cut short (power cut, or a hang that nothing recorded)"
        );
    }

    #[test]
    fn a_recorded_failure_is_the_reason() {
        let boots: Vec<Boot> = (1..=3).map(|done| failed(done, "sshd does not listen")).collect();
        assert_eq!(
            concluded(&boots),
            (Cause::Failed, "3 tuned boots failed: sshd does not listen".into())
        );
        let mut boots = boots;
        boots[1].reason = Some("basic.target timed out".into());
        let (cause, reason) = concluded(&boots);
        assert_eq!(cause, Cause::Failed);
        assert!(reason.contains("2: failed: basic.target timed out"), "{reason}");
    }

    #[test]
    fn the_watchdog_is_named_where_the_boot_after_saw_its_mark() {
        let woken = |done| Boot {
            after_watchdog: true,
            ..tuned(done)
        };
        let last = Boot {
            after_watchdog: true,
            ..stock()
        };
        let (cause, reason) = concluded(&[tuned(1), woken(2), woken(3), last]);
        assert_eq!(cause, Cause::Watchdog);
        assert_eq!(reason, "3 tuned boots reset by the watchdog after the early unit");
    }

    #[test]
    fn a_mixture_names_each_try() {
        let (cause, reason) = concluded(&[tuned(1), failed(3, "agent did not end"), stock()]);
        assert_eq!(cause, Cause::Mixed);
        assert!(
            reason.starts_with("3 tuned boots ended differently: 1: cut short"),
            "{reason}"
        );
        assert!(reason.contains("; 2: died before userspace"), "{reason}");
        assert!(reason.contains("; 3: failed: agent did not end"), "{reason}");
    }

    #[test]
    fn a_good_boot_is_no_try_of_the_counting_after_it() {
        let (cause, _) = concluded(&[good(1), stock()]);
        assert_eq!(cause, Cause::BeforeUserspace);
        let (cause, reason) = concluded(&[tuned(1), good(2), tuned(3), stock()]);
        assert_eq!(cause, Cause::Mixed, "{reason}");
    }

    #[test]
    fn a_try_that_was_given_back_does_not_count_twice() {
        let given_back = Boot {
            end: Some(BootEnd::Orderly),
            ..tuned(1)
        };
        let (cause, reason) = concluded(&[given_back, tuned(1), tuned(2), tuned(3), stock()]);
        assert_eq!(
            (cause, reason.starts_with("3 tuned boots")),
            (Cause::CutShort, true)
        );
    }

    #[test]
    fn records_of_an_older_counting_do_not_fill_the_gaps_of_a_newer_one() {
        let (cause, reason) = concluded(&[tuned(1), tuned(2), stock(), tuned(1), stock()]);
        assert_eq!(cause, Cause::Mixed);
        assert!(reason.contains("2: died before userspace"), "{reason}");
    }

    #[test]
    fn a_good_boot_whose_counter_stayed_is_told_as_what_failed() {
        let unblessed = |done| Boot {
            reached: Reached::Good,
            ..failed(done, "the boot was good, but its counter could not be taken off")
        };
        let (cause, reason) = concluded(&[unblessed(1), unblessed(2), unblessed(3), stock()]);
        assert_eq!(cause, Cause::Failed);
        assert!(reason.contains("its counter could not be taken off"), "{reason}");
    }

    #[test]
    fn boots_that_do_not_count_are_left_out() {
        let kexec = boot("dtnforge", BootKind::Kexec, Some(1));
        assert_eq!(concluded(&[kexec, stock()]).0, Cause::BeforeUserspace);
    }

    #[test]
    fn a_counter_without_any_use_is_told_as_such() {
        let conclusion = conclude(&[stock()], Counter { left: 0, done: 0 });
        assert_eq!(conclusion.cause, Cause::Missing);
        assert!(
            conclusion.reason.contains("its counter is +0"),
            "{}",
            conclusion.reason
        );
    }

    fn committed_file(boots: &[Boot]) -> StateFile {
        StateFile {
            boots: boots.to_vec(),
            ..StateFile::stock("test")
        }
    }

    #[test]
    fn a_stock_boot_with_an_exhausted_tuned_entry_is_a_fallback_and_one_with_tries_left_was_picked() {
        let file = committed_file(&[tuned(1), tuned(2), tuned(3), stock()]);
        let of = |tuned: TunedEntry| of_stock_boot(&file, &stock(), &tuned);
        let StockBoot::Fallback(conclusion) = of(TunedEntry::There(Some(EXHAUSTED))) else {
            panic!("expected a fallback")
        };
        assert_eq!(conclusion.cause, Cause::CutShort);
        assert_eq!(
            of(TunedEntry::There(Some(Counter::ARMED))),
            StockBoot::PickedByHand
        );
        assert_eq!(of(TunedEntry::There(None)), StockBoot::PickedByHand);
        assert_eq!(of(TunedEntry::Unknown), StockBoot::NothingNew);
        let StockBoot::Fallback(conclusion) = of(TunedEntry::Missing("no such file".into())) else {
            panic!("expected a fallback")
        };
        assert_eq!(
            conclusion.reason,
            "the tuned entry cannot be booted: no such file"
        );
    }

    #[test]
    fn later_boots_of_the_stock_entry_do_not_conclude_again_but_the_same_boot_may() {
        let mut file = committed_file(&[stock()]);
        let exhausted = TunedEntry::There(Some(EXHAUSTED));
        let first = stock();
        let StockBoot::Fallback(conclusion) = of_stock_boot(&file, &first, &exhausted) else {
            panic!("expected a fallback")
        };
        file.fall_back(conclusion, &first.boot_id, 1);
        assert!(matches!(
            of_stock_boot(&file, &first, &exhausted),
            StockBoot::Fallback(_)
        ));
        let later = Boot {
            boot_id: "later".into(),
            ..stock()
        };
        assert_eq!(of_stock_boot(&file, &later, &exhausted), StockBoot::NothingNew);
        file.state = State::Held {
            previous: Box::new(file.state.clone()),
        };
        assert_eq!(of_stock_boot(&file, &later, &exhausted), StockBoot::NothingNew);
    }

    #[test]
    fn only_a_boot_of_the_stock_entry_through_the_firmware_can_be_a_fallback() {
        let file = committed_file(&[]);
        let exhausted = TunedEntry::There(Some(EXHAUSTED));
        for boot in [
            tuned(1),
            boot("stock", BootKind::Kexec, None),
            boot("stock", BootKind::Soft, None),
        ] {
            assert_eq!(
                of_stock_boot(&file, &boot, &exhausted),
                StockBoot::NothingNew,
                "{boot:?}"
            );
        }
    }

    #[test]
    fn the_policy_decides_who_may_try_again_and_only_once() {
        let fallback = |cause| Fallback {
            cause,
            reason: String::new(),
            boot_id: String::new(),
            at: 0,
            former: Box::new(State::Stock { why: String::new() }),
        };
        let may = |cause, policy, retried| fallback(cause).may_retry(policy, retried);
        assert!(may(Cause::CutShort, RetryAfterFallback::CutShort, 0));
        assert!(!may(Cause::CutShort, RetryAfterFallback::CutShort, 1));
        assert!(!may(Cause::Failed, RetryAfterFallback::CutShort, 0));
        assert!(may(Cause::Failed, RetryAfterFallback::Once, 0));
        assert!(!may(Cause::Missing, RetryAfterFallback::Once, 0));
        assert!(!may(Cause::CutShort, RetryAfterFallback::Never, 0));
    }
}
