//! Faults of the real kernel and of real file systems, in a namespace: each ends as before or is named.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be read or started here fails the test"
)]

mod links;
mod namespace;
mod plans;

use dtn_firstboot::atomic;
use dtn_firstboot::detect;
use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtn_firstboot::store::{self, STATE_PATH};
use dtn_firstboot::trial::{StepError, Transaction, recover};
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::{Plan, Reading};
use links::{ip, knob_of, run};
use namespace::inside;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const PORT: &str = "dtnt-port-long";
const PEER: &str = "dtnt-peer-long";
const RMEM: &str = "sysctl:net.ipv4.tcp_rmem";

fn make_port() {
    ip(&["link", "add", PORT, "type", "veth", "peer", "name", PEER]);
    ip(&["link", "set", PORT, "up"]);
    ip(&["link", "set", PEER, "up"]);
}

fn knob(name: &str) -> KnobId {
    name.parse().unwrap()
}

fn value(doors: &Doors, knob: &KnobId) -> Reading {
    doors.read(knob).unwrap()
}

/// A plan from what the kernel has now; a knob that cannot be read is planned from nothing.
fn plan(doors: &Doors, wanted: &[(KnobId, &str)]) -> Plan {
    let step = |(knob, to): &(KnobId, &str)| {
        let from = match value(doors, knob) {
            Reading::Is(value) => value,
            _ => "0".into(),
        };
        plans::step(knob.clone(), from, to, Group::TcpBuffers)
    };
    plans::of(wanted.iter().map(step).collect())
}

/// A journal in a directory of the test.
fn journal() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trial.journal");
    (dir, path)
}

const LARGER: &str = "4096 131072 67108864";

#[test]
fn a_value_that_the_kernel_refuses_stops_there_and_all_before_it_goes_back() {
    if !inside("a_value_that_the_kernel_refuses_stops_there_and_all_before_it_goes_back") {
        return;
    }
    make_port();
    let host = Host::live();
    let doors = Doors::new(&host);
    // What the kernel says to each: EINVAL, ENOENT, EINVAL of a driver, EOPNOTSUPP.
    let refused = [
        (knob("sysctl:net.ipv4.tcp_wmem"), "none", "EINVAL"),
        (
            knob("sysctl:net.ipv4.tcp_congestion_control"),
            "nosuch",
            "refused",
        ),
        (knob_of("nic", PORT, "mtu"), "70000", "EINVAL"),
        (knob_of("nic", PORT, "ring.rx"), "4096", "not supported here"),
    ];
    for (bad, to, says) in refused {
        let (_dir, path) = journal();
        let plan = plan(&doors, &[(knob(RMEM), LARGER), (bad.clone(), to)]);
        let before = [value(&doors, &knob(RMEM)), value(&doors, &bad)];
        let mut trial = Transaction::begin(&host, &doors, &path).unwrap();
        let stopped = trial.apply(&plan).stopped.unwrap();
        assert_eq!(stopped.knob, bad);
        assert!(
            stopped.error.to_string().contains(says),
            "{bad}: {}",
            stopped.error
        );
        let report = trial.rollback();
        assert!(report.verified(), "{bad}: {:?}", report.problems());
        assert_eq!([value(&doors, &knob(RMEM)), value(&doors, &bad)], before);
    }
}

#[test]
fn a_nic_that_is_unplugged_between_plan_and_write_is_named_and_the_rest_goes_back() {
    if !inside("a_nic_that_is_unplugged_between_plan_and_write_is_named_and_the_rest_goes_back") {
        return;
    }
    make_port();
    let host = Host::live();
    let doors = Doors::new(&host);
    let mtu = knob_of("nic", PORT, "mtu");
    let plan = plan(&doors, &[(knob(RMEM), LARGER), (mtu.clone(), "1400")]);
    let before = value(&doors, &knob(RMEM));
    ip(&["link", "del", PORT]);
    let (_dir, path) = journal();
    let mut trial = Transaction::begin(&host, &doors, &path).unwrap();
    let stopped = trial.apply(&plan).stopped.unwrap();
    assert!(matches!(stopped.error, StepError::Door(_)), "{stopped}");
    assert!(
        stopped.to_string().contains("the device or file is gone"),
        "{stopped}"
    );
    assert!(trial.rollback().verified());
    assert_eq!(value(&doors, &knob(RMEM)), before);
}

#[test]
fn a_nic_that_is_unplugged_in_a_trial_is_gone_with_its_value_and_no_failure() {
    if !inside("a_nic_that_is_unplugged_in_a_trial_is_gone_with_its_value_and_no_failure") {
        return;
    }
    make_port();
    let host = Host::live();
    let doors = Doors::new(&host);
    let mtu = knob_of("nic", PORT, "mtu");
    let plan = plan(&doors, &[(knob(RMEM), LARGER), (mtu.clone(), "1400")]);
    let (_dir, path) = journal();
    let mut trial = Transaction::begin(&host, &doors, &path).unwrap();
    assert!(trial.apply(&plan).stopped.is_none());
    drop(trial);
    ip(&["link", "del", PORT]);
    let report = recover(&host, &doors, &path).unwrap().unwrap();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(report.gone, [mtu]);
}

#[test]
fn an_undo_that_fails_is_named_and_the_next_recovery_brings_the_value_back() {
    if !inside("an_undo_that_fails_is_named_and_the_next_recovery_brings_the_value_back") {
        return;
    }
    let host = Host::live();
    let doors = Doors::new(&host);
    let probing = knob("sysctl:net.ipv4.tcp_mtu_probing");
    let before = [value(&doors, &knob(RMEM)), value(&doors, &probing)];
    let plan = plan(&doors, &[(knob(RMEM), LARGER), (probing.clone(), "1")]);
    let (_dir, path) = journal();
    let mut trial = Transaction::begin(&host, &doors, &path).unwrap();
    assert!(trial.apply(&plan).stopped.is_none());
    drop(trial);
    // From now on the kernel's file takes no write.
    let file = "/proc/sys/net/ipv4/tcp_rmem";
    run("mount", &["--bind", file, file]);
    run("mount", &["-o", "remount,ro,bind", file]);
    let report = recover(&host, &doors, &path).unwrap().unwrap();
    let problems = report.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("tcp_rmem") && problems[0].contains("67108864"),
        "{problems:?}"
    );
    assert_eq!(
        value(&doors, &probing),
        before[1],
        "the others are back all the same"
    );
    assert!(path.exists(), "what is not taken back stays in the journal");
    run("umount", &[file]);
    let report = recover(&host, &doors, &path).unwrap().unwrap();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!([value(&doors, &knob(RMEM)), value(&doors, &probing)], before);
    assert!(!path.exists());
}

#[test]
fn a_value_that_somebody_changes_in_a_trial_goes_back_to_what_was_before_it() {
    if !inside("a_value_that_somebody_changes_in_a_trial_goes_back_to_what_was_before_it") {
        return;
    }
    let host = Host::live();
    let doors = Doors::new(&host);
    let before = value(&doors, &knob(RMEM));
    let plan = plan(&doors, &[(knob(RMEM), LARGER)]);
    let (_dir, path) = journal();
    let mut trial = Transaction::begin(&host, &doors, &path).unwrap();
    assert!(trial.apply(&plan).stopped.is_none());
    std::fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 87380 16777216").unwrap();
    let wrong = trial.verify(&plan);
    assert_eq!(wrong.len(), 1);
    assert!(
        wrong[0].to_string().contains("found \"4096 87380 16777216\""),
        "{}",
        wrong[0]
    );
    assert!(trial.rollback().verified());
    assert_eq!(value(&doors, &knob(RMEM)), before);
}

/// A host in a directory whose `/etc/dtnforge` is a file system of its own.
fn with_etc(options: &str) -> (tempfile::TempDir, Host) {
    run("mount", &["-t", "tmpfs", "tmpfs", "/tmp"]);
    let dir = tempfile::tempdir().unwrap();
    let host = Host::at(dir.path(), Some(dir.path()));
    let etc = host.path("/etc/dtnforge");
    std::fs::create_dir_all(&etc).unwrap();
    run(
        "mount",
        &["-t", "tmpfs", "-o", options, "tmpfs", etc.to_str().unwrap()],
    );
    (dir, host)
}

#[test]
fn a_full_or_read_only_disk_keeps_the_old_state_and_says_why() {
    if !inside("a_full_or_read_only_disk_keeps_the_old_state_and_says_why") {
        return;
    }
    let (_dir, host) = with_etc("size=64k");
    let stored = store::change(&host, |file| file.counting.retried = 1).unwrap();
    // The last block goes to somebody else.
    let mut filler = vec![0_u8; 128 * 1024];
    while !filler.is_empty() && std::fs::write(host.path("/etc/dtnforge/filler"), &filler).is_err() {
        filler.truncate(filler.len() - 1024);
    }
    let long = "x".repeat(64 * 1024);
    let error = store::change(&host, |file| {
        file.state = dtnforge_profiles::state::State::Stock { why: long.clone() };
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("state.json") && error.contains("No space left on device"),
        "{error}"
    );
    assert_eq!(store::load(&host).file, stored);
    assert!(
        !host.path("/etc/dtnforge/state.json.new").exists(),
        "a half file is left"
    );

    let etc = host.path("/etc/dtnforge");
    run("mount", &["-o", "remount,ro", etc.to_str().unwrap()]);
    let error = store::change(&host, |file| file.counting.retried = 7)
        .unwrap_err()
        .to_string();
    assert!(error.contains("Read-only file system"), "{error}");
    assert_eq!(store::load(&host).file, stored);
    run("umount", &[etc.to_str().unwrap()]);
}

#[test]
fn a_state_of_another_user_is_not_believed() {
    if !inside("a_state_of_another_user_is_not_believed") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let host = Host::at(dir.path(), Some(dir.path()));
    store::change(&host, |file| file.counting.retried = 1).unwrap();
    std::os::unix::fs::chown(host.path(STATE_PATH), Some(4242), None).unwrap();
    let loaded = store::load(&host);
    assert_eq!(loaded.file.state.name(), "stock");
    let damage = loaded.damage.unwrap();
    assert!(
        damage.contains("it belongs to user 4242, expected root"),
        "{damage}"
    );
    atomic::write(&host.path(STATE_PATH), b"", 0o644).unwrap();
    assert!(store::load(&host).damage.unwrap().contains("empty"));
}

#[test]
fn names_with_dots_and_shell_characters_reach_the_kernel_as_they_are() {
    if !inside("names_with_dots_and_shell_characters_reach_the_kernel_as_they_are") {
        return;
    }
    let host = Host::live();
    let doors = Doors::new(&host);
    for (name, written) in [
        ("dtnt.100", "dtnt/100"),
        ("$(id);a&b", "$(id);a&b"),
        ("a`b'c\"", "a`b'c\""),
        ("-rf", "-rf"),
    ] {
        ip(&["link", "add", "name", name, "type", "veth", "peer", "name", PEER]);
        ip(&["link", "set", "dev", name, "up"]);
        let Ok(knob) = format!("sysctl:net.ipv4.conf.{written}.rp_filter").parse::<KnobId>() else {
            // The grammar of knobs takes plain names only; such a device is listed and never written by its name.
            let found = detect::detect(&host);
            assert!(
                found.nics.iter().any(|nic| nic.name.as_deref() == Some(name)),
                "{name}"
            );
            ip(&["link", "del", "dev", name]);
            continue;
        };
        let before = value(&doors, &knob);
        let plan = plan(
            &doors,
            &[(knob.clone(), "2"), (knob_of("nic", name, "mtu"), "1400")],
        );
        let (_dir, path) = journal();
        let mut trial = Transaction::begin(&host, &doors, &path).unwrap();
        let report = trial.apply(&plan);
        assert!(report.stopped.is_none(), "{name}: {report:?}");
        let live = std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter")).unwrap();
        assert_eq!(live.trim(), "2", "{name}");
        assert!(trial.rollback().verified(), "{name}");
        assert_eq!(value(&doors, &knob), before, "{name}");
        ip(&["link", "del", "dev", name]);
    }
}

#[test]
fn a_host_with_256_interfaces_is_looked_at_in_seconds() {
    if !inside("a_host_with_256_interfaces_is_looked_at_in_seconds") {
        return;
    }
    for number in 0..128 {
        let (port, peer) = (format!("dtnt-a-{number}"), format!("dtnt-b-{number}"));
        ip(&["link", "add", &port, "type", "veth", "peer", "name", &peer]);
    }
    let host = Host::live();
    let begun = Instant::now();
    let facts = detect::detect(&host);
    let took = begun.elapsed();
    let ours = facts
        .nics
        .iter()
        .filter(|nic| nic.name.as_deref().is_some_and(|name| name.starts_with("dtnt-")));
    assert_eq!(ours.count(), 256);
    assert!(took < Duration::from_secs(20), "{took:?}");
    // The last of them is found by its identity as quickly as the first.
    let doors = Doors::new(&host);
    let mtu = knob_of("nic", "dtnt-b-127", "mtu");
    let begun = Instant::now();
    assert_eq!(value(&doors, &mtu), Reading::Is("1500".into()));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
