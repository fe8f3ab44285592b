//! The attributes of one directory of sysfs, and the errors that came up while reading them.
//!
//! A missing file gives `None` and no error; whatever else goes wrong gives `None` and an entry in `errors` under the
//! name of the fact, with the file and the cause. Nothing becomes a default.

use super::source::{ONE_VALUE, ReadError, Source};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A directory of attributes that is being read into facts.
pub(super) struct Attributes<'a> {
    source: &'a dyn Source,
    directory: String,
    /// What failed: name of the fact, file and cause.
    pub(super) errors: BTreeMap<String, String>,
}

impl<'a> Attributes<'a> {
    /// The attributes in `directory`.
    pub(super) fn of(source: &'a dyn Source, directory: &str) -> Self {
        Self {
            source,
            directory: directory.to_owned(),
            errors: BTreeMap::new(),
        }
    }

    /// The path of one of them; an absolute `file` is a path already.
    pub(super) fn path(&self, file: &str) -> String {
        if file.starts_with('/') {
            return file.to_owned();
        }
        format!("{}/{file}", self.directory)
    }

    /// Notes that `fact` could not be read from `file`.
    pub(super) fn failed(&mut self, fact: &str, file: &str, error: &ReadError) {
        let text = format!("{}: {error}", self.path(file));
        self.errors.insert(fact.to_owned(), text);
    }

    /// Keeps what was read, or notes why not.
    pub(super) fn keep<T>(&mut self, fact: &str, file: &str, result: Result<T, ReadError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(ReadError::Missing) => None,
            Err(error) => {
                self.failed(fact, file, &error);
                None
            }
        }
    }

    /// The trimmed text of `file`, as it is.
    pub(super) fn raw(&self, file: &str) -> Result<String, ReadError> {
        let text = self.source.text(&self.path(file), ONE_VALUE)?;
        Ok(text
            .trim_matches(|c: char| c.is_whitespace() || c == '\0')
            .to_owned())
    }

    /// A text; an empty one counts as absent.
    pub(super) fn text(&mut self, fact: &str, file: &str) -> Option<String> {
        let raw = self.raw(file);
        self.keep(fact, file, raw).filter(|text| !text.is_empty())
    }

    /// A number; an empty file is an error, since the kernel always has one.
    pub(super) fn number<T: FromStr>(&mut self, fact: &str, file: &str) -> Option<T> {
        let raw = self.raw(file);
        let number = raw.and_then(|text| number(&text));
        self.keep(fact, file, number)
    }

    /// `1` or `0`.
    pub(super) fn switch(&mut self, fact: &str, file: &str) -> Option<bool> {
        let raw = self.raw(file);
        let switch = raw.and_then(|text| switch(&text));
        self.keep(fact, file, switch)
    }
}

/// A number out of the text of an attribute.
///
/// # Errors
/// When it is none, or does not fit `T`.
pub(super) fn number<T: FromStr>(text: &str) -> Result<T, ReadError> {
    text.parse().map_err(|_| ReadError::odd(text, "a number"))
}

/// `1` or `0` out of the text of an attribute.
fn switch(text: &str) -> Result<bool, ReadError> {
    match text {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(ReadError::odd(text, "0 or 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;

    #[test]
    fn what_cannot_be_read_is_noted_under_the_name_of_the_fact() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mtu"), "many\n").unwrap();
        std::fs::write(dir.path().join("carrier"), "2\n").unwrap();
        std::fs::write(dir.path().join("empty"), "\n").unwrap();
        let host = Host::at(dir.path(), None);
        let mut attributes = Attributes::of(&host, "");
        assert_eq!(attributes.number::<u32>("mtu", "mtu"), None);
        assert_eq!(attributes.switch("carrier", "carrier"), None);
        assert_eq!(attributes.number::<u32>("speed", "empty"), None);
        assert_eq!(attributes.number::<u32>("width", "nothing"), None);
        assert_eq!(attributes.text("family", "empty"), None);
        let errors: Vec<_> = attributes.errors.values().map(String::as_str).collect();
        assert_eq!(
            errors,
            [
                "/carrier: holds \"2\", expected 0 or 1",
                "/mtu: holds \"many\", expected a number",
                "/empty: holds \"\", expected a number",
            ]
        );
    }
}
