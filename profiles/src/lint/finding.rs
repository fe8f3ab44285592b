//! What a lint found, and where.

use super::definition::{Lint, Severity};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    /// From 1; 0 where the whole file is meant.
    pub(super) line: usize,
}

impl Place {
    pub(super) fn new(file: &Arc<str>, line: usize) -> Self {
        let file = Arc::clone(file);
        Self { file, line }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// One thing that is wrong, with its place and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1; 0 where the whole file is meant.
    pub line: usize,
    /// Severity of the lint.
    pub severity: Severity,
    /// Id of the lint.
    pub lint: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {} [{}] {}", self.severity, self.lint, self.message)?;
        write!(f, "\n  hint: {}", self.hint)
    }
}

/// Collects the findings of one lint.
pub(super) struct Found<'a> {
    lint: &'static Lint,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Found<'a> {
    pub(super) fn new(lint: &'static Lint, findings: &'a mut Vec<Finding>) -> Self {
        Self { lint, findings }
    }

    /// The id of the lint that is looking.
    pub(super) fn lint(&self) -> &'static str {
        self.lint.id
    }

    pub(super) fn at(&mut self, place: &Place, message: impl Into<String>, hint: impl Into<String>) {
        self.findings.push(Finding {
            file: place.file.to_string(),
            line: place.line,
            severity: self.lint.severity,
            lint: self.lint.id.to_owned(),
            message: message.into(),
            hint: hint.into(),
        });
    }
}
