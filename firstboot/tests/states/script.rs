//! Faults of the scripts that sites use today, each turned into what this program does instead. The table of
//! `docs/script-migration.md` names these tests and those elsewhere.

use crate::node::Node;
use std::collections::BTreeMap;

/// Commands that only look, with the names of what they may need.
const LOOKING: &[&[&str]] = &[
    &["status"],
    &["detect"],
    &["plan"],
    &["audit"],
    &["states"],
    &["diff", "before"],
    &["restore", "before", "--plan"],
    &["metrics"],
];

#[test]
fn a_command_that_only_looks_touches_nothing() {
    let node = Node::new();
    node.agent(&["save", "before"]);
    node.write("/proc/sys/vm/swappiness", "10\n");
    let before = node.everything();
    for command in LOOKING {
        for json in [false, true] {
            let mut args = command.to_vec();
            if json && command[0] != "metrics" {
                args.push("--json");
            }
            let ended = node.agent(&args);
            assert!([0, 3].contains(&ended.code), "{args:?}: {ended:?}");
            assert!(node.everything() == before, "{args:?} changed something");
        }
    }
}

#[test]
fn json_is_all_that_is_on_standard_output() {
    let node = Node::committed();
    node.agent(&["save", "before"]);
    node.write("/proc/sys/vm/swappiness", "60\n");
    for command in LOOKING.iter().filter(|command| command[0] != "metrics") {
        let args: Vec<&str> = command.iter().copied().chain(["--json"]).collect();
        let ended = node.agent(&args);
        let answer: BTreeMap<String, serde_json::Value> = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(
            answer.keys().map(String::as_str).collect::<Vec<_>>(),
            ["data", "schema", "version"],
            "{args:?}"
        );
    }
}

#[test]
fn a_wrong_command_line_is_bad_input_with_a_hint_and_changes_nothing() {
    let node = Node::new();
    let before = node.everything();
    for args in [
        &["audit", "--jsn"][..],
        &["save"],
        &["save", "a", "b"],
        &["restore"],
        &["restore", "a", "--plan", "--all-or-nothing"],
        &["metrics", "--out"],
        &["nosuch"],
        &[],
    ] {
        let ended = node.agent(args);
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        assert!(ended.err.contains("--help"), "{args:?}: {}", ended.err);
        assert!(node.everything() == before, "{args:?}");
    }
}

#[test]
fn an_audit_asks_no_package_manager_and_no_network() {
    let node = Node::new();
    for program in [
        "dnf", "yum", "apt-get", "curl", "wget", "ping", "dig", "host", "getent",
    ] {
        node.command(
            program,
            "#!/bin/sh\n: >\"$(dirname \"$0\")/../asked-$(basename \"$0\")\"\n",
        );
    }
    let before = node.everything();
    assert_eq!(node.agent(&["audit"]).code, 3);
    assert_eq!(node.agent(&["detect"]).code, 0);
    assert!(node.everything() == before, "one of them was run");
}

#[test]
fn each_row_of_an_audit_is_counted_once_whatever_its_group() {
    let audit = Node::new().agent(&["audit", "--json"]).data();
    let rows = audit["rows"].as_array().unwrap();
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut groups: Vec<&str> = Vec::new();
    for row in rows {
        *counted.entry(row["verdict"].as_str().unwrap()).or_default() += 1;
        groups.push(row["group"].as_str().unwrap());
    }
    groups.sort_unstable();
    groups.dedup();
    assert!(groups.len() >= 6, "{groups:?}");
    for (verdict, count) in [
        ("differs", "differs"),
        ("missing", "missing"),
        ("ok", "ok"),
        ("not-applied", "not_applied"),
    ] {
        assert_eq!(
            audit["counts"][count],
            counted.get(verdict).copied().unwrap_or(0),
            "{verdict}"
        );
    }
    let knobs: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["knob"].as_str().unwrap()).collect();
    assert_eq!(knobs.len(), rows.len(), "a knob stands twice");
}

#[test]
fn a_multi_queue_port_is_judged_by_its_leaves_and_keeps_its_root() {
    let node = Node::new();
    node.command(
        "tc",
        "#!/bin/sh\necho '[{\"kind\":\"mq\",\"handle\":\"0:\",\"root\":true},\
         {\"kind\":\"fq\",\"handle\":\"0:\",\"parent\":\":1\"},{\"kind\":\"fq\",\"handle\":\"0:\",\"parent\":\":2\"}]'\n",
    );
    let audit = node.agent(&["audit", "--json"]).data();
    let rows = audit["rows"].as_array().unwrap();
    let leaf = rows
        .iter()
        .find(|row| row["knob"].as_str().unwrap().starts_with("qdisc/"))
        .unwrap();
    assert_eq!((&leaf["verdict"], &leaf["live"]), (&"ok".into(), &"fq".into()));
}

#[test]
fn a_speed_that_the_kernel_does_not_know_gives_no_class() {
    let node = Node::new();
    node.write("/sys/class/net/eth0/speed", "-1\n");
    let ended = node.agent(&["audit"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains("link speed unknown, eth0 reports -1"),
        "{}",
        ended.err
    );
    node.write("/etc/dtnforge/site.toml", "role = \"dtn\"\nlink_mbps = 25000\n");
    assert!(node.agent(&["audit"]).out.contains("profile:     dtn-25g-nvme"));
}
