//! The pages about these commands, held against the program and the tree.

use crate::node::Node;
use dtn_firstboot::events;
use dtn_firstboot::metrics::METRICS;
use dtnforge_profiles::audit::SetterKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(project().join("docs").join(name)).unwrap()
}

/// The names of all keys of an answer, those of nested knobs and states of others left out.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                keys(value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_answers_is_documented() {
    let page = page("audit-and-labels.md");
    let node = Node::committed();
    node.agent(&["save", "before"]);
    node.write("/proc/sys/vm/swappiness", "1\n");
    node.write(
        "/etc/sysctl.d/99-site.conf",
        "# Ansible managed\nvm.swappiness = 1\n",
    );
    let mut answers = BTreeSet::new();
    keys(&node.agent(&["audit", "--json"]).data(), &mut answers);
    keys(&node.agent(&["states", "--json"]).data(), &mut answers);
    keys(&node.agent(&["diff", "before", "--json"]).data(), &mut answers);
    let restored = node.agent(&["restore", "before", "--json"]).data();
    answers.extend(restored.as_object().unwrap().keys().cloned());
    answers.extend(restored["plan"].as_object().unwrap().keys().cloned());
    for key in answers {
        assert!(
            page.contains(&format!("`{key}`")),
            "`{key}` is not in docs/audit-and-labels.md"
        );
    }
}

#[test]
fn every_kind_of_owner_is_documented() {
    let page = page("audit-and-labels.md");
    for kind in SetterKind::ALL {
        let name = serde_json::to_value(kind).unwrap();
        let row = format!("| `{}` | ", name.as_str().unwrap());
        assert!(page.contains(&row), "{row} is not in docs/audit-and-labels.md");
    }
}

#[test]
fn the_page_about_monitoring_has_every_metric_and_every_event() {
    let page = page("monitoring.md");
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `dtnforge_"))
        .collect();
    assert_eq!(rows.len(), METRICS.len());
    for (name, help) in METRICS {
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in docs/monitoring.md"));
        assert!(row.ends_with(&format!("| {help} |")), "{row} should say {help:?}");
    }
    for (name, id) in events::ALL {
        let row = format!("| {name} | `{}` |", id.0);
        assert!(page.contains(&row), "{row} is not in docs/monitoring.md");
    }
}

/// The rows of the table of faults: number and the tests that they name.
fn faults(page: &str) -> Vec<(u32, Vec<(String, String)>)> {
    let row = |line: &str| {
        let number = line.strip_prefix("| T")?.split(' ').next()?.parse().ok()?;
        let tests = line.split('`').filter_map(|part| part.split_once("::"));
        let tests = tests
            .map(|(file, name)| (file.to_owned(), name.to_owned()))
            .collect();
        Some((number, tests))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn the_page_about_faults_names_tests_that_exist() {
    let page = page("faults.md");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| fault |"));
    for row in rows {
        let tests: Vec<_> = row
            .split('`')
            .filter_map(|part| part.split_once(".rs::"))
            .collect();
        assert!(!tests.is_empty(), "no test: {row}");
        for (file, name) in tests {
            let source = std::fs::read_to_string(project().join(format!("{file}.rs")));
            let source = source.unwrap_or_else(|error| panic!("{file}.rs: {error}"));
            assert!(
                source.contains(&format!("fn {name}()")),
                "{file}.rs has no test {name}"
            );
        }
    }
}

#[test]
fn each_fault_of_the_script_has_a_test_that_exists_or_the_reason_why_not() {
    let page = page("script-migration.md");
    let faults = faults(&page);
    let numbers: Vec<u32> = faults.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
    for (number, tests) in faults {
        let says_none = page
            .lines()
            .any(|line| line.starts_with(&format!("| T{number} ")) && line.contains("| none: "));
        assert!(
            says_none == tests.is_empty(),
            "T{number}: a test, or the reason why there is none"
        );
        for (file, name) in tests {
            let source = std::fs::read_to_string(project().join(&file));
            let source = source.unwrap_or_else(|error| panic!("T{number}: {file}: {error}"));
            assert!(
                source.contains(&format!("fn {name}()")),
                "T{number}: {file} has no test {name}"
            );
        }
    }
}
