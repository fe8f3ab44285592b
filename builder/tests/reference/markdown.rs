//! Pieces of a page in Markdown.

use dtnforge_profiles::catalog::KnobTemplate;
use dtnforge_profiles::value::Value;
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

/// A value for people: sizes in MiB and KiB where they are whole.
pub(crate) fn human(knob: &KnobTemplate, value: &Value) -> String {
    let in_bytes = knob
        .definition()
        .is_some_and(|definition| definition.unit == "byte");
    // Not in the registry, and a size all the same.
    let in_bytes = in_bytes || knob.to_string().ends_with("mem_default");
    if !in_bytes {
        return value.as_str().replace('*', "\\*");
    }
    value
        .as_str()
        .split(' ')
        .map(size)
        .collect::<Vec<_>>()
        .join(" / ")
}

fn size(field: &str) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    match field.parse::<u64>() {
        Ok(2_147_483_647) => "2 GiB - 1".to_owned(),
        Ok(bytes) if bytes >= GIB && bytes % GIB == 0 => format!("{} GiB", bytes / GIB),
        Ok(bytes) if bytes >= MIB && bytes % MIB == 0 => format!("{} MiB", bytes / MIB),
        Ok(bytes) if bytes >= 1024 && bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
        Ok(bytes) => bytes.to_string(),
        Err(_) => field.replace('*', "\\*"),
    }
}
