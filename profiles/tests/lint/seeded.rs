//! One directory for each lint, with files as a host has them and one kind of fault in them. A comment names the fault of
//! the next line, or of the whole file. Exactly these are found.

use crate::{files, here, input, short, sources};
use dtnforge_profiles::lint::{check, registry};
use std::collections::BTreeSet;
use std::path::Path;

/// What the comments say: `# fault: ID` is of the next line, `# fault in this file: ID` of no line.
fn expected(dir: &Path) -> BTreeSet<String> {
    let mut faults = BTreeSet::new();
    for source in sources(dir) {
        for (index, line) in source.text.lines().enumerate() {
            let line = line.trim();
            if let Some(id) = line.strip_prefix("# fault: ") {
                faults.insert(format!("{}:{} [{id}]", source.path, index + 2));
            } else if let Some(id) = line.strip_prefix("# fault in this file: ") {
                faults.insert(format!("{}:0 [{id}]", source.path));
            }
        }
    }
    faults
}

#[test]
fn each_seeded_fault_is_found_and_nothing_else_is() {
    for lint in registry() {
        let dir = here("seeded").join(lint.id);
        assert!(dir.is_dir(), "no seeded fault for {}", lint.id);
        let expected = expected(&dir);
        let of_lint = expected
            .iter()
            .all(|fault| fault.ends_with(&format!("[{}]", lint.id)));
        assert!(of_lint && !expected.is_empty(), "{}: {expected:?}", lint.id);
        let findings = check(&input(&dir)).findings;
        let found: BTreeSet<String> = findings.iter().map(short).collect();
        let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "in {}:\n{}", lint.id, said.join("\n"));
    }
}

#[test]
fn every_seeded_directory_is_of_a_lint() {
    for path in files(&here("seeded")) {
        let below = path.strip_prefix(here("seeded")).unwrap();
        let id = below.iter().next().unwrap().to_str().unwrap();
        assert!(registry().any(|lint| lint.id == id), "{id} is no lint");
    }
}

/// All messages on one page, so that a change of one is seen where it is read.
#[test]
fn every_message_reads_as_the_page_says() {
    let mut page = String::new();
    for lint in registry() {
        for finding in check(&input(&here("seeded").join(lint.id))).findings {
            page += &format!("{finding}\n");
        }
    }
    let path = here("messages.txt");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        page, written,
        "messages.txt is stale, run with UPDATE_REFERENCE=1 and read it"
    );
}
