//! Debian's stanza format: `Key: value` lines, continued by indented lines, stanzas apart by an empty line.

/// One stanza, keys in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stanza(Vec<(String, String)>);

impl Stanza {
    /// The value of `key`, whatever its case; continuation lines follow after line breaks.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value.as_str())
    }
}

/// All stanzas of `text`; comment lines are left out.
pub fn parse(text: &str) -> Vec<Stanza> {
    let mut stanzas = Vec::new();
    let mut open: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.trim().is_empty() {
            close(&mut open, &mut stanzas);
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = open.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            open.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    close(&mut open, &mut stanzas);
    stanzas
}

fn close(open: &mut Vec<(String, String)>, stanzas: &mut Vec<Stanza>) {
    if !open.is_empty() {
        stanzas.push(Stanza(std::mem::take(open)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stanzas_keys_and_continuations_are_read() {
        let stanzas = parse("Package: a\nDescription: one\n two\n\n# none\n\npackage: b\n");
        assert_eq!(stanzas.len(), 2);
        assert_eq!(stanzas[0].get("Description"), Some("one\ntwo"));
        assert_eq!(stanzas[1].get("Package"), Some("b"));
        assert_eq!(stanzas[1].get("Version"), None);
    }
}
