//! Bad days of a node: a state that cannot be read, a second agent, a link that goes, other hardware, odd values.

use crate::node::Node;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

const STATE: &str = "/etc/dtnforge/state.json";

/// Commands that a boot runs, and those that people and collectors run at any time.
const COMMANDS: &[&[&str]] = &[
    &["status", "--json"],
    &["boots", "--json"],
    &["metrics"],
    &["early"],
    &["recover"],
    &["commit"],
];

/// None of the commands panics, hangs or dies; the node is stock, nothing is put in place, and the reason is shown.
fn stays_stock(node: &Node, commands: &[&[&str]], what: &str, reason: &str) {
    for command in commands {
        let ended = node.agent(command);
        assert!(
            !ended.err.contains("panicked"),
            "{what}: {command:?}: {}",
            ended.err
        );
        if command[0] == "status" {
            let data = ended.data();
            assert_eq!(data["state"], "stock", "{what}");
            let shown = data["reason"].as_str().unwrap();
            assert!(shown.contains(STATE) && shown.contains(reason), "{what}: {shown}");
        }
        if command[0] == "early" {
            assert!(
                !node.path("/run/sysctl.d").exists(),
                "{what}: files of a commit are in place"
            );
        }
    }
}

#[test]
fn a_state_that_makes_no_sense_is_stock_with_its_reason() {
    let committed = Node::committed();
    let whole = committed.read(STATE);
    // A small generator, so that every run tries the same bytes.
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()
    };
    let noise: Vec<u8> = (0..64).flat_map(|_| random()).collect();
    let cases: Vec<(String, Vec<u8>, &str)> = vec![
        ("empty".into(), vec![], "the state file is empty"),
        ("blank".into(), b" \n\n".to_vec(), "the state file is empty"),
        ("random".into(), noise, "cannot be read as schema 1"),
        (
            "of a newer schema".into(),
            whole.replacen("\"schema\":1", "\"schema\":9", 1).into(),
            "schema 9, newer than 1",
        ),
        (
            "of a state that nobody knows".into(),
            whole.replacen("committed", "perfect", 1).into(),
            "cannot be read as schema 1",
        ),
        ("a list".into(), b"[1, 2]".to_vec(), "cannot be read as schema 1"),
        (
            "deep".into(),
            "[".repeat(100_000).into(),
            "cannot be read as schema 1",
        ),
    ];
    // The parser is given every cut in a test of its own.
    let cuts = (1..whole.len()).step_by(whole.len() / 4);
    let cuts = cuts.map(|at| {
        (
            format!("cut at {at}"),
            whole.as_bytes()[..at].to_vec(),
            "cannot be read as schema 1",
        )
    });
    for (what, bytes, reason) in cases.into_iter().chain(cuts) {
        fs::write(committed.path(STATE), bytes).unwrap();
        let _ = fs::remove_dir_all(committed.path("/run"));
        let commands = if what.starts_with("cut") {
            &COMMANDS[..1]
        } else {
            COMMANDS
        };
        stays_stock(&committed, commands, &what, reason);
        fs::remove_file(committed.path(STATE)).unwrap();
    }
}

#[test]
fn a_state_that_is_no_file_or_that_others_may_write_is_not_believed() {
    let node = Node::committed();
    let whole = node.read(STATE);
    fs::set_permissions(node.path(STATE), fs::Permissions::from_mode(0o666)).unwrap();
    stays_stock(
        &node,
        COMMANDS,
        "world-writable",
        "others than its owner may write it (mode 0666",
    );
    fs::remove_file(node.path(STATE)).unwrap();
    fs::create_dir(node.path(STATE)).unwrap();
    stays_stock(&node, &COMMANDS[..4], "a directory", "it is no regular file");
    fs::remove_dir_all(node.path(STATE)).unwrap();
    // Opening a pipe would wait for its writer for ever.
    nix::unistd::mkfifo(&node.path(STATE), nix::sys::stat::Mode::S_IRUSR).unwrap();
    stays_stock(&node, &COMMANDS[..4], "a pipe", "it is no regular file");
    fs::remove_file(node.path(STATE)).unwrap();
    node.write(STATE, &whole);
    assert_eq!(node.agent(&["status", "--json"]).data()["state"], "committed");
}

#[test]
fn a_second_agent_is_refused_and_changes_nothing() {
    let node = Node::new();
    node.agent(&["save", "before"]);
    node.write("/run/dtnforge/lock", "");
    let lock = File::options()
        .write(true)
        .open(node.path("/run/dtnforge/lock"))
        .unwrap();
    let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).unwrap();
    let before = node.everything();
    for command in [
        &["run"][..],
        &["try"],
        &["try", "--prove"],
        &["confirm"],
        &["commit"],
        &["rollback"],
        &["recover"],
        &["retry"],
        &["hold"],
        &["release"],
        &["restore", "before"],
    ] {
        let ended = node.agent(command);
        assert_eq!(ended.code, 1, "{command:?}: {ended:?}");
        assert!(
            ended.err.contains("another dtn-firstboot is at work"),
            "{command:?}: {}",
            ended.err
        );
    }
    assert!(node.everything() == before, "one of them changed something");
    drop(lock);
    assert_eq!(node.agent(&["recover"]).code, 0);
}

/// A node whose link goes when a queue discipline is set; `then` says what happens to it afterwards.
fn flapping(then: &str) -> Node {
    let node = Node::new();
    node.write("/proc/sys/vm/dirty_bytes", "4294967296\n");
    node.write("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
    let tc = format!(
        "#!/bin/sh\ncd \"$(dirname \"$0\")/..\"\ncase \"$*\" in\n\
         *show*) echo \"[{{\\\"kind\\\":\\\"$(cat qdisc)\\\",\\\"handle\\\":\\\"$(cat handle 2>/dev/null || echo 0:)\\\",\\\"root\\\":true}}]\" ;;\n\
         *replace*) for kind; do :; done; echo \"$kind\" >qdisc; echo d7: >handle\n\
         echo 0 >sys/class/net/eth0/carrier; {then} ;;\n\
         *del*) cat proc/sys/net/core/default_qdisc >qdisc; rm -f handle; echo 1 >sys/class/net/eth0/carrier ;;\nesac\n"
    );
    node.command("tc", &tc);
    node
}

#[test]
fn a_link_that_comes_back_after_some_seconds_is_waited_for() {
    let node = flapping("(sleep 3; echo 1 >sys/class/net/eth0/carrier) >/dev/null 2>&1 &");
    let ended = node.agent(&["try"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(node.agent(&["rollback"]).code, 0);
}

#[test]
fn a_link_that_stays_away_takes_all_back_within_the_deadline() {
    let node = flapping(":");
    let begun = std::time::Instant::now();
    let ended = node.agent(&["try"]);
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(
        ended.out.contains("check link:eth0 failed: no carrier"),
        "{}",
        ended.out
    );
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        (
            node.read("/qdisc").as_str(),
            node.read("/sys/class/net/eth0/carrier").as_str()
        ),
        ("fq_codel", "1")
    );
}

/// A node of our image with a commit of an earlier boot.
fn next_boot(node: &Node) {
    node.write("/proc/cmdline", "dtnforge.mode=tuned\n");
    node.write("/proc/self/mounts", "/dev/vda6 /state ext4 rw 0 0\n");
    let _ = fs::remove_dir_all(node.path("/run"));
    node.write(
        "/proc/sys/kernel/random/boot_id",
        "5d1e3f0a-0000-4000-8000-000000000002\n",
    );
}

#[test]
fn a_commit_for_another_card_is_not_put_in_place_and_nothing_is_tried_until_retry() {
    let node = Node::new();
    node.write("/proc/sys/vm/dirty_bytes", "4294967296\n");
    node.write("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
    assert_eq!(node.agent(&["try"]).code, 0);
    assert_eq!(node.agent(&["commit"]).code, 0);
    next_boot(&node);
    let card = "/sys/devices/pci0000:80/0000:81:00.0/device";
    node.write(card, "0x1017\n");
    assert_eq!(node.agent(&["early"]).code, 0);
    assert!(!node.path("/run/sysctl.d").exists());
    let ended = node.agent(&["run"]);
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(
        ended.out.starts_with(
            "rejected: the hardware changed since the commit of dtn-100g-nvme; no new trial until"
        ),
        "{}",
        ended.out
    );
    assert_eq!(node.agent(&["run"]).code, 4, "and so it stays");
    assert_eq!(node.agent(&["status", "--json"]).data()["attempts"]["begun"], 0);
    assert_eq!(node.agent(&["retry"]).code, 0);
    let status = node.agent(&["status", "--json"]).data();
    assert_eq!(status["state"], "stock", "{status}");

    // The card was only missing for one boot: the commit was kept aside.
    let node = Node::new();
    node.write("/proc/sys/vm/dirty_bytes", "4294967296\n");
    node.write("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
    node.agent(&["try"]);
    node.agent(&["commit"]);
    let right = node.read(card);
    next_boot(&node);
    node.write(card, "0x1017\n");
    node.agent(&["early"]);
    assert_eq!(node.agent(&["run"]).code, 4);
    let _ = fs::remove_dir_all(node.path("/run"));
    node.write(
        "/proc/sys/kernel/random/boot_id",
        "5d1e3f0a-0000-4000-8000-000000000003\n",
    );
    node.write(card, &format!("{right}\n"));
    node.agent(&["early"]);
    let ended = node.agent(&["run"]);
    assert!(ended.out.starts_with("committed dtn-100g-nvme"), "{ended:?}");
}

#[test]
fn a_lower_speed_alone_is_no_other_hardware() {
    let node = Node::new();
    node.write("/proc/sys/vm/dirty_bytes", "4294967296\n");
    node.write("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
    node.agent(&["try"]);
    assert_eq!(node.agent(&["commit"]).code, 0);
    node.write("/sys/class/net/eth0/speed", "40000\n");
    let ended = node.agent(&["run"]);
    assert!(!ended.out.contains("hardware changed"), "{ended:?}");
    assert_eq!(node.agent(&["status", "--json"]).data()["state"], "committed");
}
