//! Namespace rung: a plan with one harmful group among good ones, proved on the real kernel with real streams.
//!
//! Runs as root with `DTNFORGE_NS=1`. The emulated path is real but for its delay: where this kernel has no netem, the
//! queue is one that only limits the rate (tbf), put in place by a script in front of `tc`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be read or started here fails the test"
)]

mod namespace;
mod plans;

use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::flow::prove::{Proof, Rules, Station, conclude, prove};
use dtn_firstboot::host::Host;
use dtn_firstboot::measure::{Deadline, EmulatedPath, Measure, Settings};
use dtn_firstboot::trial::Transaction;
use dtnforge_profiles::conclude::{Conclusions, conclude as concluded};
use dtnforge_profiles::decide::Limits;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::{Plan, Reading};
use dtnforge_profiles::site::{SiteFile, Unproved};
use dtnforge_profiles::verdict::{GroupEvidence, Outcome, Verdict};
use namespace::inside;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// netem's rate as a token bucket without its delay; statistics as netem would give them. The rate is far above what a tiny
/// window carries on an idle machine, so that the harm does not hang on how busy this one is.
const TC: &str = r#"#!/bin/sh
case "$*" in
*"-s -j qdisc show"*) echo '[{"kind":"netem","drops":0}]';;
*"qdisc show"*) echo '[{"kind":"noqueue"}]';;
*"qdisc add dev"*) exec /sbin/tc "$1" "$2" qdisc replace dev "$6" root tbf rate 4gbit burst 4m limit 16m;;
*"qdisc del"*) exec /sbin/tc "$1" "$2" qdisc replace dev "$6" root pfifo limit 1000;;
*) exec /sbin/tc "$@";;
esac
"#;

/// A receiver that may never have more than this under way, byte: a stream is held back however short the path is.
const TINY: &str = "4096 4096 4096";

fn plan(doors: &Doors, wanted: &[(&str, &str, Group)]) -> Plan {
    let step = |&(knob, to, group): &(&str, &str, Group)| {
        let knob: KnobId = knob.parse().unwrap();
        let Reading::Is(from) = doors.read(&knob).unwrap() else {
            panic!("{knob} is not here");
        };
        plans::step(knob, from, to, group)
    };
    plans::of(wanted.iter().map(step).collect())
}

fn nothing_concluded() -> Conclusions {
    concluded(&Facts::default(), &SiteFile::default().check().unwrap())
}

/// A host with its own `/run`, so that the files of a trial are seen by nobody else.
fn host(bin: &Path) -> Host {
    nix::mount::mount(
        Some("tmpfs"),
        "/run",
        Some("tmpfs"),
        nix::mount::MsFlags::empty(),
        None::<&str>,
    )
    .unwrap();
    let tc = bin.join("tc");
    std::fs::write(&tc, TC).unwrap();
    std::fs::set_permissions(&tc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display());
    Host::at(Path::new("/"), Some(Path::new(&path)))
}

/// Proves a plan with streams of one second; ends with the verdict and with the host as the proof left it.
fn proved(host: &Host, doors: &Doors, plan: &Plan, each: bool) -> (Proof, Verdict) {
    let settings = Settings {
        rtt_ms: 0,
        left_out_s: 0,
        measured_s: 1,
    };
    let mut path = EmulatedPath::with(host, settings);
    path.prepare(Deadline::after(Duration::from_secs(60))).unwrap();
    let mut stations = [Station {
        measure: Box::new(path),
        prepared: true,
    }];
    let mut transaction = Transaction::begin(host, doors, &host.path("/run/dtnforge/trial.journal")).unwrap();
    let mut rules = Rules {
        limits: Limits::default(),
        unproved: Unproved::Hold,
        budget_s: 120,
        each,
        live: &mut || {},
        tell: &mut |progress| println!("{progress}"),
    };
    let proof = prove(
        host,
        &nothing_concluded(),
        plan,
        &mut transaction,
        &mut stations,
        &mut rules,
    )
    .unwrap();
    let verdict = conclude(&BTreeMap::new(), &proof);
    (proof, verdict)
}

fn value(doors: &Doors, knob: &str) -> String {
    match doors.read(&knob.parse().unwrap()).unwrap() {
        Reading::Is(value) => value.to_string(),
        other => panic!("{knob}: {other:?}"),
    }
}

#[test]
fn one_harmful_group_among_good_ones_is_dropped_and_named_and_the_rest_is_kept() {
    if !inside("one_harmful_group_among_good_ones_is_dropped_and_named_and_the_rest_is_kept") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let host = host(bin.path());
    let doors = Doors::new(&host);
    let rmem = value(&doors, "sysctl:net.ipv4.tcp_rmem");
    let plan = plan(
        &doors,
        &[
            ("sysctl:net.ipv4.tcp_rmem", TINY, Group::TcpBuffers),
            (
                "sysctl:net.ipv4.tcp_slow_start_after_idle",
                "0",
                Group::Congestion,
            ),
            ("sysctl:net.ipv4.tcp_mtu_probing", "1", Group::Cpu),
        ],
    );
    let (proof, verdict) = proved(&host, &doors, &plan, false);
    println!("{}", verdict.sentence);
    assert_eq!(verdict.outcome, Outcome::Keep, "{}", verdict.sentence);
    assert!(
        verdict
            .sentence
            .contains("without tcp-buffers (alone: reverted: throughput 0."),
        "{}",
        verdict.sentence
    );
    assert!(matches!(
        verdict.groups[&Group::TcpBuffers],
        GroupEvidence::Dropped { .. }
    ));
    assert!(matches!(
        verdict.groups[&Group::Congestion],
        GroupEvidence::Measured { .. }
    ));
    assert_eq!(verdict.groups[&Group::Cpu], GroupEvidence::ReadBack);
    // The whole, each alone; the rest is one group, which was proved by that.
    let sets: Vec<&[Group]> = verdict
        .proofs
        .iter()
        .map(|proof| proof.groups.as_slice())
        .collect();
    assert_eq!(
        sets,
        [
            &[Group::TcpBuffers, Group::Congestion][..],
            &[Group::TcpBuffers][..],
            &[Group::Congestion][..]
        ]
    );
    // What is committed is what is live: the harmful value is gone, from the host and from the files.
    assert_eq!(proof.plan.groups(), [Group::Congestion, Group::Cpu]);
    assert_eq!(value(&doors, "sysctl:net.ipv4.tcp_rmem"), rmem);
    assert_eq!(value(&doors, "sysctl:net.ipv4.tcp_slow_start_after_idle"), "0");
    assert_eq!(value(&doors, "sysctl:net.ipv4.tcp_mtu_probing"), "1");
    let files: String = std::fs::read_dir(host.path("/run/sysctl.d"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert!(
        files.contains("tcp_slow_start_after_idle") && !files.contains("tcp_rmem"),
        "{files}"
    );
}

#[test]
fn a_plan_whose_measured_groups_all_harm_is_reverted() {
    if !inside("a_plan_whose_measured_groups_all_harm_is_reverted") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let host = host(bin.path());
    let doors = Doors::new(&host);
    let plan = plan(&doors, &[("sysctl:net.ipv4.tcp_rmem", TINY, Group::TcpBuffers)]);
    let (proof, verdict) = proved(&host, &doors, &plan, false);
    assert_eq!(verdict.outcome, Outcome::Revert, "{}", verdict.sentence);
    assert!(
        verdict.sentence.starts_with("reverted: throughput 0."),
        "{}",
        verdict.sentence
    );
    assert_eq!(verdict.proofs.len(), 1);
    assert!(proof.plan.steps.is_empty());
}
