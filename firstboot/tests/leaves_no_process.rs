//! On a committed boot the agent looks and ends; nothing that it started stays behind.
//!
//! The test asks the kernel for all orphans of what it starts, so it is alone in its file: no other test may have
//! children beside it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where its own node fails it"
)]

#[path = "states/node.rs"]
#[expect(dead_code, reason = "the tests of commands use more of it")]
mod node;

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use node::Node;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a process that was told to end may take for it.
const ENDING: Duration = Duration::from_secs(5);

/// Whether a process that we started, or an orphan of one, still runs. Those that ended are taken off the list.
fn somebody_runs() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(_) => {}
            Err(Errno::ECHILD) => return false,
            Err(error) => panic!("waiting for children: {error}"),
        }
    }
}

/// The command lines of our children and the orphans that we took over.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let of = |entry: std::fs::DirEntry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        let words = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        (parent.trim() == own).then(|| words.replace('\0', " "))
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.flatten().filter_map(of).collect()
}

/// Leaves a process behind, as the agent must not.
fn leave_one_behind() -> Pid {
    let output = Command::new("sh")
        .args(["-c", "sleep 600 >/dev/null 2>&1 & echo $!"])
        .output()
        .unwrap();
    let pid = String::from_utf8(output.stdout).unwrap();
    Pid::from_raw(pid.trim().parse().unwrap())
}

#[test]
fn a_committed_boot_leaves_no_process_behind() {
    set_child_subreaper(true).unwrap();
    let orphan = leave_one_behind();
    assert!(
        somebody_runs(),
        "an orphan is not seen, so the rest shows nothing"
    );
    kill(orphan, Signal::SIGKILL).unwrap();
    waitpid(orphan, None).unwrap();

    let node = Node::new();
    for command in ["try", "commit"] {
        let ended = node.agent(&[command]);
        assert_eq!(ended.code, 0, "{command}: {ended:?}");
    }
    std::fs::remove_dir_all(node.path("/run")).unwrap();
    let id = "5d1e3f0a-0000-4000-8000-000000000002\n";
    node.write("/proc/sys/kernel/random/boot_id", id);
    for command in ["early", "run"] {
        let ended = node.agent(&[command]);
        assert_eq!(ended.code, 0, "{command}: {ended:?}");
    }
    assert_eq!(node.agent(&["status", "--json"]).data()["state"], "committed");
    let deadline = Instant::now() + ENDING;
    while somebody_runs() && Instant::now() < deadline {
        sleep(Duration::from_millis(50));
    }
    assert!(!somebody_runs(), "left behind: {:?}", children());
}
