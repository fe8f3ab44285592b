//! Pieces of a page in Markdown.

use serde::Serialize;

/// The beginning of a page.
pub(crate) fn page(title: &str) -> String {
    format!("<!-- Written by `make docs`, from the code. Changes are lost. -->\n# {title}\n\n")
}

/// A table; cells may hold anything but line ends.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.iter().map(|cell| (*cell).to_owned()).collect());
    text += &line(vec!["---".to_owned(); head.len()]);
    for row in rows {
        text += &line(row.iter().map(|cell| cell.replace('|', "\\|")).collect());
    }
    text + "\n"
}

/// Text as it stands in a file or on a command line.
pub(crate) fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Prose: what Markdown would take for a tag is kept as text.
pub(crate) fn prose(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;").replace('*', "\\*")
}

/// The name of a value of an enum, as files have it.
pub(crate) fn name(value: impl Serialize) -> String {
    match serde_json::to_value(value).unwrap() {
        serde_json::Value::String(name) => name,
        other => panic!("{other} has no name"),
    }
}
