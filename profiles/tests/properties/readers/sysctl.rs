//! sysctl.d(5): `key = value`, comments begin with `#` or `;`.

use std::collections::BTreeMap;

/// Key and value of every line.
pub(crate) fn read(text: &str) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for line in super::settings(text, &['#', ';']) {
        let (key, value) = line
            .split_once('=')
            .unwrap_or_else(|| panic!("no assignment: {line:?}"));
        let (key, value) = (key.trim(), value.trim());
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
        assert!(!key.is_empty() && key.chars().all(plain), "odd key: {line:?}");
        assert!(!value.is_empty(), "no value: {line:?}");
        let before = settings.insert(key.to_owned(), value.to_owned());
        assert_eq!(before, None, "{key} stands twice");
    }
    settings
}
