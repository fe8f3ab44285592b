//! Where a value stands in the table of nodes, for messages.

use crate::spec::SpecError;
use dtnforge_profiles::suggest;
use std::path::Path;

/// The file that is checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Place<'_> {
    pub(super) fn at(self, key: &str, message: impl Into<String>) -> SpecError {
        SpecError::at(self.path, self.text, key, message)
    }

    pub(super) fn refuse(self, key: &str, found: &str, expected: &str) -> SpecError {
        self.at(key, format!("found {found:?}, expected {expected}"))
    }

    /// A name that nothing has.
    pub(super) fn unknown<'a>(
        self,
        key: &str,
        found: &str,
        expected: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> SpecError {
        let error = self.refuse(key, found, expected);
        match suggest::nearest(found, known) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// A value that reads as a `T`.
    pub(super) fn parse<T: std::str::FromStr>(
        self,
        key: &str,
        text: &str,
        expected: &str,
    ) -> Result<T, SpecError> {
        text.parse().map_err(|_| self.refuse(key, text, expected))
    }

    /// A number in its range.
    pub(super) fn range(
        self,
        key: &str,
        value: u32,
        range: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, SpecError> {
        if range.contains(&value) {
            return Ok(value);
        }
        let (low, high) = (range.start(), range.end());
        Err(self.at(key, format!("{value} is out of range, expected {low} to {high}")))
    }
}
