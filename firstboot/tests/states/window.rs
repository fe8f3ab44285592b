//! An admin's own trial: tried, confirmed, committed, rolled back, and taken back by itself.

use crate::node::{Ended, Node};
use serde_json::Value;
use std::time::{Duration, Instant};

/// A node whose page cache has the plan's limits already: they come in pairs of which the kernel sets one to zero when
/// the other is written, and a directory does not.
fn node() -> Node {
    let node = Node::new();
    node.write("/proc/sys/vm/dirty_bytes", "4294967296\n");
    node.write("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
    node
}

/// The values that a trial may change, as the node has them.
fn values(node: &Node) -> Vec<String> {
    [
        "/proc/sys/net/ipv4/tcp_rmem",
        "/proc/sys/net/core/rmem_max",
        "/proc/sys/vm/swappiness",
        "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "/qdisc",
    ]
    .map(|path| node.read(path).replace('\t', " "))
    .to_vec()
}

fn state(node: &Node) -> Value {
    node.agent(&["status", "--json"]).data()
}

/// Waits until the node has left the state `trial`; the watcher is a process of its own.
fn until_not_a_trial(node: &Node, limit: Duration) -> Duration {
    let start = Instant::now();
    while state(node)["state"] == "trial" {
        assert!(start.elapsed() < limit, "still a trial after {limit:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    start.elapsed()
}

fn tried(node: &Node, args: &[&str]) -> Ended {
    let args: Vec<&str> = ["try"].into_iter().chain(args.iter().copied()).collect();
    let ended = node.agent(&args);
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

#[test]
fn a_trial_stays_after_its_command_and_a_rollback_reads_every_value() {
    let node = node();
    let before = values(&node);
    let ended = tried(&node, &[]);
    assert!(
        ended
            .out
            .starts_with("trial of dtn-100g-nvme is live and not committed: "),
        "{}",
        ended.out
    );
    assert!(
        ended.out.ends_with("dtn-firstboot commit | rollback\n"),
        "{}",
        ended.out
    );
    assert_ne!(values(&node), before);
    let status = state(&node);
    assert_eq!(
        (&status["state"], &status["window"]["confirm_within_s"]),
        (&"trial".into(), &Value::Null)
    );
    assert!(
        node.agent(&["status"])
            .out
            .contains("\ntrial:       live until `dtn-firstboot commit`")
    );
    let ended = node.agent(&["rollback"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended
            .out
            .starts_with("rolled back dtn-100g-nvme: an admin said rollback; "),
        "{}",
        ended.out
    );
    assert_eq!(values(&node), before);
    let after = state(&node);
    assert_eq!(
        (&after["state"], &after["attempts"]["begun"]),
        (&"stock".into(), &0.into())
    );
    assert!(!node.path("/run/dtnforge/window.json").exists());
    assert_eq!(node.agent(&["rollback"]).out, "stock: nothing of ours is live\n");
}

#[test]
fn what_nobody_confirms_goes_by_itself() {
    let node = node();
    let before = values(&node);
    let answer = tried(&node, &["--confirm-within", "5s", "--json"]).data();
    assert_eq!(
        (&answer["state"], &answer["confirm_within_s"]),
        (&"trial".into(), &5.into())
    );
    assert_ne!(values(&node), before);
    until_not_a_trial(&node, Duration::from_secs(30));
    assert_eq!(values(&node), before);
    let history = state(&node)["history"].clone();
    let last = history.as_array().unwrap().last().unwrap()["reason"].to_string();
    assert!(last.contains("nobody confirmed it in time"), "{last}");
    let ended = node.agent(&["confirm"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended
            .err
            .contains("no trial waits to be confirmed (state stock)\nhint:"),
        "{}",
        ended.err
    );
}

#[test]
fn a_confirmed_trial_stays_and_more_time_is_more_time() {
    let node = node();
    tried(&node, &["--confirm-within", "6s"]);
    let answer = node.agent(&["confirm", "--extend", "1h", "--json"]).data();
    let left = answer["confirm_within_s"].as_u64().unwrap();
    assert!((3600..=3606).contains(&left), "{answer}");
    let ended = node.agent(&["confirm"]);
    assert_eq!(
        ended.out.lines().next().unwrap(),
        "confirmed: the trial of dtn-100g-nvme stays, and is not committed"
    );
    let again = node.agent(&["confirm"]);
    assert!(again.out.contains("waits for no confirmation"), "{}", again.out);
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(state(&node)["state"], "trial");
    rolled_back(&node);
}

#[test]
fn a_commit_says_that_nothing_was_measured_and_its_rollback_leads_to_stock() {
    let node = node();
    let before = values(&node);
    tried(&node, &[]);
    let tuned = values(&node);
    let ended = node.agent(&["commit"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended
            .out
            .starts_with("committed dtn-100g-nvme: kept by an admin and not measured: "),
        "{}",
        ended.out
    );
    assert_eq!(values(&node), tuned);
    let status = state(&node);
    assert_eq!(status["state"], "committed");
    assert_eq!(status["verdict"]["metrics"], Value::Array(vec![]));
    assert_eq!(status["verdict"]["groups"]["tcp-buffers"]["evidence"], "unproved");
    assert!(!node.path("/run/dtnforge/trial.journal").exists());
    assert_eq!(node.agent(&["run"]).code, 0, "the committed node fits its commit");

    let again = node.agent(&["try"]);
    assert_eq!(again.code, 1);
    assert!(
        again.err.contains("is committed and live") && again.err.contains("hint:"),
        "{}",
        again.err
    );

    let ended = node.agent(&["rollback"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended.out.contains("knobs read back as before the commit"),
        "{}",
        ended.out
    );
    assert_eq!(values(&node), before);
    assert_eq!(state(&node)["state"], "rejected");
    assert_eq!(
        node.agent(&["run"]).code,
        4,
        "a node does not try again what an admin took back"
    );
    assert_eq!(values(&node), before);
    assert_eq!(node.agent(&["retry"]).code, 0);
    assert_eq!(state(&node)["state"], "stock");
}

#[test]
fn a_value_that_somebody_changed_meanwhile_is_not_committed() {
    let node = node();
    let before = values(&node);
    tried(&node, &[]);
    node.write("/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t16777216\n");
    let ended = node.agent(&["commit"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        ended.out.contains("sysctl:net.ipv4.tcp_rmem: expected"),
        "{}",
        ended.out
    );
    assert_eq!(state(&node)["state"], "trial");
    rolled_back(&node);
    assert_eq!(values(&node), before);
}

#[test]
fn a_value_that_is_refused_takes_all_back() {
    let node = node();
    let before = values(&node);
    // Writes fail, reads do not.
    node.command(
        "tc",
        "#!/bin/sh\ncase \"$*\" in *show*) echo '[{\"kind\":\"fq_codel\",\"handle\":\"0:\",\"root\":true}]' ;; \
         *) echo 'RTNETLINK answers: Invalid argument' >&2; exit 2 ;; esac\n",
    );
    let ended = node.agent(&["try"]);
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(ended.out.contains("applying stopped: qdisc/"), "{}", ended.out);
    assert!(ended.out.contains("knobs read back as before"), "{}", ended.out);
    assert_eq!(values(&node), before);
    assert_eq!(state(&node)["state"], "stock");
}

#[test]
fn nothing_else_touches_a_live_trial() {
    let node = node();
    tried(&node, &[]);
    let tuned = values(&node);
    let run = node.agent(&["run"]);
    assert_eq!(run.code, 6, "{run:?}");
    assert!(
        run.out.contains("an admin's trial of dtn-100g-nvme is live"),
        "{}",
        run.out
    );
    let recover = node.agent(&["recover"]);
    assert_eq!(recover.code, 0);
    assert!(recover.out.contains("nothing to take back"), "{}", recover.out);
    node.agent(&["save", "now"]);
    for (args, hint) in [
        (&["try"][..], "one trial at a time"),
        (&["restore", "now"], "dtn-firstboot rollback"),
        (&["hold"], "dtn-firstboot rollback"),
        (&["retry"], "a trial is on disk"),
    ] {
        let ended = node.agent(args);
        assert_eq!(ended.code, 1, "{args:?}: {ended:?}");
        assert!(ended.err.contains(hint), "{args:?}: {}", ended.err);
    }
    assert_eq!(values(&node), tuned);
    rolled_back(&node);
}

#[test]
fn a_held_node_tries_nothing() {
    let node = node();
    assert_eq!(node.agent(&["hold"]).code, 0);
    let before = node.read("/etc/dtnforge/state.json");
    for command in ["try", "rollback"] {
        let ended = node.agent(&[command]);
        assert_eq!(ended.code, 6, "{ended:?}");
        assert!(ended.out.contains("hint: dtn-firstboot release"), "{}", ended.out);
    }
    assert_eq!(node.read("/etc/dtnforge/state.json"), before);
}

#[test]
fn only_the_groups_that_were_asked_for_are_tried() {
    let node = node();
    let ended = tried(&node, &["--group", "tcp-buffers"]);
    assert!(
        ended.out.contains("not among the groups that were asked for"),
        "{}",
        ended.out
    );
    assert_eq!(node.read("/qdisc"), "fq_codel");
    assert_ne!(node.read("/proc/sys/net/ipv4/tcp_rmem"), "4096\t131072\t6291456");
    rolled_back(&node);
    let wrong = node.agent(&["try", "--group", "nosuch"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("expected one of tcp-buffers, "),
        "{}",
        wrong.err
    );
    assert_eq!(node.agent(&["try", "--confirm-within", "1s"]).code, 2);
}

#[test]
fn a_boot_ends_a_trial_and_the_state_before_it_is_back() {
    let node = node();
    tried(&node, &[]);
    // A power cut: /run and all values are gone, the state is not.
    std::fs::remove_dir_all(node.path("/run")).unwrap();
    let id = "5d1e3f0a-0000-4000-8000-000000000002";
    node.write("/proc/sys/kernel/random/boot_id", &format!("{id}\n"));
    assert_eq!(
        node.agent(&["commit"]).code,
        1,
        "nothing of another boot is committed"
    );
    let ended = node.agent(&["run"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended
            .out
            .starts_with("stock: the trial that an admin began in boot "),
        "{}",
        ended.out
    );
    assert_eq!(state(&node)["state"], "stock");
}

#[test]
fn a_trial_whose_record_is_gone_is_taken_back_by_its_journal() {
    let node = node();
    let before = values(&node);
    tried(&node, &[]);
    node.write("/run/dtnforge/window.json", "{\"schema\": 1");
    let ended = node.agent(&["commit"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let ended = node.agent(&["rollback"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended.out.contains("what a dead trial had left was taken back"),
        "{}",
        ended.out
    );
    assert_eq!(values(&node), before);
}

fn rolled_back(node: &Node) {
    let ended = node.agent(&["rollback"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn nothing_is_tried_over_the_values_of_a_former_commit() {
    let node = node();
    tried(&node, &[]);
    assert_eq!(node.agent(&["commit"]).code, 0);
    node.write(
        "/etc/dtnforge/site.toml",
        "role = \"dtn\"\nthroughput_limit = 0.9\n",
    );
    let ended = node.agent(&["run"]);
    assert!(
        ended.out.contains("its values stay live in this boot"),
        "{ended:?}"
    );
    let live = values(&node);
    let again = node.agent(&["run"]);
    assert!(
        again
            .out
            .starts_with("stock: values of a former commit are live in this boot"),
        "{again:?}"
    );
    let tried = node.agent(&["try"]);
    assert_eq!(tried.code, 1, "{tried:?}");
    assert!(
        tried
            .err
            .contains("values of a former commit are live in this boot")
            && tried.err.contains("reboot"),
        "{tried:?}"
    );
    assert_eq!(values(&node), live);
}

#[test]
fn a_commit_that_was_taken_back_leaves_room_for_another_trial() {
    let node = node();
    tried(&node, &[]);
    assert_eq!(node.agent(&["commit"]).code, 0);
    assert_eq!(node.agent(&["rollback"]).code, 0);
    assert_eq!(node.agent(&["retry"]).code, 0);
    tried(&node, &[]);
}
