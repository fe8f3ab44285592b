//! The ids, and the catalog that explains them.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;

const CATALOG: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../overlays/agent/usr/lib/systemd/catalog/dtnforge.catalog"
);

/// One entry of a catalog: its id, header and text.
struct Entry {
    id: String,
    subject: String,
    text: String,
}

/// The entries of a catalog file, in the form of systemd's `docs/CATALOG.md`.
fn entries(text: &str) -> Vec<Entry> {
    let entry = |part: &str| {
        let (id, rest) = part.split_once('\n').unwrap();
        let (header, text) = rest.split_once("\n\n").unwrap();
        let subject = header.lines().find_map(|line| line.strip_prefix("Subject: "));
        Entry {
            id: id.to_owned(),
            subject: subject.unwrap_or_default().to_owned(),
            text: text.trim().to_owned(),
        }
    };
    text.split("\n-- ").skip(1).map(entry).collect()
}

fn catalog() -> Vec<Entry> {
    entries(&std::fs::read_to_string(CATALOG).unwrap())
}

#[test]
fn message_ids_are_well_formed_and_differ() {
    for (index, (name, id)) in ALL.iter().enumerate() {
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        assert!(id.0.len() == 32 && id.0.chars().all(hex), "{name}");
        assert!(ALL[..index].iter().all(|(_, other)| other.0 != id.0), "{name}");
    }
}

#[test]
fn the_catalog_explains_each_event_once_and_no_other() {
    let explained: Vec<String> = catalog().into_iter().map(|entry| entry.id).collect();
    let ours: BTreeSet<&str> = ALL.iter().map(|(_, id)| id.0).collect();
    for (name, id) in ALL {
        let times = explained.iter().filter(|there| *there == id.0).count();
        assert_eq!(times, 1, "{name} ({}) stands {times} times in {CATALOG}", id.0);
    }
    let foreign: Vec<&String> = explained
        .iter()
        .filter(|id| !ours.contains(id.as_str()))
        .collect();
    assert!(foreign.is_empty(), "no event of ours: {foreign:?}");
}

#[test]
fn each_constant_of_this_module_is_in_the_list() {
    let source = include_str!("../events.rs");
    let constants = source.matches(": MessageId = MessageId(").count();
    assert_eq!(constants, ALL.len(), "an id is missing in ALL");
}

#[test]
fn an_explanation_names_only_fields_that_an_event_carries() {
    let fields = [
        "DTNFORGE_PROFILE",
        "DTNFORGE_STATE",
        "DTNFORGE_REASON",
        "DTNFORGE_BOOT_ID",
    ];
    for entry in catalog() {
        assert!(entry.subject.starts_with("dtnforge: "), "{}", entry.id);
        assert!(!entry.text.is_empty(), "{}", entry.id);
        let all = format!("{} {}", entry.subject, entry.text);
        for field in all.split('@').skip(1).step_by(2) {
            assert!(fields.contains(&field), "{}: @{field}@", entry.id);
        }
    }
}

#[test]
fn systemd_reads_the_catalog() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("usr/lib/systemd/catalog");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::create_dir_all(root.path().join("var/lib/systemd/catalog")).unwrap();
    std::fs::copy(Path::new(CATALOG), dir.join("dtnforge.catalog")).unwrap();
    let journalctl = |verb: &str| {
        std::process::Command::new("journalctl")
            .arg(format!("--root={}", root.path().display()))
            .arg(verb)
            .output()
    };
    let Ok(update) = journalctl("--update-catalog") else {
        eprintln!("skipped: systemd_reads_the_catalog: there is no journalctl");
        return;
    };
    assert!(update.status.success(), "{update:?}");
    let list = String::from_utf8(journalctl("--list-catalog").unwrap().stdout).unwrap();
    for (name, id) in ALL {
        assert!(list.contains(&format!("{} dtnforge: ", id.0)), "{name} in {list}");
    }
}

#[test]
fn an_event_is_told_from_a_remark() {
    use log::kv::Source;
    let id = [("MESSAGE_ID", STATE_ENTERED.0)];
    let other = [("DTNFORGE_STATE", "stock")];
    let record = |values: &dyn Source| is_event(&log::Record::builder().key_values(&values).build());
    assert!(record(&id));
    assert!(!record(&other));
}
