//! The registry itself: ids, texts, and the examples of each lint, run.

use super::*;

fn findings(example: &Example) -> Vec<Finding> {
    check(&Input::of(example.files, example.host, example.role).unwrap()).findings
}

#[test]
fn every_id_is_kebab_case_and_stands_once() {
    let mut ids: Vec<_> = registry().map(|lint| lint.id).collect();
    for id in &ids {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(id.chars().all(plain) && !id.starts_with('-'), "{id}");
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn every_lint_has_its_reason_and_its_source() {
    for lint in registry() {
        assert!(
            !lint.what.ends_with('.') && lint.what.len() < 110,
            "{}: {}",
            lint.id,
            lint.what
        );
        assert!(
            lint.reason.ends_with('.') && lint.reason.len() > 60,
            "{}",
            lint.id
        );
        assert!(!lint.source.is_empty(), "{}", lint.id);
    }
}

#[test]
fn the_bad_example_of_each_lint_is_found_and_nothing_else_is_found_in_it() {
    for lint in registry() {
        let found = findings(&lint.bad);
        assert!(!found.is_empty(), "{}: nothing found in its bad example", lint.id);
        for finding in found {
            assert_eq!(
                finding.lint, lint.id,
                "in the bad example of {}: {finding}",
                lint.id
            );
        }
    }
}

#[test]
fn nothing_is_found_in_the_good_example_of_any_lint() {
    for lint in registry() {
        let said: Vec<String> = findings(&lint.good).iter().map(ToString::to_string).collect();
        assert!(
            said.is_empty(),
            "in the good example of {}:\n{}",
            lint.id,
            said.join("\n")
        );
    }
}

#[test]
fn a_lint_that_needs_a_host_says_so_without_one() {
    for lint in registry().filter(|lint| lint.needs == Needs::Host) {
        let report = check(&Input::of(lint.bad.files, "", lint.bad.role).unwrap());
        let found = report.findings.iter().any(|finding| finding.lint == lint.id);
        assert!(!found, "{} judged without a host", lint.id);
    }
}
