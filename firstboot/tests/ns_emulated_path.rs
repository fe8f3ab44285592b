//! Namespace rung: the emulated path with real namespaces, links and iperf3. Runs as root with `DTNFORGE_NS=1`.
//!
//! Some tests want netem and some want to see what happens without its effect; each says when it is skipped. Tools that
//! misbehave are scripts in a directory that comes first in the search path.

#![expect(clippy::unwrap_used, reason = "all of this file is a test, its helpers too")]

use dtn_firstboot::host::Host;
use dtn_firstboot::measure::{
    Budget, Deadline, EmulatedPath, Measure, MeasureError, ReportError, Run, RunError, Settings,
    cleanup_leftovers, run_pairs,
};
use dtnforge_profiles::decide::{Limits, context};
use dtnforge_profiles::measure::Arm;
use dtnforge_profiles::verdict::Outcome;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// There is one emulated path on a host, and it has a lock: these tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test, or `None` with the reason printed.
fn rung(test: &str) -> Option<MutexGuard<'static, ()>> {
    if std::env::var_os("DTNFORGE_NS").is_none_or(|value| value != "1") {
        println!("skipped: {test}: DTNFORGE_NS is not 1");
        return None;
    }
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: {test}: needs root");
        return None;
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    cleanup_leftovers(&Host::live()).unwrap();
    Some(turn)
}

/// Whether this kernel has netem, found without our code.
fn has_netem() -> bool {
    let ip = |args: &[&str]| Command::new("ip").args(args).status().unwrap().success();
    assert!(ip(&["netns", "add", "dtnt-netem-probe"]));
    let found = Command::new("tc")
        .args([
            "-n",
            "dtnt-netem-probe",
            "qdisc",
            "add",
            "dev",
            "lo",
            "root",
            "netem",
            "delay",
            "1ms",
        ])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success();
    assert!(ip(&["netns", "del", "dtnt-netem-probe"]));
    found
}

/// A live host whose search path begins with these scripts.
fn host_with(scripts: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let dir = tempfile::tempdir().unwrap();
    for (name, body) in scripts {
        let path = dir.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", dir.path().display());
    let host = Host::at(Path::new("/"), Some(Path::new(&path)));
    (dir, host)
}

/// A `tc` that takes netem and does nothing, and says that all is well.
const TC_WITHOUT_EFFECT: &str = r#"case "$*" in *show*) echo '[{"kind":"noqueue"}]';; esac"#;

/// An iperf3 whose client does something else.
fn iperf3_client(does: &str) -> String {
    format!("case \"$*\" in *--client*) {does};; *) exec /usr/bin/iperf3 \"$@\";; esac")
}

fn our_namespaces() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("dtnf-"))
        .collect()
}

/// Whether a process has `words` in its command line.
fn runs(words: &str) -> bool {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(words))
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "still not so after 10 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn minute() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

#[test]
fn without_netem_the_path_is_not_available_and_nothing_is_left() {
    let name = "without_netem_the_path_is_not_available_and_nothing_is_left";
    let Some(_turn) = rung(name) else { return };
    if has_netem() {
        println!("skipped: {name}: this kernel has netem");
        return;
    }
    let error = EmulatedPath::new(&Host::live()).prepare(minute()).unwrap_err();
    assert!(
        matches!(error, MeasureError::Unavailable { what: "netem", .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .ends_with("hint: the kernel needs the module sch_netem"),
        "{error}"
    );
    assert_eq!(our_namespaces(), Vec::<String>::new());
}

#[test]
fn a_path_without_its_delay_is_found_out_and_gives_no_number() {
    let Some(_turn) = rung("a_path_without_its_delay_is_found_out_and_gives_no_number") else {
        return;
    };
    let (_bin, host) = host_with(&[("tc", TC_WITHOUT_EFFECT)]);
    let mut path = EmulatedPath::new(&host);
    // The warm-up really runs: three namespaces, a router, one stream.
    path.prepare(minute()).unwrap();
    assert_eq!(our_namespaces().len(), 3);
    let error = path.round(Arm::AsFound, 0, minute()).unwrap_err();
    assert!(
        matches!(error, MeasureError::WrongRtt { expected_ms: 200, .. }),
        "{error}"
    );
    path.cleanup().unwrap();
    assert_eq!(our_namespaces(), Vec::<String>::new());
    path.cleanup().unwrap();
}

#[test]
fn two_measurements_at_once_are_refused() {
    let Some(_turn) = rung("two_measurements_at_once_are_refused") else {
        return;
    };
    let (_bin, host) = host_with(&[("tc", TC_WITHOUT_EFFECT)]);
    let mut first = EmulatedPath::new(&host);
    first.prepare(minute()).unwrap();
    let error = EmulatedPath::new(&host).prepare(minute()).unwrap_err();
    assert!(matches!(error, MeasureError::Busy { .. }), "{error}");
    let error = cleanup_leftovers(&host).unwrap_err();
    assert!(matches!(error, MeasureError::Busy { .. }), "{error}");
    assert_eq!(
        our_namespaces().len(),
        3,
        "the running measurement keeps its path"
    );
}

#[test]
fn an_iperf3_that_hangs_ends_at_the_deadline_and_leaves_no_process() {
    let Some(_turn) = rung("an_iperf3_that_hangs_ends_at_the_deadline_and_leaves_no_process") else {
        return;
    };
    let client = iperf3_client("exec sleep 61713");
    let (_bin, host) = host_with(&[("tc", TC_WITHOUT_EFFECT), ("iperf3", &client)]);
    let begin = Instant::now();
    let error = EmulatedPath::new(&host)
        .prepare(Deadline::after(Duration::from_secs(6)))
        .unwrap_err();
    assert!(error.to_string().contains("did not end within"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert_eq!(our_namespaces(), Vec::<String>::new());
    eventually("no client is left", || !runs("sleep 61713"));
}

#[test]
fn an_iperf3_that_prints_rubbish_gives_a_typed_error() {
    let Some(_turn) = rung("an_iperf3_that_prints_rubbish_gives_a_typed_error") else {
        return;
    };
    for (does, expected) in [
        (
            "echo 'segmentation violation'",
            "iperf3: no JSON report: expected value at line 1",
        ),
        ("echo '{\"start\":'", "iperf3: no JSON report: EOF while parsing"),
        (
            "echo '{\"error\":\"cannot do it\"}'; exit 1",
            "iperf3: cannot do it",
        ),
        (
            "echo 'out of luck' >&2; exit 7",
            "ended with exit status: 7: out of luck",
        ),
    ] {
        let (_bin, host) = host_with(&[("tc", TC_WITHOUT_EFFECT), ("iperf3", &iperf3_client(does))]);
        let error = EmulatedPath::new(&host).prepare(minute()).unwrap_err();
        assert!(error.to_string().contains(expected), "{does}: {error}");
        if expected.starts_with("iperf3: no JSON") {
            assert!(
                matches!(error, MeasureError::Report(ReportError::NotJson { .. })),
                "{error}"
            );
        }
    }
    assert_eq!(our_namespaces(), Vec::<String>::new());
}

#[test]
fn a_server_that_dies_at_once_is_told_with_its_last_words() {
    let Some(_turn) = rung("a_server_that_dies_at_once_is_told_with_its_last_words") else {
        return;
    };
    let (_bin, host) = host_with(&[
        ("tc", TC_WITHOUT_EFFECT),
        ("iperf3", "echo 'no such option' >&2; exit 1"),
    ]);
    let error = EmulatedPath::new(&host)
        .prepare(minute())
        .unwrap_err()
        .to_string();
    assert!(error.contains("--server --one-off"), "{error}");
    assert!(
        error.ends_with("ended with exit status: 1: no such option"),
        "{error}"
    );
}

#[test]
fn leftovers_are_removed_with_their_processes_and_others_are_not_touched() {
    let Some(_turn) = rung("leftovers_are_removed_with_their_processes_and_others_are_not_touched") else {
        return;
    };
    let ip = |args: &[&str]| {
        assert!(
            Command::new("ip").args(args).status().unwrap().success(),
            "{args:?}"
        )
    };
    ip(&["netns", "add", "dtnf-snd"]);
    ip(&["netns", "add", "dtnt-not-ours"]);
    let sleeper = |namespace: &str, seconds: &str| {
        Command::new("ip")
            .args(["netns", "exec", namespace, "sleep", seconds])
            .spawn()
            .unwrap()
    };
    let (mut inside, mut elsewhere) = (sleeper("dtnf-snd", "61714"), sleeper("dtnt-not-ours", "61715"));
    eventually("both run", || runs("sleep 61714") && runs("sleep 61715"));
    // A process is listed in a namespace only after `ip netns exec` has entered it.
    eventually("the first is inside", || {
        let listed = Command::new("ip")
            .args(["netns", "pids", "dtnf-snd"])
            .output()
            .unwrap();
        String::from_utf8_lossy(&listed.stdout).trim() == inside.id().to_string()
    });
    let removed = cleanup_leftovers(&Host::live()).unwrap();
    let other_lives = elsewhere.try_wait().unwrap().is_none();
    elsewhere.kill().unwrap();
    elsewhere.wait().unwrap();
    ip(&["netns", "del", "dtnt-not-ours"]);
    assert_eq!(removed, ["dtnf-snd"]);
    assert!(other_lives, "a process outside our namespaces was ended");
    assert!(
        !inside.wait().unwrap().success(),
        "the process inside was not killed"
    );
}

/// The agent of the next test: prepares and then measures until it is killed.
#[test]
fn agent_that_is_killed() {
    if std::env::var_os("DTN_TEST_AGENT").is_none() {
        return;
    }
    let client =
        "case \"$*\" in *--client*\" --omit 9\"*) exec sleep 61716;; *) exec /usr/bin/iperf3 \"$@\";; esac";
    // Only a delay that is there lets a round begin; where netem is missing, a path of 0 ms does.
    let (_bin, host) = host_with(&[("tc", TC_WITHOUT_EFFECT), ("iperf3", client)]);
    let settings = Settings {
        rtt_ms: 0,
        left_out_s: 9,
        measured_s: 1,
    };
    let mut path = EmulatedPath::with(&host, settings);
    path.prepare(minute()).unwrap();
    let _ = path.round(Arm::AsFound, 0, minute());
}

#[test]
fn an_agent_killed_in_a_round_leaves_no_process_and_the_next_start_removes_the_rest() {
    let name = "an_agent_killed_in_a_round_leaves_no_process_and_the_next_start_removes_the_rest";
    let Some(_turn) = rung(name) else { return };
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "agent_that_is_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("DTN_TEST_AGENT", "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !runs("sleep 61716") && begin.elapsed() < Duration::from_secs(60) {
        assert!(
            agent.try_wait().unwrap().is_none(),
            "the agent ended before its round"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(runs("--server --one-off"), "the server runs");
    agent.kill().unwrap();
    agent.wait().unwrap();
    eventually("client and server died with the agent", || {
        !runs("sleep 61716") && !runs("--server --one-off")
    });
    assert_eq!(our_namespaces().len(), 3, "a killed agent cannot clean up");
    assert_eq!(
        cleanup_leftovers(&Host::live()).unwrap(),
        ["dtnf-mid", "dtnf-rcv", "dtnf-snd"]
    );
    assert_eq!(our_namespaces(), Vec::<String>::new());
}

/// Live values of this host, put back when dropped.
struct Sysctls(Vec<(&'static str, String)>);

impl Sysctls {
    fn saved() -> Self {
        let read = |path| (path, std::fs::read_to_string(path).unwrap());
        Self(vec![
            read("/proc/sys/net/ipv4/tcp_rmem"),
            read("/proc/sys/net/ipv4/tcp_wmem"),
        ])
    }

    /// Really switches this host: its own maximums, or `most` bytes.
    fn switch(&self, arm: Arm, most: &str) -> std::io::Result<()> {
        for (path, saved) in &self.0 {
            let mut fields: Vec<&str> = saved.split_ascii_whitespace().collect();
            if arm == Arm::Ours {
                fields[2] = most;
            }
            std::fs::write(path, fields.join(" "))?;
        }
        Ok(())
    }
}

impl Drop for Sysctls {
    fn drop(&mut self) {
        for (path, saved) in &self.0 {
            std::fs::write(path, saved).unwrap();
        }
    }
}

/// Measures this host as found against a buffer maximum of `most` bytes, and prints what an agent would.
fn measured(most: &str) -> Run {
    let host = Host::live();
    let begin = Instant::now();
    let mut path = EmulatedPath::new(&host);
    path.prepare(minute()).unwrap();
    println!("prepared after {:.1} s", begin.elapsed().as_secs_f64());
    let saved = Sysctls::saved();
    let run: Result<Run, RunError<std::io::Error>> = run_pairs(
        &mut path,
        &mut |arm| saved.switch(arm, most),
        // A busy build machine makes noise, and the pairs have to follow it.
        &Budget::seconds(240),
        &Limits::default(),
        &mut |progress| println!("{:6.1} s  {progress}", begin.elapsed().as_secs_f64()),
    );
    path.cleanup().unwrap();
    let run = run.unwrap();
    println!(
        "{:6.1} s  {:?} after {} pairs, first {:?}",
        begin.elapsed().as_secs_f64(),
        run.stopped,
        run.pairs,
        run.first
    );
    println!("{}", run.decision.sentence);
    for (key, value) in &run.decision.metrics[0].context {
        println!("  {key} = {value}");
    }
    run
}

#[test]
fn buffers_of_64_mib_are_kept_over_200_ms_and_the_stock_window_is_named() {
    let name = "buffers_of_64_mib_are_kept_over_200_ms_and_the_stock_window_is_named";
    let Some(_turn) = rung(name) else { return };
    if !has_netem() {
        println!("skipped: {name}: this kernel has no netem");
        return;
    }
    let run = measured("67108864");
    assert_eq!(run.decision.outcome, Outcome::Keep, "{}", run.decision.sentence);
    assert!(
        run.decision.sentence.contains("over an emulated 200 ms path"),
        "{}",
        run.decision.sentence
    );
    let ours = run.samples.iter().find(|sample| sample.arm == Arm::Ours).unwrap();
    assert!(
        ours.context[context::TCP_RMEM].ends_with(" 67108864"),
        "{:?}",
        ours.context
    );
    assert_eq!(our_namespaces(), Vec::<String>::new());
}

#[test]
fn buffers_of_128_kib_are_reverted_and_named() {
    let name = "buffers_of_128_kib_are_reverted_and_named";
    let Some(_turn) = rung(name) else { return };
    if !has_netem() {
        println!("skipped: {name}: this kernel has no netem");
        return;
    }
    let run = measured("131072");
    assert_eq!(run.decision.outcome, Outcome::Revert, "{}", run.decision.sentence);
    assert!(
        run.decision.sentence.contains("the limit is 0.95"),
        "{}",
        run.decision.sentence
    );
}
