//! What is wrong in a catalog file, and where: file, line, key, and a hint that the reader can act on.

use super::draft::{Place, Placed};
use crate::suggest;
use std::fmt;
use std::ops::Range;

/// One thing that is wrong in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1; 0 where no line can be named.
    pub line: usize,
    /// The key, as written in the file; empty where the whole file is meant.
    pub key: String,
    /// What was found and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The lint that it is a finding of.
    pub lint: &'static str,
}

impl Problem {
    /// The lint of a file that is no profile.
    pub(super) const FORM: &'static str = "profile-form";

    /// The same as a finding of a lint.
    pub(super) fn of(self, lint: &'static str) -> Self {
        Self { lint, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": key `{}`", self.key)?;
        }
        write!(f, ": {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong, in the order of the files and lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Collects the problems of one file.
pub(super) struct Collector<'a> {
    file: &'a str,
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        let problems = Vec::new();
        Self { file, text, problems }
    }

    /// A problem at a byte range of the file.
    pub(super) fn add(&mut self, at: Range<usize>, key: &str, what: impl Into<String>, hint: Option<String>) {
        self.add_of(Problem::FORM, at, key, what, hint);
    }

    /// A problem that is a finding of a lint of its own.
    pub(super) fn add_of(
        &mut self,
        lint: &'static str,
        at: Range<usize>,
        key: &str,
        what: impl Into<String>,
        hint: Option<String>,
    ) {
        let problem = self.place(at).problem(key, what, hint);
        self.problems.push(problem.of(lint));
    }

    /// Where a byte range of the file begins.
    pub(super) fn place(&self, at: Range<usize>) -> Place {
        Place {
            file: self.file.to_owned(),
            line: self.line_of(at.start),
        }
    }

    /// A value with its place.
    pub(super) fn placed<T>(&self, at: Range<usize>, value: T) -> Placed<T> {
        let at = self.place(at);
        Placed { value, at }
    }

    /// What the TOML reader refused: a key that is unknown, twice, missing, or of another type.
    pub(super) fn add_toml(&mut self, error: &toml::de::Error) {
        let at = error.span().unwrap_or(0..0);
        let key = self.key_on_line_of(at.start);
        let what = error.message().trim_end().replace('\n', "; ");
        let hint = suggest::for_unknown(error.message());
        self.add(at, &key, what, hint);
    }

    /// All that was found.
    pub(super) fn into_problems(self) -> Problems {
        Problems(self.problems)
    }

    /// `value` when nothing was found, else all that was, in the order of the lines.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Problems> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(Problems(self.problems))
    }

    fn line_of(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn key_on_line_of(&self, offset: usize) -> String {
        let line = self
            .text
            .lines()
            .nth(self.line_of(offset) - 1)
            .unwrap_or_default();
        match line.split_once('=') {
            Some((key, _)) => key.trim().to_owned(),
            None => line.trim().trim_matches(['[', ']']).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_file_line_key_and_hint() {
        let mut collector = Collector::new("a.toml", "x = 1\ny = 2\n");
        collector.add(6..7, "y", "is odd", Some("remove it".into()));
        let error = collector.finish(()).unwrap_err();
        assert_eq!(error.to_string(), "a.toml:2: key `y`: is odd\n  hint: remove it");
    }
}
