//! Taking a commit out and putting it back, whole or cut short anywhere.

use super::*;
use crate::trial::files::{self, Set};
use dtnforge_profiles::journal::Event;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;

const SYSCTL_FILE: &str = "sysctl.d/90-dtnforge-tcp-buffers.conf";

/// A node on which the whole plan is in force as after a committed boot, and its ways back to stock.
struct Committed {
    node: Node,
    memory: Memory,
    stock: BTreeMap<KnobId, Undo>,
    before: BTreeMap<KnobId, Value>,
    committed: BTreeMap<KnobId, Value>,
}

fn committed() -> Committed {
    let (node, memory) = (node(), Memory::stock());
    let before = memory.all();
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let rendered = [(SYSCTL_FILE.to_owned(), "net.ipv4.tcp_rmem = 1 2 3\n".to_owned())];
    trial.place(&whole_plan(), &rendered).unwrap();
    assert!(trial.apply(&whole_plan()).stopped.is_none());
    let stock = trial.ways_back(&whole_plan());
    files::adopt(&node.host).unwrap();
    trial.finish().unwrap();
    let committed = memory.all();
    memory.log.lock().unwrap().clear();
    Committed {
        node,
        memory,
        stock,
        before,
        committed,
    }
}

impl Committed {
    fn begin(&self) -> Transaction<'_> {
        Transaction::begin(&self.node.host, &self.memory, &self.node.journal).unwrap()
    }

    fn has_file(&self) -> bool {
        self.node.host.path(&format!("/run/{SYSCTL_FILE}")).exists()
    }
}

#[test]
fn a_commit_is_taken_out_and_put_back_file_by_file_and_knob_by_knob() {
    let node = committed();
    assert_eq!(node.stock.len(), whole_plan().steps.len());
    let mut trial = node.begin();
    let report = trial.withdraw(&whole_plan(), &node.stock).unwrap();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(
        names(report.undone.into_iter().map(|step| step.knob)),
        [TUNED, SWAP, RING, CONTROL, BUFFERS]
    );
    assert_eq!(node.memory.all(), node.before);
    assert!(!node.has_file());
    let report = trial.rollback();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(node.memory.all(), node.committed);
    assert!(node.has_file());
    trial.finish().unwrap();
    assert!(!node.node.journal.exists());
}

#[test]
fn a_ring_flaps_its_link_once_each_way() {
    let node = committed();
    let mut trial = node.begin();
    trial.withdraw(&whole_plan(), &node.stock).unwrap();
    trial.rollback();
    let log = node.memory.log.lock().unwrap();
    let rings: Vec<&String> = log.iter().filter(|line| line.starts_with(RING)).collect();
    assert_eq!(rings, [&format!("{RING}=512"), &format!("{RING}=8192")]);
}

#[test]
fn a_guilty_commit_leaves_no_file_and_no_journal() {
    let node = committed();
    let mut trial = node.begin();
    assert!(trial.withdraw(&whole_plan(), &node.stock).unwrap().verified());
    drop(trial);
    // The process may die here; the next start ends it the same way.
    assert!(settle(&node.node.host, &node.node.journal).unwrap());
    assert_eq!(node.memory.all(), node.before);
    assert!(!node.has_file());
    assert_eq!(files::paths(&node.node.host, Set::Active).unwrap(), [""; 0]);
    assert!(!settle(&node.node.host, &node.node.journal).unwrap());
}

#[test]
fn a_withdrawal_that_died_anywhere_ends_in_the_whole_commit() {
    let node = committed();
    let mut trial = node.begin();
    trial.withdraw(&whole_plan(), &node.stock).unwrap();
    drop(trial);
    let whole = std::fs::read_to_string(&node.node.journal).unwrap();
    let knobs: Vec<KnobId> = dtnforge_profiles::journal::parse(&whole)
        .unwrap()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Intent { knob, .. } => Some(knob),
            _ => None,
        })
        .collect();
    assert_eq!(names(knobs.clone()), [TUNED, SWAP, RING, CONTROL, BUFFERS]);
    for written in 0..=knobs.len() {
        // All ways back are on disk before the first write; so many were done.
        *node.memory.values.lock().unwrap() = node.committed.clone();
        for knob in &knobs[..written] {
            node.memory.undo(knob, &node.stock[knob]).unwrap();
        }
        std::fs::write(&node.node.journal, &whole).unwrap();
        files::place(&node.node.host, Set::Trial, &[]).unwrap();
        let report = recover(&node.node.host, &node.memory, &node.node.journal)
            .unwrap()
            .unwrap();
        assert!(report.verified(), "{written}: {:?}", report.problems());
        assert_eq!(node.memory.all(), node.committed, "{written} knobs were written");
        assert!(node.has_file() && !node.node.journal.exists());
    }
}

#[test]
fn a_knob_that_does_not_go_back_is_named_and_the_others_do() {
    let mut node = committed();
    node.memory.deaf.push(knob(RING));
    let mut trial = node.begin();
    let report = trial.withdraw(&whole_plan(), &node.stock).unwrap();
    assert_eq!(
        report.problems(),
        [format!(
            "{RING}: expected \"512\" as before the trial, found \"8192\""
        )]
    );
    assert_eq!(node.memory.value(BUFFERS), "4096 131072 6291456");
}

#[test]
fn a_device_that_is_gone_needs_no_way_back() {
    let node = committed();
    node.memory.values.lock().unwrap().remove(&knob(RING));
    let mut trial = node.begin();
    let report = trial.withdraw(&whole_plan(), &node.stock).unwrap();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(names(report.gone), [RING]);
}

#[test]
fn a_knob_without_a_recorded_way_back_is_not_claimed_to_be_stock() {
    let mut node = committed();
    node.stock.remove(&knob(RING));
    let mut trial = node.begin();
    let report = trial.withdraw(&whole_plan(), &node.stock).unwrap();
    assert_eq!(
        report.problems(),
        [format!(
            "{RING}: expected \"512\" as before the trial, found \"8192\""
        )]
    );
}

#[test]
fn without_a_journal_no_knob_is_written() {
    let node = committed();
    let mut trial = node.begin();
    trial.journal.close_for_test();
    let error = trial.withdraw(&whole_plan(), &node.stock).unwrap_err();
    assert!(error.to_string().ends_with("it is damaged"), "{error}");
    assert_eq!(node.memory.all(), node.committed);
    assert!(trial.rollback().verified());
    assert!(node.has_file());
}

/// A `systemctl` and a `tuned-adm` in one: what a running tuned applied stands in the file `applied`. As on our image,
/// tuned does not start without its file of the active profile.
const TUNED_PROGRAM: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
case "$1" in
show) echo LoadState=loaded
    if [ -e applied ]; then echo ActiveState=active; else echo ActiveState=inactive; fi ;;
start) if [ -e run/dtnforge/tuned/active_profile ]; then cat run/dtnforge/tuned/active_profile >applied; fi; echo start >>log ;;
stop) rm applied; echo "stop $(ls run/dtnforge/tuned)" >>log ;;
active) [ -e applied ] && echo "Current active profile: $(cat applied)" ;;
esac
exit 0
"#;

#[test]
fn tuned_is_stopped_without_its_files_and_started_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for path in ["bin", "etc/tuned", "run/dtnforge/tuned", "proc/sys/vm"] {
        std::fs::create_dir_all(root.join(path)).unwrap();
    }
    for name in ["active_profile", "profile_mode"] {
        let target = format!("/run/dtnforge/tuned/{name}");
        std::os::unix::fs::symlink(target, root.join("etc/tuned").join(name)).unwrap();
    }
    for name in ["systemctl", "tuned-adm"] {
        let program = root.join("bin").join(name);
        std::fs::write(&program, TUNED_PROGRAM).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
    }
    std::fs::write(root.join("proc/sys/vm/swappiness"), "60\n").unwrap();
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    let host = Host::at(root, Some(std::path::Path::new(&path)));
    let doors = crate::door::Doors::new(&host);
    let journal = host.path(WITHDRAWAL_PATH);
    let plan = plan(&[
        (TUNED, "none", "dtnforge-dtn-vm", Group::Cpu),
        (SWAP, "60", "10", Group::Vm),
    ]);
    let rendered = [
        ("dtnforge/tuned/active_profile", "dtnforge-dtn-vm\n"),
        ("dtnforge/tuned/profile_mode", "manual\n"),
        ("sysctl.d/90-dtnforge-vm.conf", "vm.swappiness = 10\n"),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()));
    let mut trial = Transaction::begin(&host, &doors, &host.path(JOURNAL_PATH)).unwrap();
    trial.place(&plan, &rendered).unwrap();
    assert!(trial.apply(&plan).stopped.is_none());
    let stock = trial.ways_back(&plan);
    files::adopt(&host).unwrap();
    trial.finish().unwrap();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();

    let mut out = Transaction::begin(&host, &doors, &journal).unwrap();
    let report = out.withdraw(&plan, &stock).unwrap();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(
        (read("applied"), read("run/dtnforge/tuned/active_profile")),
        (None, None)
    );
    assert_eq!(read("proc/sys/vm/swappiness").unwrap().trim(), "60");
    let report = out.rollback();
    assert!(report.verified(), "{:?}", report.problems());
    out.finish().unwrap();
    assert_eq!(read("applied").as_deref(), Some("dtnforge-dtn-vm\n"));
    assert_eq!(
        read("run/dtnforge/tuned/profile_mode").as_deref(),
        Some("manual\n")
    );
    assert_eq!(read("proc/sys/vm/swappiness").unwrap().trim(), "10");
    assert_eq!(read("log").unwrap(), "start\nstop \nstart\n");
}
