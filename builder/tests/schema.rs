//! The schemas of `dtnforge profile schema`: every file of the project fits its own, and a slip does not.

#![expect(
    clippy::unwrap_used,
    reason = "a file of the test that cannot be read fails the test"
)]

use dtnforge::schema::Kind;
use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::envelope::Envelope;
use dtnforge_profiles::site::SiteFile;
use dtnforge_profiles::status::{STATUS_SCHEMA, Status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
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

/// What the schema of an answer says against a value.
fn said_of_answer(answer: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(Kind::Status.schema().as_value()).unwrap();
    let errors = validator.iter_errors(answer);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn the_status_of_a_node_fits_and_one_without_its_parts_does_not() {
    let text = include_str!("status_of_a_node.json");
    // Through the type, so that the fields are those of today.
    let answer: Envelope<Status> = serde_json::from_str(text).unwrap();
    let mut answer = serde_json::to_value(Envelope::new(STATUS_SCHEMA, answer.data)).unwrap();
    assert_eq!(said_of_answer(&answer), [""; 0]);
    answer["data"]["attempts"]["left"] = json!("two");
    answer["data"].as_object_mut().unwrap().remove("reason");
    let said = said_of_answer(&answer).join("\n");
    assert!(said.contains("\"reason\" is a required property"), "{said}");
    assert!(
        said.contains("/data/attempts/left: \"two\" is not of type"),
        "{said}"
    );
}

#[test]
fn every_profile_of_the_catalog_fits() {
    all_fit(Kind::Profile, "profiles/catalog");
    all_fit(Kind::Profile, "tests/fixtures/harmful");
    all_fit(Kind::Profile, "tests/fixtures/rings");
    let catalog = Catalog::embedded().unwrap();
    for profile in catalog.profiles() {
        let said = said(Kind::Profile, &profile.to_toml().unwrap());
        assert!(said.is_empty(), "{}, as in a layer: {said:#?}", profile.name);
    }
}

/// A profile with every table and nothing that could be left out.
const LEAST: &str = "schema = 1\nname = 'x'\ntitle = 'X'\n[match]\n[buffer]\nstreams = 1\nram_divisor = 128\n\
    most = [{ from_mbps = 1, mib = 16 }]\n[tuned]\ninclude = 'virtual-guest'\n\
    [[knob]]\nid = 'sysctl:vm.swappiness'\nvalue = 10\nwhy = 'w'\nsource = 's'\n\
    [[advice]]\nset = 'a'\nwhere = 'b'\nwhy = 'w'\nsource = 's'\n";

/// Every table of a profile: its place in the file and in the schema.
const TABLES: [(&str, &str); 7] = [
    ("", ""),
    ("/match", "/properties/match"),
    ("/buffer", "/properties/buffer"),
    ("/buffer/most/0", "/properties/buffer/properties/most/items"),
    ("/tuned", "/properties/tuned"),
    ("/knob/0", "/properties/knob/items"),
    ("/advice/0", "/properties/advice/items"),
];

/// What the reader of profiles says of a tree.
fn refusal(tree: &Value) -> String {
    let text = toml::to_string(tree).unwrap();
    Catalog::parse(&[("x.toml", &text)])
        .err()
        .map(|problems| problems.to_string())
        .unwrap_or_default()
}

#[test]
fn the_keys_of_a_profile_are_those_that_its_reader_knows() {
    let schema = Kind::Profile.schema().to_value();
    let least = Value::Object(toml::from_str(LEAST).unwrap());
    for (place, of_schema) in TABLES {
        let mut slip = least.clone();
        slip.pointer_mut(place).unwrap()["zzz"] = 1.into();
        let refusal = refusal(&slip);
        let (_, expected) = refusal.split_once("unknown field `zzz`, expected ").unwrap();
        // Every second part stands between backticks.
        let known: BTreeSet<&str> = expected.split('`').skip(1).step_by(2).collect();
        let keys = schema.pointer(of_schema).unwrap()["properties"]
            .as_object()
            .unwrap();
        assert_eq!(
            keys.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            known,
            "{place}"
        );
    }
}

#[test]
fn the_keys_that_a_profile_must_have_are_those_that_its_reader_misses() {
    let schema = Kind::Profile.schema().to_value();
    let least = Value::Object(toml::from_str(LEAST).unwrap());
    assert_eq!(refusal(&least), "");
    assert_eq!(said(Kind::Profile, LEAST), [""; 0]);
    for (place, of_schema) in TABLES {
        for key in schema.pointer(of_schema).unwrap()["required"].as_array().unwrap() {
            let key = key.as_str().unwrap();
            let mut less = least.clone();
            less.pointer_mut(place)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(key);
            let refusal = refusal(&less);
            assert!(refusal.contains("missing"), "{place} without {key}: {refusal:?}");
        }
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

/// Whether a site's file with this one key is taken.
fn site_takes(key: &str, value: &Value) -> bool {
    let file: SiteFile = serde_json::from_value(json!({ key: value })).unwrap();
    file.check().is_ok()
}

#[test]
fn the_ranges_of_site_decisions_are_those_that_their_reader_takes() {
    let site = Kind::Site.schema().to_value();
    let spec = Kind::Spec.schema().to_value();
    let mut compared = Vec::new();
    let keys = site["properties"].as_object().unwrap().iter();
    for (key, of) in keys.filter(|(key, _)| *key != "schema") {
        assert_eq!(
            *of, spec["$defs"]["SiteFile"]["properties"][key],
            "{key} in a spec"
        );
        let (least, most) = (&of["minimum"], &of["maximum"]);
        if most.is_null() {
            continue;
        }
        assert!(
            site_takes(key, least) && site_takes(key, most),
            "{key}: {least} to {most}"
        );
        let outside = match (least.as_i64(), most.as_i64()) {
            (Some(least), Some(most)) => [json!(least - 1), json!(most + 1)],
            _ => [
                json!(least.as_f64().unwrap() - 0.001),
                json!(most.as_f64().unwrap() + 0.001),
            ],
        };
        assert!(
            !outside.iter().any(|value| site_takes(key, value)),
            "{key}: {outside:?} is taken"
        );
        compared.push(key.as_str());
    }
    assert_eq!(
        compared,
        [
            "budget_s",
            "link_mbps",
            "mtu",
            "pacing_mbps",
            "rtt_ms",
            "streams",
            "throughput_limit"
        ]
    );
    let words = site["properties"]["congestion_control"]["enum"]
        .as_array()
        .unwrap();
    assert!(words.iter().all(|word| site_takes("congestion_control", word)));
    assert!(!site_takes("congestion_control", &"vegas".into()));
}

#[test]
fn a_slip_is_named_where_it_stands() {
    for (kind, text, expected) in [
        (
            Kind::Profile,
            "knob = [{ id = 'sysctl:vm.swapiness' }]",
            "/knob/0/id: \"sysctl:vm.swapiness\" is not valid under any of",
        ),
        (
            Kind::Profile,
            "[buffer]\nstreams = 0\nram_divisor = 8",
            "/buffer/streams: 0 is less than the minimum of 1",
        ),
        (
            Kind::Profile,
            "[match]\nstorage = ['tape']",
            "/match/storage/0: \"tape\" is not one of",
        ),
        (
            Kind::Site,
            "rtt_ms = 0",
            "/rtt_ms: 0 is less than the minimum of 1",
        ),
        (
            Kind::Spec,
            "[site]\nmtu = 900",
            "/site/mtu: 900 is less than the minimum of 1280",
        ),
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
