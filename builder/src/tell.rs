//! How an error is told: the chain once, on one line, then the hints. A message of ours may end in lines that
//! start with `hint: `; they are kept back until the chain is told.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;

/// The whole chain of `error` as text for a person.
pub fn tell(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut hints = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let message = cause.to_string();
        let (text, own_hints) = split(&message);
        if said.last().is_none_or(|last| !last.ends_with(&text)) {
            said.push(text);
        }
        hints.extend(own_hints);
        next = cause.source();
    }
    let mut told = said.join(": ");
    for hint in hints {
        told.push('\n');
        told.push_str(&hint);
    }
    printable(&told).into_owned()
}

/// A text for a terminal: what would steer it, or turn the order of letters around, is written out. Names in a report
/// are whatever somebody gave to an interface.
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || is_bidirectional(c);
    if !text.contains(steers) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            // Writing to a text cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out.into()
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn split(message: &str) -> (String, Vec<String>) {
    let (hints, text): (Vec<&str>, Vec<&str>) = message.lines().partition(|line| line.starts_with("hint: "));
    (text.join("\n"), hints.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("stage `erofs` failed\nhint: run it again")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn what_would_steer_a_terminal_is_written_out() {
        for (text, expected) in [
            ("eth0\tup\n", "eth0\tup\n"),
            ("naïve", "naïve"),
            ("e\u{1b}]0;x\u{7}", "e\\u{1b}]0;x\\u{7}"),
            ("a\rb\u{202e}c", "a\\u{d}b\\u{202e}c"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }

    #[test]
    fn the_chain_is_one_line_and_the_hints_come_last() {
        let error = Outer(std::io::Error::other("no space"));
        assert_eq!(tell(&error), "stage `erofs` failed: no space\nhint: run it again");
    }
}
