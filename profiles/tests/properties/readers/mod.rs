//! Readers of the formats that we write, after their manual pages. Each fails on anything that is not plainly a comment
//! or a setting, so that a line which should not be there is found.

pub(crate) mod modules;
pub(crate) mod sysctl;
pub(crate) mod tuned;
pub(crate) mod udev;

/// The lines that count, with everything that any reader takes for a line end taken for one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let odd = |c: char| {
        matches!(
            c,
            '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    text.split(move |c| c == '\n' || odd(c))
        .filter(|line| !line.trim().is_empty())
}

/// Lines that are no comment.
fn settings<'a>(text: &'a str, comments: &'a [char]) -> impl Iterator<Item = &'a str> {
    lines(text).filter(move |line| !line.trim_start().starts_with(comments))
}
