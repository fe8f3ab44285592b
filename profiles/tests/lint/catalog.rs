//! Our own catalog gives no findings.

use crate::site;
use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::lint::{Input, Source, check};

#[test]
fn nothing_is_found_in_the_built_in_catalog() {
    let mut input = Input::new(site(""));
    input.profiles = Catalog::embedded_files()
        .map(|(name, text)| Source::new(name, text))
        .collect();
    assert!(input.profiles.len() > 3);
    let findings = check(&input).findings;
    let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}
