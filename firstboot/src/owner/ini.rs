//! Lines of `[section]` files: systemd, NetworkManager, tuned.

/// One `key=value` of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
    /// Line, from 1.
    pub(super) line: usize,
}

/// All entries, in order. What is no section, comment or assignment is left out, as its readers leave it out.
pub(super) fn parse(text: &str) -> Vec<Entry> {
    let mut section = String::new();
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
        } else if let Some((key, value)) = line.split_once('=') {
            entries.push(Entry {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
                line: index + 1,
            });
        }
    }
    entries
}

/// The last value of a key in any of `sections`.
pub(super) fn last<'a>(entries: &'a [Entry], sections: &[&str], key: &str) -> Option<&'a Entry> {
    entries
        .iter()
        .rev()
        .find(|entry| entry.key == key && sections.contains(&entry.section.as_str()))
}

/// Whether a word means yes, as systemd and NetworkManager read it; `None` for other words.
pub(super) fn boolean(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "1" | "yes" | "y" | "true" | "t" | "on" => Some(true),
        "0" | "no" | "n" | "false" | "f" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_carry_their_section_and_line() {
        let entries = parse("# c\n[Match]\nOriginalName = eth0\n; c\n\nrubbish\n[Link]\nMTUBytes=9000\n");
        let found: Vec<_> = entries
            .iter()
            .map(|entry| {
                (
                    entry.section.as_str(),
                    entry.key.as_str(),
                    entry.value.as_str(),
                    entry.line,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("Match", "OriginalName", "eth0", 3),
                ("Link", "MTUBytes", "9000", 8)
            ]
        );
        assert_eq!(
            last(&entries, &["Link"], "MTUBytes").map(|entry| entry.line),
            Some(8)
        );
        assert_eq!(last(&entries, &["Match"], "MTUBytes"), None);
    }

    #[test]
    fn yes_and_no_have_many_names() {
        assert_eq!(
            (boolean("Yes"), boolean("off"), boolean("max")),
            (Some(true), Some(false), None)
        );
    }
}
