//! `dtn-firstboot save`, `states`, `diff`, `restore` and `delete`.

use crate::node::Node;
use serde_json::Value;

const SWAP: &str = "/proc/sys/vm/swappiness";
const RMEM: &str = "/proc/sys/net/ipv4/tcp_rmem";

/// A stock node with the label `before`.
fn saved() -> Node {
    let node = Node::new();
    let ended = node.agent(&["save", "before"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    node
}

/// What a tuning script of a site may have done to a node.
fn tune_by_hand(node: &Node) {
    node.write(SWAP, "10\n");
    node.write(RMEM, "4096\t87380\t1073741824\n");
    node.write("/proc/sys/vm/dirty_ratio", "40\n");
    node.write("/proc/sys/net/core/default_qdisc", "fq\n");
    node.write("/qdisc", "fq\n");
    node.write("/sys/class/net/eth0/mtu", "9000\n");
    node.write("/sys/block/nvme0n1/queue/read_ahead_kb", "16384\n");
    node.write(
        "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "performance\n",
    );
    node.write("/etc/tuned/active_profile", "network-throughput\n");
    node.write("/running", "network-throughput\n");
}

fn knobs(rows: &Value) -> Vec<&str> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["knob"].as_str().unwrap())
        .collect()
}

#[test]
fn all_knobs_of_the_registry_that_the_host_has_are_saved_and_listed() {
    let node = Node::new();
    let ended = node.agent(&["save", "before", "--json"]);
    let snapshot = ended.data();
    let saved = snapshot["knobs"].as_object().unwrap();
    for knob in [
        "sysctl:net.core.netdev_max_backlog",
        "sysctl:vm.dirty_bytes",
        "tuned:profile",
        "cpu:governor",
        "nic/0000:81:00.0+02:00:00:00:00:10:mtu",
        "qdisc/0000:81:00.0+02:00:00:00:00:10:leaf",
        "block/0000:03:00.0+nvme0n1:read_ahead_kb",
    ] {
        assert!(saved.contains_key(knob), "{knob} in {saved:#?}");
    }
    assert_eq!(
        saved["sysctl:vm.dirty_bytes"]["back"]["value"]["value"], "20",
        "the ratio is in force"
    );
    assert_eq!(
        saved["tuned:profile"]["value"], "none",
        "no profile is its own value"
    );
    let left: Vec<_> = knobs(&snapshot["left_out"]);
    assert!(
        left.contains(&"nic/0000:81:00.0+02:00:00:00:00:10:ring.rx"),
        "{left:?}"
    );

    let states = node.agent(&["states"]).out;
    assert!(
        states.starts_with("before  ") && states.contains(&format!(" {} values, stock", saved.len())),
        "{states}"
    );
    let states = node.agent(&["states", "--json"]).data();
    assert_eq!(
        (&states[0]["label"], &states[0]["same_hardware"]),
        (&"before".into(), &true.into())
    );
}

#[test]
fn a_label_of_the_same_name_is_only_replaced_when_that_is_said() {
    let node = saved();
    node.write(SWAP, "10\n");
    let ended = node.agent(&["save", "before"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended
            .err
            .contains("there is a label before already\nhint: another name, or --replace"),
        "{}",
        ended.err
    );
    assert_eq!(node.agent(&["diff", "before"]).code, 3, "the old one is whole");
    assert_eq!(node.agent(&["save", "before", "--replace"]).code, 0);
    assert_eq!(node.agent(&["diff", "before"]).code, 0);
}

#[test]
fn names_that_are_no_labels_are_bad_input_and_make_no_file() {
    let node = Node::new();
    for name in ["../../etc/shadow", "Before", ".x", "a/b", ""] {
        let ended = node.agent(&["save", name]);
        assert_eq!(ended.code, 2, "{name}: {ended:?}");
        assert!(ended.err.contains("is no label: expected"), "{}", ended.err);
    }
    assert!(!node.path("/var/lib/dtnforge").exists());
    assert_eq!(node.agent(&["save"]).code, 2, "a missing argument");
}

#[test]
fn a_label_that_is_not_there_is_said_with_those_that_are() {
    let node = Node::new();
    for command in ["diff", "restore", "delete"] {
        let ended = node.agent(&[command, "nosuch"]);
        assert_eq!(ended.code, 1);
        let expected =
            "dtn-firstboot: there is no label nosuch; none is saved\nhint: dtn-firstboot save LABEL\n";
        assert_eq!(ended.err, expected, "{command}");
    }
    node.agent(&["save", "before"]);
    let ended = node.agent(&["restore", "nosuch"]);
    assert!(
        ended
            .err
            .ends_with("there is no label nosuch; saved are: before\n"),
        "{}",
        ended.err
    );
}

#[test]
fn a_damaged_label_is_listed_as_such_and_never_put_back() {
    let node = saved();
    let path = "/var/lib/dtnforge/labels/before.json";
    let text = node.read(path);
    node.write(path, &text[..text.len() / 2]);
    let list = node.agent(&["states"]);
    assert_eq!(list.code, 0);
    assert!(
        list.out.contains("before  cannot be used: label before: ") && list.out.contains("schema 1"),
        "{}",
        list.out
    );
    let before = node.everything();
    assert_eq!(node.agent(&["diff", "before"]).code, 1);
    assert_eq!(node.everything(), before);
    assert_eq!(node.agent(&["restore", "before"]).code, 1);
    assert_eq!(node.agent(&["delete", "before"]).code, 0, "but it can be removed");
    assert_eq!(
        node.agent(&["states"]).out,
        "nothing is saved\nhint: dtn-firstboot save LABEL\n"
    );
}

#[test]
fn a_diff_names_what_differs_and_who_set_it_and_touches_nothing() {
    let node = saved();
    node.write(RMEM, "4096\t87380\t1073741824\n");
    node.write(
        "/etc/sysctl.d/90-fasterdata.conf",
        "net.ipv4.tcp_rmem = 4096 87380 1073741824\n",
    );
    node.write("/proc/sys/vm/dirty_ratio", "40\n");
    let before = node.everything();
    let ended = node.agent(&["diff", "before"]);
    assert_eq!((ended.code, node.everything() == before), (3, true));
    let expected = "before -> live\n  sysctl:net.ipv4.tcp_rmem: 4096 131072 6291456 -> 4096 87380 1073741824\n      \
                    set by: sysctl.d /etc/sysctl.d/90-fasterdata.conf:1\n  sysctl:vm.dirty_ratio: 20 -> 40\n2 differ, ";
    assert!(ended.out.starts_with(expected), "{}", ended.out);
    node.agent(&["save", "after"]);
    let data = node.agent(&["diff", "before", "after", "--json"]).data();
    assert_eq!(
        knobs(&data["differences"]),
        ["sysctl:net.ipv4.tcp_rmem", "sysctl:vm.dirty_ratio"]
    );
    assert_eq!(node.agent(&["diff", "after"]).code, 0);
}

#[test]
fn a_dry_run_shows_the_writes_in_their_order_and_does_none() {
    let node = saved();
    tune_by_hand(&node);
    let before = node.everything();
    let ended = node.agent(&["restore", "before", "--plan"]);
    assert_eq!((ended.code, node.everything() == before), (0, true), "{ended:?}");
    let at = |part: &str| {
        ended
            .out
            .find(part)
            .unwrap_or_else(|| panic!("no {part} in {}", ended.out))
    };
    assert!(at(":mtu [eth0]: 9000 -> 1500") < at("qdisc/"), "{}", ended.out);
    assert!(at("sysctl:net.core.default_qdisc: fq -> fq_codel") < at(":leaf [eth0]: fq -> fq_codel"));
    assert!(ended.out.contains("interrupts the link: as saved"));
    assert!(
        ended
            .out
            .contains("as saved: sysctl:vm.dirty_ratio = 20 was in force")
    );
    assert!(ended.out.contains("nothing was changed"));
}

#[test]
fn a_restore_puts_every_value_back_and_says_that_files_were_not_changed() {
    let node = saved();
    tune_by_hand(&node);
    node.write(
        "/etc/sysctl.d/90-fasterdata.conf",
        "net.ipv4.tcp_rmem = 4096 87380 1073741824\n",
    );
    let ended = node.agent(&["restore", "before"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(node.agent(&["diff", "before"]).code, 0);
    assert_eq!(
        node.read(SWAP),
        "60",
        "although tuned was stopped and started in between"
    );
    assert_eq!(node.read("/proc/sys/vm/dirty_ratio"), "20");
    assert_eq!(node.read("/qdisc"), "fq_codel");
    assert!(
        !node.path("/handle").exists(),
        "the kernel's own qdisc, not one of ours"
    );
    let governor = |policy| {
        node.read(&format!(
            "/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor"
        ))
    };
    assert_eq!(
        (governor(0), governor(1)),
        ("schedutil".into(), "schedutil".into())
    );
    assert!(
        !node.path("/running").exists(),
        "no tuned profile was active, and none is made up"
    );
    assert!(!node.path("/etc/tuned/active_profile").exists());
    let live = "live only: no file was changed, and the values end with this boot\n  at the next boot sysctl.d \
                /etc/sysctl.d/90-fasterdata.conf:1 sets 4096 87380 1073741824: sysctl:net.ipv4.tcp_rmem\n";
    assert!(ended.out.contains(live), "{}", ended.out);
    assert!(
        node.read("/etc/sysctl.d/90-fasterdata.conf")
            .contains("1073741824")
    );
    assert!(!node.path("/run/dtnforge/restore.journal").exists());
    let again = node.agent(&["restore", "before"]);
    assert_eq!(again.code, 0);
    assert!(
        again.out.starts_with("before: 0 put back and read"),
        "{}",
        again.out
    );
}

#[test]
fn a_restore_is_remembered_in_the_history_and_as_the_owner_of_its_values() {
    let node = Node::committed();
    node.write(SWAP, "60\n");
    node.agent(&["save", "own"]);
    node.write(SWAP, "10\n");
    let ended = node.agent(&["restore", "own"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended
            .out
            .contains("the next boot puts the committed profile dtn-100g-nvme in place again"),
        "{}",
        ended.out
    );
    let state: Value = serde_json::from_str(&node.read("/etc/dtnforge/state.json")).unwrap();
    assert_eq!(
        state["state"]["state"], "committed",
        "a restore is no decision about the profile"
    );
    let last = state["history"].as_array().unwrap().last().unwrap();
    assert!(
        last["reason"]
            .as_str()
            .unwrap()
            .starts_with("an admin put back the label own: 1 values"),
        "{last}"
    );
    let audit = node.agent(&["audit"]).out;
    assert!(audit.contains("set by: restored from label own"), "{audit}");
}

#[test]
fn a_value_that_is_refused_is_named_and_the_rest_is_put_back() {
    let node = saved();
    tune_by_hand(&node);
    node.write(
        "/bin/tc",
        "#!/bin/sh\ncase \"$*\" in *show*) echo '[{\"kind\":\"fq\",\"handle\":\"0:\",\"root\":true}]' ;; *) \
        echo 'RTNETLINK answers: Operation not permitted' >&2; exit 2 ;; esac\n",
    );
    let ended = node.agent(&["restore", "before"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(
        ended.out.contains("FAILED qdisc/") && ended.out.contains("Operation not permitted"),
        "{}",
        ended.out
    );
    assert_eq!(
        (node.read(SWAP), node.read("/sys/class/net/eth0/mtu")),
        ("60".into(), "1500".into())
    );
    assert_eq!(node.read("/sys/block/nvme0n1/queue/read_ahead_kb"), "128");
}

#[test]
fn all_or_nothing_leaves_the_host_as_it_was() {
    let node = saved();
    tune_by_hand(&node);
    node.write(
        "/bin/tc",
        "#!/bin/sh\ncase \"$*\" in *show*) echo '[{\"kind\":\"fq\",\"handle\":\"0:\",\"root\":true}]' ;; *) \
        echo 'RTNETLINK answers: Operation not permitted' >&2; exit 2 ;; esac\n",
    );
    let ended = node.agent(&["restore", "before", "--all-or-nothing"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.out.contains("everything was taken back"), "{}", ended.out);
    assert_eq!(
        (node.read(SWAP), node.read("/sys/class/net/eth0/mtu")),
        ("10".into(), "9000".into())
    );
    assert_eq!(node.read("/running"), "network-throughput");
}

#[test]
fn a_nic_that_is_gone_is_listed_and_the_rest_is_put_back() {
    let node = saved();
    tune_by_hand(&node);
    std::fs::remove_file(node.path("/sys/class/net/eth0")).unwrap();
    let ended = node.agent(&["restore", "before"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    let gone = "not put back: nic/0000:81:00.0+02:00:00:00:00:10:mtu [eth0]: the device is gone\n";
    assert!(ended.out.contains(gone), "{}", ended.out);
    assert_eq!(node.read(SWAP), "60");
}

#[test]
fn another_card_under_the_same_name_is_not_given_the_values() {
    let node = saved();
    node.write("/sys/class/net/eth0/address", "02:00:00:00:00:99\n");
    node.write("/sys/class/net/eth0/mtu", "9000\n");
    let ended = node.agent(&["restore", "before"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(node.read("/sys/class/net/eth0/mtu"), "9000");
    let states = node.agent(&["states"]).out;
    assert!(states.contains(", other hardware"), "{states}");
}

#[test]
fn the_link_of_a_bond_member_is_not_taken_down() {
    let node = saved();
    node.write("/sys/class/net/eth0/mtu", "9000\n");
    node.write(
        "/sys/class/net/eth0/bonding_slave/perm_hwaddr",
        "02:00:00:00:00:10\n",
    );
    std::os::unix::fs::symlink("../bond0", node.path("/sys/class/net/eth0/master")).unwrap();
    let ended = node.agent(&["restore", "before"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    let why = "[eth0]: eth0 is a member of bond0, and this takes its link down";
    assert!(ended.out.contains(why), "{}", ended.out);
    assert_eq!(node.read("/sys/class/net/eth0/mtu"), "9000");
}

#[test]
fn a_tuned_profile_of_ours_is_not_started_without_its_files() {
    let node = Node::committed();
    node.agent(&["save", "tuned"]);
    std::fs::remove_file(node.path("/running")).unwrap();
    let ended = node.agent(&["restore", "tuned"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    let why = "tuned:profile: dtnforge-dtn-100g-nvme is a profile of ours, and without its commit its files are not";
    assert!(ended.out.contains(why), "{}", ended.out);
    node.write(
        "/run/dtnforge/tuned/profiles/dtnforge-dtn-100g-nvme/tuned.conf",
        "[main]\n",
    );
    assert_eq!(node.agent(&["restore", "tuned"]).code, 0);
    assert_eq!(node.read("/running"), "dtnforge-dtn-100g-nvme");
}

#[test]
fn nothing_is_put_back_while_a_trial_is_live() {
    let node = saved();
    tune_by_hand(&node);
    node.write("/run/dtnforge/trial.journal", "");
    let before = node.everything();
    let ended = node.agent(&["restore", "before"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended
            .err
            .contains("a trial is live, or died without being taken back\nhint: "),
        "{}",
        ended.err
    );
    assert!(node.everything() == before, "something was written");
    assert_eq!(
        node.agent(&["restore", "before", "--plan"]).code,
        0,
        "a dry run reads only"
    );
}

#[test]
fn a_restore_that_died_is_taken_back_before_anything_else() {
    let node = saved();
    node.write(SWAP, "60\n");
    // What a restore leaves that died after its first write: 10 was live, 60 was written.
    let line = dtnforge_profiles::journal::Record {
        seq: 0,
        event: dtnforge_profiles::journal::Event::Intent {
            knob: "sysctl:vm.swappiness".parse().unwrap(),
            to: "60".into(),
            undo: dtnforge_profiles::undo::Undo::Write("10".into()),
        },
    };
    node.write("/run/dtnforge/restore.journal", &line.to_line().unwrap());
    let ended = node.agent(&["recover"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(
        ended.out,
        "a restore that died was taken back, 1 knobs read back as before\n"
    );
    assert_eq!(node.read(SWAP), "10");
    assert!(!node.path("/run/dtnforge/restore.journal").exists());
}
