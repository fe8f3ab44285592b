//! The syntax of sysctl.d(5), as systemd-sysctl reads it: one assignment a line, `#` and `;` before comments, `-`
//! before a key whose failure does not matter, `-KEY` alone to take a key out of a glob.

use super::BadLine;
use crate::lint::key::SysctlKey;

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::lint) struct SysctlFile {
    pub(in crate::lint) assignments: Vec<Assignment>,
    pub(in crate::lint) bad: Vec<BadLine>,
}

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Assignment {
    /// From 1.
    pub(in crate::lint) line: usize,
    pub(in crate::lint) key: SysctlKey,
    /// `None` takes the key out of globs.
    pub(in crate::lint) value: Option<String>,
    /// Whether a failure is passed over.
    pub(in crate::lint) quiet: bool,
}

impl SysctlFile {
    /// Reads a file.
    pub(in crate::lint) fn read(text: &str) -> Self {
        let mut file = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            match assignment(index + 1, line) {
                Ok(assignment) => file.assignments.push(assignment),
                Err(bad) => file.bad.push(bad),
            }
        }
        file
    }
}

fn assignment(number: usize, line: &str) -> Result<Assignment, BadLine> {
    let (quiet, rest) = match line.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (name, value) = match rest.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
        None => (rest.trim(), None),
    };
    let bad = |why: &str, hint| {
        let (line, why) = (number, why.to_owned());
        Err(BadLine { line, why, hint })
    };
    if name.starts_with("sysctl ") {
        return bad(
            "this is a command, and the file holds assignments only",
            "write `key = value`",
        );
    }
    if value.is_none() && !quiet {
        return bad(
            "this is no assignment, so systemd-sysctl passes it over",
            "write `key = value`",
        );
    }
    if name.is_empty() || name.contains(char::is_whitespace) {
        return bad("the key is empty or has blanks", "write `key = value`");
    }
    let key = SysctlKey::parse(name);
    Ok(Assignment {
        line: number,
        key,
        value,
        quiet,
    })
}
