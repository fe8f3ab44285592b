//! Lines and keys of a TOML text, for error messages. It needs to be right for the plain style that specs are
//! written in (`[table]` and `key = value`, one a line); in other styles a message loses its line, nothing else.

use std::collections::BTreeMap;

/// The line, from 1, of the byte `offset`.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// The line of `table.key`, or of the nearest thing around it that is there. The entries of an array of tables are
/// numbered from 0: `node[1].mac`.
pub(super) fn line_of(text: &str, path: &str) -> Option<usize> {
    let keys = keys(text);
    let mut wanted = Some(path);
    while let Some(path) = wanted {
        if let Some((line, _)) = keys.iter().find(|(_, key)| key == path) {
            return Some(*line);
        }
        wanted = around(path);
    }
    None
}

/// `a[1].b` is in `a[1]`, which is in `a`.
fn around(path: &str) -> Option<&str> {
    let end = path.rfind(['.', '['])?;
    path.get(..end)
}

/// The key that the text at `line` belongs to: the last one that starts at or before it.
pub(super) fn key_at(text: &str, line: usize) -> String {
    keys(text)
        .into_iter()
        .take_while(|(at, _)| *at <= line)
        .last()
        .map(|(_, key)| key)
        .unwrap_or_default()
}

/// Every table and key of the text with its line, in order.
fn keys(text: &str) -> Vec<(usize, String)> {
    let mut table = String::new();
    let mut entries = BTreeMap::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.split("]]").next()) {
            if !line.contains('"') && !name.is_empty() {
                table = next_entry(name.trim(), &mut entries);
                found.push((index + 1, table.clone()));
            }
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            if !line.contains('"') && !name.is_empty() {
                table = numbered(name.trim(), &entries);
                found.push((index + 1, table.clone()));
            }
        } else if let Some(key) = key_of(line) {
            let path = if table.is_empty() {
                key.to_owned()
            } else {
                format!("{table}.{key}")
            };
            found.push((index + 1, path));
        }
    }
    found
}

/// `[[name]]`: one more entry of this array of tables.
fn next_entry(name: &str, entries: &mut BTreeMap<String, usize>) -> String {
    let array = match name.rsplit_once('.') {
        Some((outer, last)) => format!("{}.{last}", numbered(outer, entries)),
        None => name.to_owned(),
    };
    let count = entries.entry(array.clone()).or_default();
    *count += 1;
    format!("{array}[{}]", *count - 1)
}

/// The name of a table with the number of the entry that it belongs to: the last one so far.
fn numbered(name: &str, entries: &BTreeMap<String, usize>) -> String {
    let mut path = String::new();
    for part in name.split('.') {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(part);
        if let Some(count) = entries.get(&path) {
            path.push_str(&format!("[{}]", count - 1));
        }
    }
    path
}

fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!key.is_empty() && key.chars().all(bare)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "schema = 1\n\n[image]\nesp_mib = 512\noutputs = [\n  \"raw\",\n]\n";

    #[test]
    fn keys_are_found_by_path_and_by_line() {
        assert_eq!(line_of(TEXT, "schema"), Some(1));
        assert_eq!(line_of(TEXT, "image.esp_mib"), Some(4));
        assert_eq!(line_of(TEXT, "image.hostname"), Some(3));
        assert_eq!(line_of(TEXT, "base.suite"), None);
        assert_eq!(key_at(TEXT, 6), "image.outputs");
    }

    #[test]
    fn entries_of_an_array_of_tables_are_told_apart() {
        let text = "[[node]]\nname = \"a\"\n[[node.port]]\nmac = \"1\"\n[[node]]\n[node.site]\nrtt_ms = 1\n\
                    [[node.port]]\n[[node.port]]\nroutes = [\n  { to = \"x\" },\n]\n";
        assert_eq!(line_of(text, "node[0].port[0].mac"), Some(4));
        assert_eq!(line_of(text, "node[1].site.rtt_ms"), Some(7));
        assert_eq!(line_of(text, "node[1].port[1].routes[0].to"), Some(10));
        assert_eq!(line_of(text, "node[1].name"), Some(5));
        assert_eq!(key_at(text, 11), "node[1].port[1].routes");
    }
}
