//! What a site asks before anything else: has this host what the agent needs?

use crate::node::Node;
use serde_json::Value;

fn item<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let items = answer["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {answer}"))
}

#[test]
fn a_selftest_names_what_is_missing_and_changes_nothing() {
    let node = Node::new();
    node.command("systemd-run", "#!/bin/sh\necho 'cannot be run' >&2; exit 1\n");
    let before = node.everything();
    let ended = node.agent(&["selftest"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(
        ended
            .out
            .starts_with("nothing can be tried on this host: program:systemd-run\n"),
        "{}",
        ended.out
    );
    let ended = node.agent(&["selftest", "--json"]);
    assert_eq!(ended.code, 1);
    let answer = ended.data();
    assert_eq!(answer["ready"], false);
    let profile = item(&answer, "profile");
    assert_eq!(profile["there"], "yes");
    let found = profile["found"].as_str().unwrap();
    assert!(
        found.starts_with("dtn-100g-nvme: ") && found.contains("knobs to change"),
        "{found}"
    );
    assert_eq!(item(&answer, "kernel")["found"], "6.12.48+deb13-amd64");
    assert_eq!(item(&answer, "module:sch_netem")["there"], "cannot-tell");
    assert!(node.everything() == before, "something was changed");
}

#[test]
fn a_host_with_all_that_a_trial_needs_is_ready_though_nothing_can_be_proved_on_it() {
    let node = Node::new();
    std::fs::create_dir_all(node.path("/run/systemd/system")).unwrap();
    node.command("systemctl", "#!/bin/sh\necho 'systemd 252 (252.30-1~deb12u2)'\n");
    node.command(
        "systemd-run",
        "#!/bin/sh\necho 'systemd 252 (252.30-1~deb12u2)'\n",
    );
    node.command("iperf3", "#!/bin/sh\necho 'cannot be run' >&2; exit 1\n");
    node.command("tuned-adm", "#!/bin/sh\necho 'tuned-adm 2.20.0'\n");
    let ended = node.agent(&["selftest", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let answer = ended.data();
    assert_eq!(answer["ready"], true);
    assert_eq!(item(&answer, "program:iperf3")["there"], "no");
    let tuned = item(&answer, "tuned")["found"].as_str().unwrap().to_owned();
    assert!(
        tuned.contains("before 2.24 a link in its own directory"),
        "{tuned}"
    );
    node.command("systemctl", "#!/bin/sh\necho 'systemd 219'\n");
    let old = node.agent(&["selftest"]);
    assert_eq!(old.code, 1);
    assert!(old.out.contains("systemd 219; tried from 252 on"), "{}", old.out);
}
