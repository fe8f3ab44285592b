//! The boots of one guest: each time that it started, how that came, and how soon it could be used.

use std::time::Duration;

use serde_json::{Value, json};

/// How a boot came about, as far as it can be told from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// The machine was switched on.
    PowerOn,
    /// The guest reset itself: a reboot, or a panic.
    GuestReset,
    /// The watchdog device reset it.
    Watchdog,
    /// The power failed and came back.
    PowerCycle,
    /// Its userspace was told to start again, under the same kernel.
    SoftReboot,
    /// It was told to start another kernel from the running one.
    Kexec,
}

impl Began {
    fn name(self) -> &'static str {
        match self {
            Began::PowerOn => "power-on",
            Began::GuestReset => "guest-reset",
            Began::Watchdog => "watchdog",
            Began::PowerCycle => "power-cycle",
            Began::SoftReboot => "soft-reboot",
            Began::Kexec => "kexec",
        }
    }
}

/// One boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// How it came about.
    pub by: Began,
    /// When, since the machine was first switched on.
    pub at: Duration,
    /// Length of the console's log at that moment, in bytes.
    pub console_at: u64,
    /// When sshd answered, since the boot began.
    pub reachable: Option<Duration>,
    /// When the guest's shell answered, since the boot began.
    pub shell: Option<Duration>,
}

/// All boots so far; there is always one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boots {
    before: Vec<Boot>,
    now: Boot,
}

impl Boot {
    fn new(by: Began, at: Duration, console_at: u64) -> Boot {
        Boot {
            by,
            at,
            console_at,
            reachable: None,
            shell: None,
        }
    }

    fn sentence(&self) -> String {
        let seconds = |time: Option<Duration>| match time {
            Some(time) => format!("{:.1} s", time.as_secs_f64()),
            None => "never".to_owned(),
        };
        format!(
            "{} at {:.1} s, sshd answered after {}, shell after {}",
            self.by.name(),
            self.at.as_secs_f64(),
            seconds(self.reachable),
            seconds(self.shell)
        )
    }

    fn to_json(&self) -> Value {
        let seconds = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        json!({
            "by": self.by.name(),
            "at": seconds(self.at),
            "console_at": self.console_at,
            "seconds_reachable": self.reachable.map(seconds),
            "seconds_shell": self.shell.map(seconds),
        })
    }
}

impl Default for Boots {
    fn default() -> Boots {
        Boots {
            before: Vec::new(),
            now: Boot::new(Began::PowerOn, Duration::ZERO, 0),
        }
    }
}

impl Boots {
    /// A boot begins.
    pub fn begin(&mut self, by: Began, at: Duration, console_at: u64) {
        let last = std::mem::replace(&mut self.now, Boot::new(by, at, console_at));
        self.before.push(last);
    }

    /// The present boot.
    pub fn now(&self) -> &Boot {
        &self.now
    }

    /// sshd answered; `at` is since the machine was first switched on. Only the first answer of a boot counts.
    pub fn reached(&mut self, at: Duration) {
        self.now.reachable.get_or_insert(at.saturating_sub(self.now.at));
    }

    /// The shell answered; as [`Boots::reached`].
    pub fn shell(&mut self, at: Duration) {
        self.now.shell.get_or_insert(at.saturating_sub(self.now.at));
    }

    /// How many there are, at least 1.
    pub fn count(&self) -> usize {
        self.before.len() + 1
    }

    /// How often the guest started again by itself or its watchdog.
    pub fn resets(&self) -> usize {
        let is_reset = |boot: &&Boot| matches!(boot.by, Began::GuestReset | Began::Watchdog);
        self.iter().filter(is_reset).count()
    }

    /// From the first to the present one.
    pub fn iter(&self) -> impl Iterator<Item = &Boot> {
        self.before.iter().chain(std::iter::once(&self.now))
    }

    /// A line for each boot, when there is more than one.
    pub fn story(&self) -> Vec<String> {
        let numbered = (1..).zip(self.iter());
        numbered
            .filter(|_| self.count() > 1)
            .map(|(number, boot)| format!("boot {number}: {}", boot.sentence()))
            .collect()
    }

    /// The list in the report for scripts.
    pub fn to_json(&self) -> Value {
        self.iter().map(Boot::to_json).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn times_of_a_boot_count_from_its_own_start_and_only_once() {
        let mut boots = Boots::default();
        boots.begin(Began::GuestReset, seconds(50), 1234);
        boots.reached(seconds(90));
        boots.reached(seconds(95));
        boots.shell(seconds(80));
        assert_eq!((boots.count(), boots.resets()), (2, 1));
        assert_eq!(
            boots.story(),
            [
                "boot 1: power-on at 0.0 s, sshd answered after never, shell after never",
                "boot 2: guest-reset at 50.0 s, sshd answered after 40.0 s, shell after 30.0 s"
            ]
        );
        assert_eq!(
            boots.to_json()[1],
            json!({ "by": "guest-reset", "at": 50.0, "console_at": 1234, "seconds_reachable": 40.0,
                    "seconds_shell": 30.0 })
        );
    }

    #[test]
    fn a_power_cut_is_no_reset_by_the_guest() {
        let mut boots = Boots::default();
        assert!(boots.story().is_empty());
        boots.begin(Began::PowerCycle, seconds(10), 0);
        boots.begin(Began::Watchdog, seconds(20), 0);
        assert_eq!(boots.resets(), 1);
    }
}
