//! Lines and keys of a TOML text, for error messages. It needs to be right for the plain style that specs are
//! written in (`[table]` and `key = value`, one a line); in other styles a message loses its line, nothing else.

/// The line, from 1, of the byte `offset`.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// The line of `table.key`, or of the table when it does not hold the key.
pub(super) fn line_of(text: &str, path: &str) -> Option<usize> {
    let keys = keys(text);
    let exact = keys.iter().find(|(_, key)| key == path);
    let table = path.rsplit_once('.').map(|(table, _)| table);
    exact
        .or_else(|| keys.iter().find(|(_, key)| Some(key.as_str()) == table))
        .map(|(line, _)| *line)
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
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            if !line.contains('"') && !name.is_empty() {
                name.trim().clone_into(&mut table);
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
}
