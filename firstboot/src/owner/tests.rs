//! Owners on hosts in directories: whole files, whole answers.

use super::*;
use crate::door::Doors;
use std::fs;

/// A host with these files.
struct Node {
    dir: tempfile::TempDir,
    host: Host,
}

fn node(files: &[(&str, &str)]) -> Node {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::at(dir.path(), Some(dir.path()));
    let node = Node { dir, host };
    for (path, text) in files {
        node.write(path, text);
    }
    node
}

impl Node {
    fn write(&self, path: &str, text: &str) {
        let path = self.host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn owners(&self) -> Owners {
        Owners::read(&self.host, &Doors::new(&self.host), None)
    }

    fn owner(&self, knob: &str, live: &str, expected: Option<&str>) -> String {
        let expected = expected.map(Value::from);
        let owner = self
            .owners()
            .of(&knob.parse().unwrap(), &live.into(), expected.as_ref());
        owner.to_string()
    }
}

const RMEM: &str = "sysctl:net.ipv4.tcp_rmem";
const FASTERDATA: &str = "# Managed by fasterdata-tuning.sh\nnet.ipv4.tcp_rmem = 4096 87380 1073741824\n";

#[test]
fn a_sysctl_belongs_to_the_file_that_wins_at_boot() {
    let node = node(&[
        (
            "/usr/lib/sysctl.d/50-default.conf",
            "net.ipv4.tcp_rmem = 4096 131072 6291456\n",
        ),
        ("/etc/sysctl.d/90-fasterdata.conf", FASTERDATA),
    ]);
    assert_eq!(
        node.owner(RMEM, "4096 87380 1073741824", None),
        "sysctl.d /etc/sysctl.d/90-fasterdata.conf:2 (managed by fasterdata-tuning.sh)"
    );
    assert_eq!(
        node.owner(RMEM, "4096 131072 6291456", None),
        "sysctl.d /usr/lib/sysctl.d/50-default.conf:1",
        "the loser's value is live: it was applied after the winner"
    );
    assert_eq!(
        node.owner(RMEM, "1 2 3", None),
        "by hand (/etc/sysctl.d/90-fasterdata.conf:2 says 4096 87380 1073741824, and that is not live)"
    );
    assert!(
        node.owner("sysctl:vm.swappiness", "60", None)
            .starts_with("nothing on disk sets it"),
        "nobody"
    );
}

#[test]
fn sysctl_conf_is_told_from_the_files_that_the_boot_reads() {
    let node = node(&[("/etc/sysctl.conf", "net.ipv4.tcp_rmem=4 5 6\n")]);
    assert_eq!(node.owner(RMEM, "4 5 6", None), "sysctl.conf /etc/sysctl.conf:1");
    let knob = RMEM.parse().unwrap();
    let warnings = node.owners().warnings([&knob]);
    assert_eq!(
        warnings,
        [
            "/etc/sysctl.conf:1 sets net.ipv4.tcp_rmem = 4 5 6: `sysctl --system` would put that in force, the boot does \
          not read the file"
        ]
    );
    fs::create_dir_all(node.host.path("/etc/sysctl.d")).unwrap();
    std::os::unix::fs::symlink("../sysctl.conf", node.host.path("/etc/sysctl.d/99-sysctl.conf")).unwrap();
    assert_eq!(
        node.owner(RMEM, "4 5 6", None),
        "sysctl.d /etc/sysctl.d/99-sysctl.conf:1",
        "EL has this link, so that the boot reads it"
    );
    assert_eq!(node.owners().warnings([&knob]), Vec::<String>::new());
}

#[test]
fn a_file_after_ours_is_named_before_the_next_boot_shows_it() {
    let node = node(&[
        (
            "/run/sysctl.d/90-dtnforge-tcp-buffers.conf",
            "net.ipv4.tcp_rmem = 4096 131072 33554432\n",
        ),
        ("/etc/sysctl.d/99-site.conf", "net.ipv4.tcp_rmem = 4 5 6\n"),
        ("/etc/sysctl.d/10-site.conf", "net.ipv4.tcp_rmem = 7 8 9\n"),
    ]);
    let (owners, knob) = (node.owners(), RMEM.parse().unwrap());
    let ours = "4096 131072 33554432".into();
    assert_eq!(
        owners.of(&knob, &ours, Some(&ours)).to_string(),
        "dtnforge /run/sysctl.d/90-dtnforge-tcp-buffers.conf:1"
    );
    let against = owners.at_boot(&knob, &[&ours], true).unwrap();
    assert_eq!(against.place.as_deref(), Some("/etc/sysctl.d/99-site.conf:1"));
    assert_eq!(
        owners.at_boot(&knob, &[&"4 5 6".into()], true),
        None,
        "it says the same"
    );
}

#[test]
fn a_committed_value_that_somebody_changed_is_by_hand() {
    let node = node(&[]);
    assert_eq!(
        node.owner("sysctl:vm.swappiness", "60", Some("10")),
        "by hand (no file says this value)"
    );
}

#[test]
fn a_restored_value_belongs_to_its_label_until_the_boot_ends() {
    let node = node(&[("/proc/sys/kernel/random/boot_id", "one\n")]);
    let knob: KnobId = "sysctl:vm.swappiness".parse().unwrap();
    write_restored(&node.host, "before-tuning", [(knob, "60".into())].into()).unwrap();
    assert_eq!(
        node.owner("sysctl:vm.swappiness", "60", Some("10")),
        "restored from label before-tuning"
    );
    node.write("/proc/sys/kernel/random/boot_id", "two\n");
    assert_eq!(read_restored(&node.host), None);
}

/// A port `eth0` at 0000:01:00.0.
fn with_port(node: &Node) {
    let net = node.dir.path().join("sys/class/net/eth0");
    fs::create_dir_all(&net).unwrap();
    fs::write(net.join("address"), "02:00:00:00:00:01\n").unwrap();
    std::os::unix::fs::symlink("../../../0000:01:00.0", net.join("device")).unwrap();
}

const RING: &str = "nic/0000:01:00.0+02:00:00:00:00:01:ring.rx";

#[test]
fn a_ring_belongs_to_a_rule_a_unit_or_a_hand() {
    let node = node(&[
        (
            "/etc/udev/rules.d/70-rings.rules",
            "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"eth*\", RUN+=\"/usr/sbin/ethtool -G $name rx 4096\"\n",
        ),
        (
            "/etc/systemd/system/ethtool-persist.service",
            "[Service]\nType=oneshot\nExecStart=/sbin/ethtool -G eth0 rx 8192\n\
             ExecStart=/sbin/tc qdisc replace dev eth0 root fq\n",
        ),
        ("/etc/rc.local", "#!/bin/sh\nip link set eth0 mtu 9000\n"),
    ]);
    with_port(&node);
    assert_eq!(
        node.owner(RING, "8192", None),
        "unit file /etc/systemd/system/ethtool-persist.service:3"
    );
    assert_eq!(
        node.owner(RING, "4096", None),
        "udev rule /etc/udev/rules.d/70-rings.rules:1"
    );
    assert_eq!(
        node.owner(RING, "512", None),
        "by hand (/etc/systemd/system/ethtool-persist.service:3 says 8192, and that is not live)"
    );
    let mtu = "nic/0000:01:00.0+02:00:00:00:00:01:mtu";
    assert_eq!(node.owner(mtu, "9000", None), "start script /etc/rc.local:2");
    let leaf = "qdisc/0000:01:00.0+02:00:00:00:00:01:leaf";
    assert_eq!(
        node.owner(leaf, "fq", None),
        "unit file /etc/systemd/system/ethtool-persist.service:4"
    );
    let against = node
        .owners()
        .at_boot(&RING.parse().unwrap(), &[&"2048".into()], false);
    assert_eq!(
        against.unwrap().to_string(),
        "unit file /etc/systemd/system/ethtool-persist.service:3"
    );
}
