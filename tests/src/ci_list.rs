//! `tests/ci-vm.txt` names every test of the VM rung: a test that nobody runs is found here.

use std::collections::BTreeSet;
use std::path::Path;

/// A comment that names a test which CI does not run, and why.
const LEFT_OUT: &str = "# left out: ";

/// Pairs of test file and test name that the list holds, those left out with a reason included.
fn listed(text: &str) -> BTreeSet<(String, String)> {
    let named = text.lines().filter_map(|line| match line.strip_prefix(LEFT_OUT) {
        Some(rest) => Some(
            rest.split_once(": ")
                .unwrap_or_else(|| panic!("{line:?}: expected a reason"))
                .0,
        ),
        None => Some(line).filter(|line| !line.starts_with('#') && !line.trim().is_empty()),
    });
    named
        .map(|line| {
            let (file, name) = line
                .split_once(' ')
                .unwrap_or_else(|| panic!("{line:?}: expected FILE NAME"));
            (file.to_owned(), name.trim().to_owned())
        })
        .collect()
}

/// Pairs of test file and test name in the sources.
fn written(directory: &Path) -> BTreeSet<(String, String)> {
    let mut tests = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !stem.starts_with("vm_") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("#[test]\n").skip(1) {
            let name = part
                .trim_start()
                .trim_start_matches("fn ")
                .split('(')
                .next()
                .unwrap();
            tests.insert((stem.clone(), name.to_owned()));
        }
    }
    tests
}

#[test]
fn every_vm_test_is_listed_for_ci_and_every_listed_one_exists() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = listed(&std::fs::read_to_string(here.join("ci-vm.txt")).unwrap());
    let tests = written(&here.join("tests"));
    let missing: Vec<_> = tests.difference(&list).collect();
    let gone: Vec<_> = list.difference(&tests).collect();
    assert!(missing.is_empty(), "not in ci-vm.txt: {missing:?}");
    assert!(gone.is_empty(), "in ci-vm.txt, but no test: {gone:?}");
    assert!(!tests.is_empty());
}
