//! modules-load.d(5): one module a line, comments begin with `#` or `;`.

/// The modules.
pub(crate) fn read(text: &str) -> Vec<String> {
    let lines = super::settings(text, &['#', ';']);
    let module = |line: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        assert!(line.chars().all(plain), "no module: {line:?}");
        line.to_owned()
    };
    lines.map(module).collect()
}
