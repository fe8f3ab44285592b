//! A report that is read and written says all that it said, and nothing more.

#![expect(
    clippy::unwrap_used,
    reason = "a file of the test that cannot be read fails the test"
)]

use dtnforge_profiles::facts::Facts;
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

/// Name and text of each report of a real machine.
fn machines() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hardware");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        (
            path.display().to_string(),
            std::fs::read_to_string(&path).unwrap(),
        )
    };
    files.into_iter().map(read).collect()
}

/// The report as a tree in which 64 and 64.0 are the same number.
fn tree(text: &str) -> Value {
    let mut tree = Value::Object(toml::from_str(text).unwrap());
    all_floats(&mut tree);
    tree
}

fn all_floats(value: &mut Value) {
    match value {
        Value::Number(number) => *value = number.as_f64().into(),
        Value::Array(list) => list.iter_mut().for_each(all_floats),
        Value::Object(table) => table.values_mut().for_each(all_floats),
        _ => {}
    }
}

#[test]
fn nothing_of_a_real_machine_is_lost_or_made_up() {
    let machines = machines();
    assert!(machines.len() >= 81, "only {} machines", machines.len());
    for (name, text) in machines {
        let facts = Facts::read(&text).unwrap();
        let written = toml::to_string(&facts).unwrap();
        assert_eq!(tree(&written), tree(&text), "{name}");
        assert_eq!(Facts::read(&written).unwrap(), facts, "{name}");
        // The other form says the same.
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(Facts::read(&json).unwrap(), facts, "{name}");
    }
}

/// Values of every kind that a report may have under a key, fitting or not.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        "\\PC*".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Tables of a report: keys of ours, and keys that we do not know.
fn table() -> impl Strategy<Value = Value> {
    let key =
        "name|kind|speed_mbps|carrier|members|rings|size_bytes|rotational|fstype|memory_gib|smt|[a-z_]{1,8}";
    prop::collection::btree_map(key, value(), 0..6)
        .prop_map(|map| Value::Object(map.into_iter().filter(|(key, _)| key != "errors").collect()))
}

proptest! {
    #[test]
    fn whatever_a_report_says_is_still_there_after_two_round_trips(
        host in table(), nics in prop::collection::vec(table(), 0..3), blocks in prop::collection::vec(table(), 0..3),
    ) {
        let report = serde_json::json!({ "host": host, "nic": nics, "block": blocks });
        let facts = Facts::from_value(report.clone()).unwrap();
        let again = Facts::read(&toml::to_string(&facts).unwrap()).unwrap();
        prop_assert_eq!(&again, &facts);
        let mut written = serde_json::to_value(&again).unwrap();
        without_errors(&mut written);
        for (table, list) in [("nic", &report["nic"]), ("block", &report["block"])] {
            for (index, said) in list.as_array().unwrap().iter().enumerate() {
                prop_assert_eq!(floats(&written[table][index]), floats(said));
            }
        }
        prop_assert_eq!(floats(&written["host"]), floats(&report["host"]));
    }
}

fn floats(value: &Value) -> Value {
    let mut value = value.clone();
    all_floats(&mut value);
    value
}

/// Our own notes on values that do not fit are no part of the report.
fn without_errors(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.remove("errors");
            table.values_mut().for_each(without_errors);
        }
        Value::Array(list) => list.iter_mut().for_each(without_errors),
        _ => {}
    }
}
