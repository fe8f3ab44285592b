//! A committed plan that costs a node its router, on the real kernel: taken out, put back, and killed in between.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be read or started here fails the test"
)]

mod links;
mod namespace;
mod plans;

use dtn_firstboot::checks::{self, Known, Loss};
use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtn_firstboot::trial::{Transaction, recover};
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::{Plan, Reading};
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::verdict::Check;
use links::{ip, knob_of, run};
use namespace::inside;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Where the journal of the victim lies; set only in the victim.
const VICTIM: &str = "DTNT_WITHDRAWAL_JOURNAL";
const PORT: &str = "dtnt-port-long";
const PEER: &str = "dtnt-peer-long";

/// The router: a process in a namespace of its own with the other end of our link.
struct Router(Child);

impl Router {
    fn start() -> Self {
        ip(&["link", "add", PORT, "type", "veth", "peer", "name", PEER]);
        let child = Command::new("unshare")
            .args(["--net", "sleep", "300"])
            .spawn()
            .unwrap();
        let router = Self(child);
        let pid = router.0.id().to_string();
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        while std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap() == own {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        ip(&["link", "set", PEER, "netns", &pid]);
        for args in [
            vec!["link", "set", PEER, "up"],
            vec!["addr", "add", "192.0.2.1/24", "dev", PEER],
        ] {
            let enter = ["--target", &pid, "--net", "ip"].into_iter().chain(args);
            run("nsenter", &enter.collect::<Vec<_>>());
        }
        ip(&["link", "set", PORT, "up"]);
        ip(&["addr", "add", "192.0.2.2/24", "dev", PORT]);
        ip(&["route", "add", "default", "via", "192.0.2.1"]);
        router
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // It is our own child and ends by itself after some minutes at the latest.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A plan that looks harmless and keeps the kernel from asking for link-layer addresses, with two more knobs.
fn wanted() -> [(KnobId, &'static str); 3] {
    let solicit = |kind: &str| format!("sysctl:net.ipv4.neigh.{PORT}.{kind}").parse().unwrap();
    [
        (solicit("mcast_solicit"), "0"),
        (
            "sysctl:net.ipv4.tcp_rmem".parse().unwrap(),
            "4096 131072 67108864",
        ),
        (knob_of("nic", PORT, "mtu"), "1400"),
    ]
}

fn plan(doors: &Doors) -> Plan {
    let step = |(knob, to): (KnobId, &str)| {
        let Reading::Is(from) = doors.read(&knob).unwrap() else {
            panic!("{knob} is not here");
        };
        plans::step(knob, from, to, Group::TcpBuffers)
    };
    plans::of(wanted().into_iter().map(step).collect())
}

fn values(doors: &Doors, plan: &Plan) -> Vec<Reading> {
    plan.steps
        .iter()
        .map(|step| doors.read(&step.knob).unwrap())
        .collect()
}

/// Applies the plan as a trial that is kept; returns the ways back.
fn commit(host: &Host, doors: &Doors, plan: &Plan, journal: &Path) -> BTreeMap<KnobId, Undo> {
    let mut trial = Transaction::begin(host, doors, journal).unwrap();
    let report = trial.apply(plan);
    assert!(report.stopped.is_none(), "{report:?}");
    let stock = trial.ways_back(plan);
    trial.finish().unwrap();
    stock
}

/// What was good before the plan: the link, an address, and a router that answers.
fn known() -> Known {
    let names = [
        format!("link:{PORT}"),
        "network".to_owned(),
        "gateway:ipv4".to_owned(),
    ];
    Known::of(&names.map(|name| Check {
        name,
        ok: true,
        required: true,
        detail: String::new(),
    }))
}

/// What is missing, with nothing remembered of the router.
fn lost(host: &Host) -> Option<Loss> {
    run("ip", &["neigh", "flush", "dev", PORT]);
    known().lost(&checks::reach(host, &[PORT.to_owned()]))
}

/// A host whose `/run` is a directory, and whose kernel is the real one.
fn with_own_run(test: impl FnOnce(&Host)) {
    // The files of a plan go to /run of the namespace's own mounts.
    run("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
    test(&Host::live());
}

#[test]
fn a_router_that_is_lost_with_the_plan_answers_without_it() {
    if !inside("a_router_that_is_lost_with_the_plan_answers_without_it") {
        return;
    }
    with_own_run(|host| {
        let _router = Router::start();
        let doors = Doors::new(host);
        let journal = PathBuf::from("/run/dtnforge/withdrawal.journal");
        assert_eq!(lost(host), None);
        let plan = plan(&doors);
        let before = values(&doors, &plan);
        let stock = commit(host, &doors, &plan, &journal);
        let tuned = values(&doors, &plan);
        let silent = Loss::Router(format!("the router 192.0.2.1 on {PORT} does not answer"));
        for _ in 0..2 {
            assert_eq!(lost(host), Some(silent.clone()));
            let mut out = Transaction::begin(host, &doors, &journal).unwrap();
            let report = out.withdraw(&plan, &stock).unwrap();
            assert!(report.verified(), "{:?}", report.problems());
            assert_eq!(values(&doors, &plan), before);
            assert_eq!(lost(host), None);
            let report = out.rollback();
            assert!(report.verified(), "{:?}", report.problems());
            assert_eq!(values(&doors, &plan), tuned);
            out.finish().unwrap();
        }
    });
}

#[test]
fn the_victim() {
    let Some(journal) = std::env::var_os(VICTIM).map(PathBuf::from) else {
        eprintln!("skipped: the_victim: runs only as a child of the tests beside it");
        return;
    };
    let host = Host::live();
    let doors = Doors::new(&host);
    let text = std::fs::read_to_string(journal.with_extension("plan")).unwrap();
    let (plan, stock): (Plan, BTreeMap<KnobId, Undo>) = serde_json::from_str(&text).unwrap();
    let mut out = Transaction::begin(&host, &doors, &journal).unwrap();
    assert!(out.withdraw(&plan, &stock).unwrap().verified());
    assert!(out.rollback().verified());
    out.finish().unwrap();
}

/// Kills a withdrawal, with the way back in, at each `point` until it comes through; returns how often it died.
fn kill_at_each(host: &Host, plan: &Plan, stock: &BTreeMap<KnobId, Undo>, point: &str) -> usize {
    let doors = Doors::new(host);
    let journal = PathBuf::from("/run/dtnforge/withdrawal.journal");
    std::fs::write(
        journal.with_extension("plan"),
        serde_json::to_string(&(plan, stock)).unwrap(),
    )
    .unwrap();
    let tuned = values(&doors, plan);
    for count in 1.. {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["the_victim", "--exact", "--test-threads=1"])
            .env(VICTIM, &journal)
            .env("DTN_FAILPOINT", format!("{point}:{count}"))
            .output()
            .unwrap();
        if output.status.success() {
            assert_eq!(values(&doors, plan), tuned);
            return count - 1;
        }
        assert_eq!(output.status.signal(), Some(9), "{point}:{count}: {output:?}");
        let report = recover(host, &doors, &journal).unwrap().unwrap();
        assert!(report.verified(), "{point}:{count}: {:?}", report.problems());
        assert_eq!(values(&doors, plan), tuned, "{point}:{count}");
        assert!(
            recover(host, &doors, &journal).unwrap().is_none(),
            "{point}:{count}"
        );
    }
    0
}

#[test]
fn a_kill_anywhere_on_the_way_out_or_back_leaves_the_whole_commit() {
    if !inside("a_kill_anywhere_on_the_way_out_or_back_leaves_the_whole_commit") {
        return;
    }
    with_own_run(|host| {
        let _router = Router::start();
        let doors = Doors::new(host);
        let plan = plan(&doors);
        let knobs = plan.steps.len();
        let stock = commit(host, &doors, &plan, Path::new("/run/dtnforge/trial.journal"));
        // All intents come first, then a line for each knob that is back.
        assert_eq!(kill_at_each(host, &plan, &stock, "journal"), 2 * knobs);
        assert_eq!(kill_at_each(host, &plan, &stock, "write"), knobs);
    });
}
