//! The boot counter, which is nothing but a file name on the EFI system partition.
//!
//! systemd-boot takes `dtnforge+3.efi`, renames it to `dtnforge+2-1.efi` and starts it: three tries, of which one is
//! used. At `+0-3` no try is left and the other entry is booted. After a good boot the counter is taken off the name;
//! to arm it again is to rename the file once more.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The entry that tunes, and that is counted.
pub const TUNED_ENTRY: &str = "dtnforge";
/// The entry that never tunes.
pub const STOCK_ENTRY: &str = "stock";
/// Where both lie, relative to the root of the EFI system partition.
pub const ENTRY_DIR: &str = "EFI/Linux";
/// Tries that an armed entry has.
pub const TRIES: u32 = 3;

/// Tries of an entry, as its file name says them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Tries left.
    pub left: u32,
    /// Tries used.
    pub done: u32,
}

impl Counter {
    /// All tries left, none used.
    pub const ARMED: Counter = Counter { left: TRIES, done: 0 };

    /// No try left, all used.
    pub const EXHAUSTED: Counter = Counter { left: 0, done: TRIES };

    /// Whether no try is left: the boot loader takes another entry when there is one.
    pub fn is_exhausted(self) -> bool {
        self.left == 0
    }

    /// One try given back; `None` when none was used.
    #[must_use]
    pub fn given_back(self) -> Option<Counter> {
        let done = self.done.checked_sub(1)?;
        let left = self.left.saturating_add(1);
        Some(Counter { left, done })
    }
}

impl fmt::Display for Counter {
    /// As in a file name: `+3`, `+2-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.done {
            0 => write!(f, "+{}", self.left),
            done => write!(f, "+{}-{done}", self.left),
        }
    }
}

/// An entry's file name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryName {
    /// Without counter and ending: `dtnforge`.
    pub name: String,
    /// The counter, when there is one.
    pub counter: Option<Counter>,
}

impl EntryName {
    /// Takes `dtnforge+2-1.efi` apart, or a whole path that ends so (`\EFI\Linux\dtnforge+2-1.efi`). What is no
    /// counter belongs to the name, as systemd-boot reads it.
    pub fn parse(file: &str) -> Self {
        let file = file.rsplit(['\\', '/']).next().unwrap_or(file);
        let stem = file
            .strip_suffix(".efi")
            .or_else(|| file.strip_suffix(".EFI"))
            .or_else(|| file.strip_suffix(".conf"))
            .unwrap_or(file);
        let counted = stem
            .rsplit_once('+')
            .and_then(|(name, counter)| Some((name, parse_counter(counter)?)));
        match counted {
            Some((name, counter)) => Self {
                name: name.to_owned(),
                counter: Some(counter),
            },
            None => Self {
                name: stem.to_owned(),
                counter: None,
            },
        }
    }

    /// Whether this is the entry called `name`. FAT does not tell upper from lower case, and systemd-boot reports
    /// lower case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// This entry with another counter, or none.
    #[must_use]
    pub fn with(&self, counter: Option<Counter>) -> Self {
        Self {
            name: self.name.clone(),
            counter,
        }
    }
}

impl fmt::Display for EntryName {
    /// The file name of a UKI.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(counter) = self.counter {
            write!(f, "{counter}")?;
        }
        f.write_str(".efi")
    }
}

fn parse_counter(text: &str) -> Option<Counter> {
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().ok())
            .flatten()
    };
    match text.split_once('-') {
        Some((left, done)) => Some(Counter {
            left: digits(left)?,
            done: digits(done)?,
        }),
        None => Some(Counter {
            left: digits(text)?,
            done: 0,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(left: u32, done: u32) -> Option<Counter> {
        Some(Counter { left, done })
    }

    #[test]
    fn names_are_taken_apart_as_the_boot_loader_does() {
        let table = [
            ("dtnforge+3.efi", "dtnforge", counter(3, 0)),
            ("dtnforge+2-1.efi", "dtnforge", counter(2, 1)),
            ("dtnforge+0-3.efi", "dtnforge", counter(0, 3)),
            (r"\EFI\Linux\dtnforge+1-2.efi", "dtnforge", counter(1, 2)),
            ("EFI/Linux/dtnforge+1-2.efi", "dtnforge", counter(1, 2)),
            ("DTNFORGE.EFI", "DTNFORGE", None),
            ("stock.efi", "stock", None),
            ("a+b.efi", "a+b", None),
            ("a+1+2.efi", "a+1", counter(2, 0)),
            ("a+.efi", "a+", None),
            ("a+1-.efi", "a+1-", None),
            ("a+-1.efi", "a+-1", None),
            ("a++1.efi", "a+", counter(1, 0)),
            ("a+99999999999.efi", "a+99999999999", None),
            ("", "", None),
        ];
        for (file, name, counter) in table {
            let parsed = EntryName::parse(file);
            assert_eq!((parsed.name.as_str(), parsed.counter), (name, counter), "{file}");
        }
    }

    #[test]
    fn a_name_is_written_as_it_was_read() {
        for file in [
            "dtnforge+3.efi",
            "dtnforge+2-1.efi",
            "dtnforge.efi",
            "dtnforge+0-3.efi",
        ] {
            assert_eq!(EntryName::parse(file).to_string(), file);
        }
    }

    #[test]
    fn a_try_is_given_back_only_when_one_was_used() {
        assert_eq!(Counter { left: 2, done: 1 }.given_back(), counter(3, 0));
        assert_eq!(Counter { left: 0, done: 3 }.given_back(), counter(1, 2));
        assert_eq!(Counter::ARMED.given_back(), None);
    }

    #[test]
    fn case_does_not_matter_on_fat() {
        assert!(EntryName::parse("DTNFORGE+3.efi").is(TUNED_ENTRY));
        assert!(!EntryName::parse("stock.efi").is(TUNED_ENTRY));
    }
}
