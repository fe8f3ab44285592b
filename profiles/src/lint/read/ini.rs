//! The syntax of tuned.conf: sections and options as Python's ConfigParser reads them with tuned's arguments
//! (`delimiters=('=')`, `inline_comment_prefixes=('#')`, `strict=False`; tuned/profiles/loader.py).

use super::BadLine;

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::lint) struct Ini {
    pub(in crate::lint) entries: Vec<Entry>,
    pub(in crate::lint) bad: Vec<BadLine>,
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Entry {
    /// From 1.
    pub(in crate::lint) line: usize,
    pub(in crate::lint) section: String,
    pub(in crate::lint) option: String,
    pub(in crate::lint) value: String,
}

impl Ini {
    /// Reads a file.
    pub(in crate::lint) fn read(text: &str) -> Self {
        let mut ini = Self::default();
        let mut section: Option<String> = None;
        let mut in_option = false;
        for (index, raw) in text.lines().enumerate() {
            let (number, line) = (index + 1, uncommented(raw));
            let content = line.trim();
            if content.is_empty() {
                continue;
            }
            if in_option && line.starts_with(char::is_whitespace) {
                continue_value(&mut ini.entries, content);
            } else if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                section = Some(name.0.to_owned());
                in_option = false;
            } else {
                in_option = ini.add(number, section.as_deref(), content);
            }
        }
        ini
    }

    /// Adds an option; whether there was one.
    fn add(&mut self, line: usize, section: Option<&str>, content: &str) -> bool {
        let (why, hint) = match (section, content.split_once('=')) {
            (Some(section), Some((option, value))) => {
                self.entries.push(Entry {
                    line,
                    section: section.to_owned(),
                    option: option.trim().to_owned(),
                    value: value.trim().to_owned(),
                });
                return true;
            }
            (None, _) => (
                "it stands before the first section, so tuned cannot read the file",
                "write `[section]` above it",
            ),
            (_, None) => (
                "it is no option, so tuned cannot read the file",
                "write `option=value`",
            ),
        };
        let why = why.to_owned();
        self.bad.push(BadLine { line, why, hint });
        false
    }

    /// The last option of this name in a section.
    pub(in crate::lint) fn get(&self, section: &str, option: &str) -> Option<&Entry> {
        let of = |entry: &&Entry| entry.section == section && entry.option == option;
        self.entries.iter().rev().find(of)
    }
}

/// A value goes on in lines that are indented.
fn continue_value(entries: &mut [Entry], content: &str) {
    if let Some(entry) = entries.last_mut() {
        entry.value.push(' ');
        entry.value.push_str(content);
    }
}

/// The line without its comment: a whole line of `#` or `;`, or a `#` after a blank.
fn uncommented(line: &str) -> &str {
    let content = line.trim_start();
    if content.starts_with(['#', ';']) {
        return "";
    }
    let after_blank = |at: usize| line[..at].ends_with(char::is_whitespace);
    let comment = line
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|at| after_blank(*at));
    comment.map_or(line, |at| &line[..at])
}
