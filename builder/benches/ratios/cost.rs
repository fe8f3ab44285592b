//! What a boot of a committed node costs: the CPU time of the agent and of what it calls, in a directory that looks like
//! a node. The commands that it calls are stand-ins there; the work of the real ones is their own.

use crate::node::Node;
use crate::report::{Amount, Line, median};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROMISED: Amount = Amount::Time(Duration::from_millis(150));
const BOOTS: u32 = 20;
const CMDLINE: &str = "dtnforge.mode=tuned\n";
const MOUNTS: &str = "/dev/vda6 /state ext4 rw 0 0\n";

/// User and system time of all children that have been waited for.
fn cpu_of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let time = |value: TimeVal| {
        let micros = value.tv_sec() * 1_000_000 + value.tv_usec();
        Duration::from_micros(u64::try_from(micros).unwrap())
    };
    time(usage.user_time()) + time(usage.system_time())
}

/// CPU time of the children that `work` starts and waits for.
fn cpu_of(work: impl Fn()) -> Duration {
    let before = cpu_of_children();
    work();
    cpu_of_children() - before
}

/// A node whose admin tried the profile and kept it.
fn committed() -> Node {
    let node = Node::new();
    node.write("/proc/cmdline", CMDLINE);
    node.write("/proc/self/mounts", MOUNTS);
    for command in ["try", "commit"] {
        let ended = node.agent(&[command]);
        assert_eq!(ended.code, 0, "{command}: {ended:?}");
    }
    node
}

/// The next boot of this node, up to where udev, sysctl.d and tuned have set the values: those outlive it here.
fn power_cycle(node: &Node, number: u32) {
    std::fs::remove_dir_all(node.path("/run")).unwrap();
    let id = format!("5d1e3f0a-0000-4000-8000-1{number:011}\n");
    node.write("/proc/sys/kernel/random/boot_id", &id);
}

/// What the two units of a boot run.
fn boot(node: &Node) {
    for command in ["early", "run"] {
        let ended = node.agent(&[command]);
        assert_eq!(ended.code, 0, "{command}: {ended:?}");
    }
}

/// A standard tool that reads the settings of a host.
fn sysctl() -> Option<()> {
    let status = Command::new("sysctl")
        .arg("-a")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // It ends with 1 where some keys may not be read.
    status.ok().map(|_| ())
}

pub(crate) fn lines() -> Vec<Line> {
    let node = committed();
    let has_peer = sysctl().is_some();
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for number in 0..BOOTS {
        power_cycle(&node, number);
        ours.push(cpu_of(|| boot(&node)));
        peer.push(cpu_of(|| {
            sysctl();
        }));
    }
    assert_eq!(node.agent(&["status", "--json"]).data()["state"], "committed");
    vec![Line {
        what: "a committed boot, CPU time of early and run".to_owned(),
        ours: median(ours),
        peer: has_peer.then(|| ("sysctl -a".to_owned(), median(peer))),
        limit: Some(PROMISED),
    }]
}
