//! tuned.conf(5), as tuned 2.25 reads it: sections of `option=value`, `#` begins a comment anywhere, `${...}` is replaced,
//! and `${f:exec:...}` runs a program.

use std::collections::BTreeMap;

/// Options by section.
pub(crate) fn read(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut section = String::new();
    for line in super::settings(text, &['#']) {
        assert!(
            !line.starts_with([' ', '\t']),
            "would go on with the line before: {line:?}"
        );
        assert!(!line.contains('$'), "tuned would replace a part of it: {line:?}");
        assert!(!line.contains('#'), "tuned would cut it: {line:?}");
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
            let before = sections.insert(section.clone(), BTreeMap::new());
            assert_eq!(before, None, "[{name}] stands twice");
            continue;
        }
        let (option, value) = line
            .split_once('=')
            .unwrap_or_else(|| panic!("no option: {line:?}"));
        let options = sections
            .get_mut(&section)
            .unwrap_or_else(|| panic!("before any section: {line:?}"));
        let before = options.insert(option.to_owned(), value.to_owned());
        assert_eq!(before, None, "{option} stands twice in [{section}]");
    }
    sections
}
