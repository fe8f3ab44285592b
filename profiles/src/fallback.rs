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
            Try::NoRecord => {
                "died before userspace (boot loader, kernel or initrd, or a power cut in one of them)"
                    .to_owned()
            }
            Try::CutShort(reached) => format!(
                "cut short {} (power cut, or a hang that nothing recorded)",
                after(*reached)
            ),
            Try::Watchdog(reached) => format!("reset by the watchdog {}", after(*reached)),
            Try::Shutdown(Reached::Good) => {
                "shut down after it was judged good, before the boot loader was told".to_owned()
            }
            Try::Shutdown(reached) => format!("shut down {}, before it was judged", after(*reached)),
            Try::Failed(reason) => format!("failed: {reason}"),
        }
    }
}

fn after(reached: Reached) -> &'static str {
    match reached {
        Reached::Early => "after the early unit",
        Reached::Agent => "after the agent had ended",
        Reached::Good => "after it was judged good, before the boot loader was told",
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
    /// The firmware started it, past the boot loader, while the tuned one has tries left.
    PastTheLoader(Option<Counter>),
    /// The boot loader gave the tuned entry up.
    Fallback(Conclusion),
}

/// Concludes what `boot` means, when it is one of the stock entry.
pub fn of_stock_boot(file: &StateFile, boot: &Boot, tuned: &TunedEntry) -> StockBoot {
    if boot.entry.as_deref() != Some(STOCK_ENTRY)
        || !matches!(boot.kind, BootKind::Firmware | BootKind::Direct)
    {
        return StockBoot::NothingNew;
    }
    let known = fallback_in(&file.state).is_some_and(|fallback| fallback.boot_id != boot.boot_id);
    match tuned {
        TunedEntry::Unknown => StockBoot::NothingNew,
        TunedEntry::There(counter) if !counter.is_some_and(Counter::is_exhausted) => match boot.kind {
            BootKind::Direct => StockBoot::PastTheLoader(*counter),
            _ => StockBoot::PickedByHand,
        },
        _ if known => StockBoot::NothingNew,
        TunedEntry::There(counter) => StockBoot::Fallback(conclude(
            file.boots_since_arming(),
            counter.unwrap_or(Counter::EXHAUSTED),
        )),
        TunedEntry::Missing(why) => StockBoot::Fallback(missing(why)),
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
        let cause = mixed(&tries);
        return Conclusion { cause, reason };
    }
    let same = ends.iter().all(|words| *words == ends[0]);
    let reason = match first_cause {
        _ if same => format!("{count} {}", ends[0]),
        Cause::CutShort => format!("{count} cut short (power cut, or a hang that nothing recorded)"),
        Cause::Watchdog => format!("{count} reset by the watchdog"),
        _ => format!("{count} failed: {}", reasons(&ends)),
    };
    Conclusion {
        cause: first_cause,
        reason,
    }
}

/// The reasons alone, where it was said before that all failed. What each boot has in brackets, such as the units that
/// were still starting, differs by chance: where only that differs, the last one stands for all.
fn reasons(ends: &[String]) -> String {
    let reasons: Vec<String> = ends
        .iter()
        .map(|words| words.trim_start_matches("failed: ").to_owned())
        .collect();
    let heads: Vec<&str> = reasons.iter().map(|reason| head(reason)).collect();
    match reasons.last() {
        Some(last) if heads.iter().all(|other| *other == head(last)) => match last.split_once(" (") {
            Some((head, bracket)) => format!("{head} (in the last: {bracket}"),
            None => last.clone(),
        },
        _ => numbered(&reasons),
    }
}

/// A reason without what it has in brackets.
fn head(reason: &str) -> &str {
    reason.split(" (").next().unwrap_or(reason)
}

/// What tries that ended differently have in common. A power cut leaves no record when it falls into the initrd; where
/// another one was cut short after it, the entry has shown that its initrd works, and power is the nearer cause.
fn mixed(tries: &[Try<'_>]) -> Cause {
    let may_be_power = |end: &Try<'_>| matches!(end.cause(), Cause::CutShort | Cause::BeforeUserspace);
    if tries.iter().all(may_be_power) {
        Cause::CutShort
    } else {
        Cause::Mixed
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

/// How each try ended. A try that was given back has its number used again, so the later record of a number counts.
/// A good boot ends a counting, and what comes later belongs to another, unless its number is higher: then the boot
/// loader was never told of the good one.
fn tries(boots: &[Boot], done: u32) -> Vec<Try<'_>> {
    let mut records: BTreeMap<u32, usize> = BTreeMap::new();
    let mut ended: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, boot) in boots.iter().enumerate() {
        let Some(number) = boot.tries_done.filter(|_| boot.is_counted()) else {
            continue;
        };
        records.append(&mut ended);
        // A lower number than before: these are the tries of another counting, or one that was given back.
        records.retain(|known, _| *known < number);
        records.insert(number, index);
        if boot.reached == Reached::Good && boot.end != Some(BootEnd::Failed) {
            ended = std::mem::take(&mut records);
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
mod tests;
