//! The schemas of `dtnforge profile schema`: every file of the project fits its own, and a slip does not.

#![expect(
    clippy::unwrap_used,
    reason = "a file of the test that cannot be read fails the test"
)]

use dtnforge::schema::Kind;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// All that a schema says against a text, one line each.
fn said(kind: Kind, text: &str) -> Vec<String> {
    let validator = jsonschema::draft202012::new(kind.schema().as_value()).unwrap();
    let tree = Value::Object(toml::from_str(text).unwrap());
    let errors = validator.iter_errors(&tree);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The TOML files of a directory of the project.
fn files(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(dir);
    let entries = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", dir.display());
    files
}

fn all_fit(kind: Kind, dir: &str) {
    for path in files(dir) {
        let said = said(kind, &std::fs::read_to_string(&path).unwrap());
        assert!(said.is_empty(), "{}: {said:#?}", path.display());
    }
}

#[test]
fn every_schema_is_one() {
    for kind in Kind::ALL {
        let schema = kind.schema();
        jsonschema::draft202012::meta::validate(schema.as_value()).unwrap();
    }
}

#[test]
fn every_report_of_a_machine_fits() {
    all_fit(Kind::Facts, "profiles/tests/hardware");
}

#[test]
fn every_spec_of_the_project_fits() {
    all_fit(Kind::Spec, "image-specs");
    all_fit(Kind::Spec, "tests/specs");
}

#[test]
fn a_slip_is_named_where_it_stands() {
    for (kind, text, expected) in [
        (Kind::Site, "rtt = 100", "'rtt' was unexpected"),
        (
            Kind::Site,
            "role = 'disk'",
            "/role: \"disk\" is not valid under any of",
        ),
        (Kind::Site, "schema = 2", "/schema: 1 was expected"),
        (
            Kind::Spec,
            "[site]\nrol = 'dtn'",
            "/site: Additional properties are not allowed ('rol' was unexpected)",
        ),
        (
            Kind::Spec,
            "[image]\nconsole = 'ttyS0'",
            "/image/console: \"ttyS0\" is not of type \"array\"",
        ),
        (
            Kind::Facts,
            "[[nic]]\nspeed_mbps = 'fast'",
            "/nic/0/speed_mbps: \"fast\" is not of type \"integer\"",
        ),
    ] {
        let said = said(kind, text);
        assert!(
            said.iter().any(|line| line.contains(expected)),
            "{text}: {said:#?}"
        );
    }
}
