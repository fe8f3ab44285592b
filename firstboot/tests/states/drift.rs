//! Drift of a committed node, as `status` tells it.

use crate::node::Node;

#[test]
fn status_names_the_owner_of_each_value_that_is_not_the_committed_one() {
    let node = Node::committed();
    node.write("/proc/sys/vm/swappiness", "1\n");
    node.write(
        "/etc/sysctl.d/99-site.conf",
        "# Ansible managed\nvm.swappiness = 1\n",
    );
    node.write("/proc/sys/net/ipv4/tcp_mtu_probing", "0\n");
    let before = node.everything();
    let text = node.agent(&["status"]).out;
    let line = "NOT sysctl:vm.swappiness = 1 (committed: 10)\n        set by: sysctl.d /etc/sysctl.d/99-site.conf:2 \
                (managed by Ansible)\n";
    assert!(text.contains(line), "{text}");
    assert!(node.everything() == before, "drift is reported and never fought");
    let ended = node.agent(&["status", "--check", "--json"]);
    assert_eq!(ended.code, 3);
    let active = ended.data()["active"].as_array().unwrap().clone();
    let owner = |knob: &str| active.iter().find(|row| row["knob"] == knob).unwrap()["owner"].clone();
    assert_eq!(owner("sysctl:net.ipv4.tcp_mtu_probing")["kind"], "by-hand");
    assert_eq!(
        owner("sysctl:net.core.rmem_max"),
        serde_json::Value::Null,
        "as committed"
    );
}

#[test]
fn values_of_a_boot_that_the_commit_is_not_live_in_are_nobodys_doing() {
    let node = Node::committed();
    node.write(
        "/proc/sys/kernel/random/boot_id",
        "5d1e3f0a-0000-4000-8000-000000000002\n",
    );
    node.write("/proc/sys/vm/swappiness", "60\n");
    let text = node.agent(&["status"]).out;
    assert!(text.contains("committed but not active"), "{text}");
    assert!(text.contains("set by: nothing on disk sets it"), "{text}");
}
