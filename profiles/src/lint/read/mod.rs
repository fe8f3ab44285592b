//! Readers of foreign files. Each takes text, never fails, and gives back what it understood and what it did not, with
//! line numbers.

mod command;
mod ini;
mod rate;
mod shell;
mod sysctl_d;
mod udev;

pub(super) use command::{settings_of, sysfs};
pub(super) use ini::{Entry, Ini};
pub(super) use rate::{Rate, ends_in_bytes};
pub(super) use shell::{Command, commands};
pub(super) use sysctl_d::SysctlFile;
pub(super) use udev::{Rule, Token, rules, udev_calls};

/// A line that is not of its file's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadLine {
    /// From 1.
    pub(super) line: usize,
    /// What is wrong with it.
    pub(super) why: String,
    /// What to do about it.
    pub(super) hint: &'static str,
}

/// Lines with their numbers, those that end in a backslash joined with the next.
fn joined_lines(text: &str) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let (part, continues) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match joined.last_mut().filter(|_| open) {
            Some((_, before)) => before.push_str(part),
            None => joined.push((index + 1, part.to_owned())),
        }
        open = continues;
    }
    joined
}

#[cfg(test)]
mod tests;
