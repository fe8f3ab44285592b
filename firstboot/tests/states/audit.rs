//! `dtn-firstboot audit`.

use crate::node::{Ended, Node};
use serde_json::Value;

const PUPPET: &str = "# HEADER: this file is managed by Puppet\nnet.ipv4.tcp_rmem = 4096 87380 16777216\n";

fn row<'a>(audit: &'a Value, knob: &str) -> &'a Value {
    let rows = audit["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["knob"] == knob);
    found.unwrap_or_else(|| panic!("no row for {knob} in {audit:#}"))
}

fn audit(node: &Node) -> (i32, Value) {
    let ended = node.agent(&["audit", "--json"]);
    (ended.code, ended.data())
}

#[test]
fn an_untuned_host_sees_what_its_profile_would_change_and_nothing_is_touched() {
    let node = Node::new();
    let before = node.everything();
    let (code, audit) = audit(&node);
    assert_eq!(code, 3, "{audit:#}");
    assert_eq!(node.everything(), before);
    assert_eq!(
        (&audit["against"], &audit["profile"]),
        (&"profile".into(), &"dtn-100g-nvme".into())
    );
    let leaf = row(&audit, "qdisc/0000:81:00.0+02:00:00:00:00:10:leaf");
    assert_eq!(
        (
            &leaf["device"],
            &leaf["verdict"],
            &leaf["expected"],
            &leaf["live"],
            &leaf["disrupts"]
        ),
        (
            &"eth0".into(),
            &"differs".into(),
            &"fq".into(),
            &"fq_codel".into(),
            &"queue".into()
        )
    );
    assert_eq!(leaf["owner"]["kind"], "nobody");
    assert_eq!(
        row(&audit, "sysctl:net.ipv4.tcp_congestion_control")["verdict"],
        "ok"
    );
    let iommu = row(&audit, "boot:iommu");
    assert_eq!(iommu["verdict"], "not-applied");
    assert!(
        iommu["note"].as_str().unwrap().contains("kernel command line"),
        "{iommu}"
    );
}

#[test]
fn vectors_are_compared_whatever_white_space_the_kernel_puts_between_fields() {
    let node = Node::new();
    node.write("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t402653184\n");
    let (_, audit) = audit(&node);
    let row = row(&audit, "sysctl:net.ipv4.tcp_wmem");
    assert_eq!(
        (&row["verdict"], &row["live"]),
        (&"ok".into(), &"4096 16384 402653184".into())
    );
}

#[test]
fn a_larger_value_that_a_profile_would_only_raise_is_as_expected() {
    let node = Node::new();
    node.write("/proc/sys/net/core/optmem_max", "4194304\n");
    let (_, audit) = audit(&node);
    let row = row(&audit, "sysctl:net.core.optmem_max");
    assert_eq!(row["verdict"], "ok");
    assert!(
        row["note"]
            .as_str()
            .unwrap()
            .starts_with("already larger: 4194304"),
        "{row}"
    );
}

#[test]
fn the_file_of_the_script_that_a_site_used_before_is_named_with_what_it_does_at_the_next_boot() {
    let node = Node::new();
    node.write("/proc/sys/net/core/rmem_max", "2147483647\n");
    node.write("/proc/sys/net/ipv4/tcp_mtu_probing", "2\n");
    node.write(
        "/etc/sysctl.d/90-fasterdata.conf",
        "net.core.rmem_max = 2147483647\nnet.ipv4.tcp_mtu_probing = 2\n",
    );
    let text = node.agent(&["audit"]).out;
    let lines = "DIFFERS  sysctl:net.ipv4.tcp_mtu_probing\n           expected 1, live 2\n           \
                 set by: sysctl.d /etc/sysctl.d/90-fasterdata.conf:2\n";
    assert!(text.contains(lines), "{text}");
    let later = "at the next boot sysctl.d /etc/sysctl.d/90-fasterdata.conf:2 sets 2, after our own file";
    assert!(text.contains(later), "{text}");
    assert!(
        !text.contains("sets 2147483647"),
        "a value that may stay is no conflict: {text}"
    );
    assert!(!text.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn a_committed_node_with_all_its_values_is_clean_and_they_are_ours() {
    let node = Node::committed();
    let (code, audit) = audit(&node);
    assert_eq!(code, 0, "{audit:#}");
    assert_eq!(
        (&audit["against"], &audit["counts"]["differs"]),
        (&"commit".into(), &0.into())
    );
    let owner = &row(&audit, "sysctl:vm.swappiness")["owner"];
    assert_eq!(
        (&owner["kind"], &owner["place"]),
        (&"dtnforge".into(), &"profile dtn-100g-nvme".into())
    );
}

#[test]
fn drift_of_a_committed_node_is_told_with_its_owner_and_left_alone() {
    let node = Node::committed();
    node.write("/proc/sys/vm/swappiness", "60\n");
    node.write("/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t16777216\n");
    node.write("/etc/sysctl.d/50-site.conf", PUPPET);
    let before = node.everything();
    let (code, audit) = audit(&node);
    assert_eq!((code, node.everything() == before), (3, true));
    assert_eq!(audit["counts"]["differs"], 2, "{audit:#}");
    let by_hand = &row(&audit, "sysctl:vm.swappiness")["owner"];
    assert_eq!(by_hand["kind"], "by-hand", "{by_hand}");
    let rmem = row(&audit, "sysctl:net.ipv4.tcp_rmem");
    assert_eq!(
        (&rmem["owner"]["place"], &rmem["owner"]["managed_by"]),
        (&"/etc/sysctl.d/50-site.conf:2".into(), &"Puppet".into())
    );
    assert_eq!(rmem["at_boot"], Value::Null, "our own file comes after it");
}

#[test]
fn what_the_host_had_before_a_commit_is_held_against_its_profile_too() {
    let node = Node::committed();
    let knob = "sysctl:net.ipv4.tcp_congestion_control";
    let (_, before) = audit(&node);
    assert_eq!(
        (&row(&before, knob)["verdict"], &row(&before, knob)["note"]),
        (&"ok".into(), &"already cubic before the commit".into())
    );
    node.write("/proc/sys/net/ipv4/tcp_congestion_control", "bbr\n");
    let (code, after) = audit(&node);
    assert_eq!((code, &row(&after, knob)["verdict"]), (3, &"differs".into()));
}

#[test]
fn a_nic_that_is_gone_is_missing_under_the_name_that_it_had() {
    let node = Node::committed();
    std::fs::remove_file(node.path("/sys/class/net/eth0")).unwrap();
    let (code, audit) = audit(&node);
    assert_eq!(code, 3);
    let leaf = row(&audit, "qdisc/0000:81:00.0+02:00:00:00:00:10:leaf");
    assert_eq!(
        (&leaf["verdict"], &leaf["device"], &leaf["note"]),
        (&"missing".into(), &"eth0".into(), &"not there now".into())
    );
}

#[test]
fn a_commit_that_was_not_put_in_place_in_this_boot_is_said() {
    let node = Node::committed();
    node.write(
        "/proc/sys/kernel/random/boot_id",
        "5d1e3f0a-0000-4000-8000-000000000002\n",
    );
    let (_, audit) = audit(&node);
    assert_eq!(
        audit["warnings"],
        serde_json::json!([
            "the commit was not put in place in this boot: the early unit did not run in this boot"
        ])
    );
}

#[test]
fn without_a_role_there_is_nothing_to_hold_a_host_against() {
    let node = Node::new();
    node.write("/etc/dtnforge/site.toml", "");
    let Ended { code, out, err } = node.agent(&["audit", "--json"]);
    assert_eq!(
        (code, out.as_str()),
        (1, ""),
        "nothing but JSON on standard output"
    );
    assert!(err.starts_with("dtn-firstboot: no audit: role not set"), "{err}");
}
