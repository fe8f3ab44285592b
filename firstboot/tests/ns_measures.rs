//! Namespace rung: request and response over the emulated path, and a peer, on the real kernel. Runs as root with
//! `DTNFORGE_NS=1`. Nothing of a measurement may be left behind, also after a kill.

#![expect(clippy::unwrap_used, reason = "a test that cannot start its tools fails")]

mod namespace;

use dtn_firstboot::host::Host;
use dtn_firstboot::measure::{Deadline, Measure, Peers, RequestResponse, cleanup_leftovers};
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::Arm;
use namespace::inside;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A `tc` that takes netem and does nothing, and says that all is well: this kernel may have no netem.
const TC: &str = r#"#!/bin/sh
case "$*" in *"-s -j"*) echo '[{"kind":"netem","drops":0}]';; *show*) echo '[{"kind":"noqueue"}]';; esac
"#;

/// A host with its own `/run` and this `tc`.
fn host(bin: &Path) -> Host {
    let none = nix::mount::MsFlags::empty();
    nix::mount::mount(Some("tmpfs"), "/run", Some("tmpfs"), none, None::<&str>).unwrap();
    with_tc(bin)
}

fn with_tc(bin: &Path) -> Host {
    let tc = bin.join("tc");
    std::fs::write(&tc, TC).unwrap();
    std::fs::set_permissions(&tc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display());
    Host::at(Path::new("/"), Some(Path::new(&path)))
}

fn minute() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

/// What a measurement could leave: named namespaces, links, listening ports and files of ours.
fn left_behind() -> Vec<String> {
    let names = |directory: &str| -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let ours = |name: &String| name.starts_with("dtnf-");
    let mut left: Vec<String> = names("/run/netns").into_iter().filter(ours).collect();
    left.extend(names("/sys/class/net").into_iter().filter(ours));
    // The lock stays, empty and unlocked: it is a name, not a leftover.
    left.extend(
        names("/run/dtnforge")
            .into_iter()
            .filter(|name| name != "measure.lock"),
    );
    let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    left.extend(
        sockets
            .lines()
            .filter(|line| line.split_whitespace().nth(3) == Some("0A"))
            .map(str::to_owned),
    );
    left
}

#[test]
fn request_and_response_give_a_completion_time_and_leave_nothing() {
    if !inside("request_and_response_give_a_completion_time_and_leave_nothing") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let host = host(bin.path());
    let mut measure = RequestResponse::with_rtt(&host, 0);
    measure.prepare(minute()).unwrap();
    for (arm, pair) in [(Arm::AsFound, 0), (Arm::Ours, 0)] {
        let samples = measure.round(arm, pair, minute()).unwrap();
        println!("{:?}", samples[0]);
        assert_eq!(
            (samples.len(), samples[0].metric.as_str()),
            (1, "completion-time")
        );
        assert!(samples[0].value > 0.0 && samples[0].unit == "ms");
        for size in ["64", "2000000"] {
            let told = &samples[0].context[&format!("answer_of_{size}_bytes_ms")];
            assert!(told.parse::<f64>().unwrap() >= 0.0, "{told}");
        }
    }
    measure.cleanup().unwrap();
    assert_eq!(left_behind(), Vec::<String>::new());
}

/// The agent of the next test: measures until it is killed.
#[test]
fn agent_that_is_killed() {
    let Some(bin) = std::env::var_os("DTN_TEST_AGENT") else {
        return;
    };
    let host = with_tc(Path::new(&bin));
    let mut measure = RequestResponse::with_rtt(&host, 0);
    measure.prepare(minute()).unwrap();
    println!("prepared");
    for pair in 0.. {
        measure.round(Arm::Ours, pair, minute()).unwrap();
    }
}

#[test]
fn an_agent_killed_while_it_asks_leaves_nothing_for_the_start_after() {
    if !inside("an_agent_killed_while_it_asks_leaves_nothing_for_the_start_after") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let host = host(bin.path());
    let log = bin.path().join("log");
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "agent_that_is_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("DTN_TEST_AGENT", bin.path())
        .stdout(Stdio::from(std::fs::File::create(&log).unwrap()))
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !std::fs::read_to_string(&log).unwrap().contains("prepared") {
        assert!(
            agent.try_wait().unwrap().is_none(),
            "the agent ended before its round"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "the agent never got ready"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(!left_behind().is_empty(), "a killed agent cannot clean up");
    let removed = cleanup_leftovers(&host).unwrap();
    assert_eq!(removed, ["dtnf-mid", "dtnf-rcv", "dtnf-snd"]);
    assert_eq!(left_behind(), Vec::<String>::new());
}

#[test]
fn a_peer_is_measured_both_ways_and_nothing_is_left() {
    if !inside("a_peer_is_measured_both_ways_and_nothing_is_left") {
        return;
    }
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status()
        .unwrap();
    assert!(up.success());
    let mut server = Command::new("iperf3")
        .args(["--server", "--bind", "127.0.0.1", "--port", "5299"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let bin = tempfile::tempdir().unwrap();
    let mut peers = Peers::new(
        &host(bin.path()),
        vec!["127.0.0.1:5299".parse().unwrap()],
        vec![Group::NicCoalesce],
    );
    let measured = peers
        .prepare(minute())
        .and_then(|()| peers.round(Arm::AsFound, 0, minute()));
    server.kill().unwrap();
    server.wait().unwrap();
    let samples = measured.unwrap();
    for sample in &samples {
        println!(
            "{} {} {}: {:?}",
            sample.metric, sample.value, sample.unit, sample.context
        );
        assert!(sample.value > 0.0, "{sample:?}");
    }
    let metrics: Vec<&str> = samples.iter().map(|sample| sample.metric.as_str()).collect();
    assert_eq!(metrics, ["throughput-out", "rtt-under-load", "throughput-in"]);
    assert_eq!(samples[0].context["device"], "lo");
    peers.cleanup().unwrap();
    assert_eq!(left_behind(), Vec::<String>::new());
}

#[test]
fn a_peer_that_is_not_there_gives_no_number() {
    if !inside("a_peer_that_is_not_there_gives_no_number") {
        return;
    }
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status()
        .unwrap();
    assert!(up.success());
    let mut peers = Peers::new(&Host::live(), vec!["127.0.0.1:5298".parse().unwrap()], vec![]);
    let error = peers.prepare(minute()).unwrap_err().to_string();
    assert!(error.contains("Connection refused"), "{error}");
}
