//! A trial killed at every line of its journal and after every write, on the real sysctls of a namespace.
//!
//! The test starts a copy of itself that applies a plan and dies by SIGKILL at a fail point, then recovers in this
//! process, as the next start of the agent does, and reads every knob.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be read or started here fails the test"
)]

mod namespace;
mod plans;

use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtn_firstboot::trial::{Transaction, recover};
use dtnforge_profiles::group::Group;
use dtnforge_profiles::plan::{Plan, Reading};
use namespace::inside;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Where the journal of the victim lies; set only in the victim.
const VICTIM: &str = "DTNT_VICTIM_JOURNAL";

/// What the victim does: `apply` or `recover`.
const DEED: &str = "DTNT_VICTIM_DEED";

/// Sysctls that a namespace has of its own, with values other than the kernel's.
const STEPS: &[(&str, &str)] = &[
    ("sysctl:net.ipv4.tcp_rmem", "4096 131072 67108864"),
    ("sysctl:net.ipv4.tcp_wmem", "4096 65536 67108864"),
    ("sysctl:net.ipv4.tcp_congestion_control", "reno"),
    ("sysctl:net.ipv4.tcp_mtu_probing", "1"),
    ("sysctl:net.ipv4.tcp_slow_start_after_idle", "0"),
    ("sysctl:net.ipv4.tcp_no_metrics_save", "1"),
    ("sysctl:net.ipv4.tcp_notsent_lowat", "131072"),
];

/// The plan from what the namespace has now.
fn plan_of(doors: &Doors) -> Plan {
    let step = |(knob, to): &(&str, &str)| {
        let knob = knob.parse().unwrap();
        let Reading::Is(from) = doors.read(&knob).unwrap() else {
            panic!("{knob} is not here");
        };
        plans::step(knob, from, to, Group::TcpBuffers)
    };
    plans::of(STEPS.iter().map(step).collect())
}

fn values(doors: &Doors) -> Vec<Reading> {
    STEPS
        .iter()
        .map(|(knob, _)| doors.read(&knob.parse().unwrap()).unwrap())
        .collect()
}

/// Applies the plan, or recovers, in a process that dies at `point`.
fn run_victim(deed: &str, journal: &Path, point: &str) -> ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args(["the_victim", "--exact", "--test-threads=1"])
        .env(VICTIM, journal)
        .env(DEED, deed)
        .env("DTN_FAILPOINT", point)
        .output()
        .unwrap()
        .status
}

#[test]
fn the_victim() {
    let Some(journal) = std::env::var_os(VICTIM).map(PathBuf::from) else {
        eprintln!("skipped: the_victim: runs only as a child of the tests beside it");
        return;
    };
    let host = Host::live();
    let doors = Doors::new(&host);
    if std::env::var(DEED).unwrap() == "recover" {
        assert!(recover(&host, &doors, &journal).unwrap().unwrap().verified());
        return;
    }
    let plan = plan_of(&doors);
    let mut trial = Transaction::begin(&host, &doors, &journal).unwrap();
    let report = trial.apply(&plan);
    assert!(report.stopped.is_none(), "{report:?}");
}

/// Kills the victim at each `point` until it comes through; returns how often it died.
fn kill_at_each(point: &str) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("trial.journal");
    let host = Host::live();
    let doors = Doors::new(&host);
    let before = values(&doors);
    for count in 1.. {
        let status = run_victim("apply", &journal, &format!("{point}:{count}"));
        let through = status.success();
        if through {
            assert_ne!(values(&doors), before, "a whole apply changed nothing");
        } else {
            assert_eq!(status.signal(), Some(9), "{point}:{count}: {status}");
        }
        let report = recover(&host, &doors, &journal).unwrap().unwrap();
        assert!(report.verified(), "{point}:{count}: {:?}", report.problems());
        assert_eq!(values(&doors), before, "{point}:{count}");
        assert!(
            recover(&host, &doors, &journal).unwrap().is_none(),
            "{point}:{count}"
        );
        if through {
            return count - 1;
        }
    }
    0
}

#[test]
fn a_kill_at_every_line_of_the_journal_leaves_every_sysctl_as_before() {
    if inside("a_kill_at_every_line_of_the_journal_leaves_every_sysctl_as_before") {
        // An intent and a done line for each step.
        assert_eq!(kill_at_each("journal"), 2 * STEPS.len());
    }
}

#[test]
fn a_kill_after_every_write_leaves_every_sysctl_as_before() {
    if inside("a_kill_after_every_write_leaves_every_sysctl_as_before") {
        assert_eq!(kill_at_each("write"), STEPS.len());
    }
}

#[test]
fn a_recovery_that_is_killed_itself_is_done_again() {
    if !inside("a_recovery_that_is_killed_itself_is_done_again") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("trial.journal");
    let host = Host::live();
    let doors = Doors::new(&host);
    let before = values(&doors);
    for count in 1.. {
        assert!(run_victim("apply", &journal, "none:1").success());
        let status = run_victim("recover", &journal, &format!("journal:{count}"));
        if status.success() {
            // A line for each knob that was taken back.
            assert_eq!(count - 1, STEPS.len());
            return;
        }
        assert_eq!(status.signal(), Some(9), "journal:{count}: {status}");
        let report = recover(&host, &doors, &journal).unwrap().unwrap();
        assert!(report.verified(), "journal:{count}: {:?}", report.problems());
        assert_eq!(values(&doors), before, "journal:{count}");
    }
}
