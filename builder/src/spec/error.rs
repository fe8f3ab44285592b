//! What is wrong with a spec, or with a table of nodes for seeds: file, line, key, what was found and what was expected.

use super::locate;
use dtnforge_profiles::suggest;
use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that is wrong with a file that people write.
#[derive(Debug, PartialEq, Eq)]
pub struct SpecError {
    file: PathBuf,
    line: Option<usize>,
    key: String,
    message: String,
    hint: Option<String>,
}

impl std::error::Error for SpecError {}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": key `{}`", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl SpecError {
    /// An error at `key` (`table.key`) of the file at `path` with the content `text`.
    pub fn at(path: &Path, text: &str, key: &str, message: impl Into<String>) -> Self {
        let line = locate::line_of(text, key);
        Self {
            file: path.to_owned(),
            line,
            key: key.to_owned(),
            message: message.into(),
            hint: None,
        }
    }

    /// An error about a key that is not there, or that only shows when all files are merged.
    pub fn of_file(path: &Path, key: &str, message: impl Into<String>) -> Self {
        let line = std::fs::read_to_string(path)
            .ok()
            .and_then(|text| locate::line_of(&text, key));
        Self {
            file: path.to_owned(),
            line,
            key: key.to_owned(),
            message: message.into(),
            hint: None,
        }
    }

    /// Adds what the reader can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let message = format!("cannot be read: {error}");
        Self {
            file: path.to_owned(),
            line: None,
            key: String::new(),
            message,
            hint: None,
        }
    }

    pub(crate) fn of_toml(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let position = error.span().map(|span| locate::line_at(text, span.start));
        let key = position
            .map(|line| locate::key_at(text, line))
            .unwrap_or_default();
        let message = error.message().replace('\n', " ");
        Self {
            file: path.to_owned(),
            line: position,
            key,
            message,
            hint: suggest::for_unknown(error.message()),
        }
    }
}
