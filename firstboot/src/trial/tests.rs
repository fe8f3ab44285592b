mod memory;
mod restore;
mod withdraw;

use super::*;
use crate::door::Door;
use crate::host::Host;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::{Disrupts, KnobId, Owner};
use dtnforge_profiles::plan::{Origin, PLAN_SCHEMA, Plan, Step};
use memory::Memory;
use std::collections::BTreeMap;
use std::path::PathBuf;

const BUFFERS: &str = "sysctl:net.ipv4.tcp_rmem";
const CONTROL: &str = "sysctl:net.ipv4.tcp_congestion_control";
const SWAP: &str = "sysctl:vm.swappiness";
const RING: &str = "nic/0000:01:00.0+02:00:00:00:00:01:ring.rx";
const MTU: &str = "nic/0000:01:00.0+02:00:00:00:00:01:mtu";
const TUNED: &str = "tuned:profile";

fn knob(name: &str) -> KnobId {
    name.parse().unwrap()
}

fn plan(steps: &[(&str, &str, &str, Group)]) -> Plan {
    let steps = steps.iter().map(|(name, from, to, group)| Step {
        knob: knob(name),
        from: (*from).into(),
        to: (*to).into(),
        lowered: None,
        group: *group,
        why: "test".into(),
        origin: Origin::default(),
        source: "test".into(),
        owner: Owner::SysctlD,
        disrupts: Disrupts::None,
    });
    Plan {
        schema: PLAN_SCHEMA,
        profile: "dtn-100g-nvme".into(),
        layer: Digest::of(b"layer"),
        fingerprint: Digest::of(b"host"),
        steps: steps.collect(),
        skipped: vec![],
        modules: vec![],
        tuned_conf: None,
        interfaces: BTreeMap::new(),
        advice: vec![],
        boot: vec![],
    }
}

/// All five knobs, tuned first as the registry orders them.
fn whole_plan() -> Plan {
    plan(&[
        (TUNED, "none", "dtnforge-dtn-100g-nvme", Group::Cpu),
        (
            BUFFERS,
            "4096 131072 6291456",
            "4096 131072 67108864",
            Group::TcpBuffers,
        ),
        (CONTROL, "cubic", "bbr", Group::Congestion),
        (RING, "512", "8192", Group::NicRings),
        (SWAP, "60", "10", Group::Vm),
    ])
}

struct Node {
    _dir: tempfile::TempDir,
    host: Host,
    journal: PathBuf,
}

fn node() -> Node {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::at(dir.path(), Some(dir.path()));
    let journal = host.path(JOURNAL_PATH);
    Node {
        _dir: dir,
        host,
        journal,
    }
}

fn names(knobs: impl IntoIterator<Item = KnobId>) -> Vec<String> {
    knobs.into_iter().map(|knob| knob.to_string()).collect()
}

#[test]
fn a_plan_is_applied_in_order_and_taken_back_with_tuned_first() {
    let (node, memory) = (node(), Memory::stock());
    let before = memory.all();
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = trial.apply(&whole_plan());
    assert!(report.stopped.is_none(), "{report:?}");
    assert_eq!(
        names(report.applied.into_iter().map(|step| step.knob)),
        [TUNED, BUFFERS, CONTROL, RING, SWAP]
    );
    assert_eq!(trial.verify(&whole_plan()), []);
    let report = trial.rollback();
    assert!(report.verified(), "{report:?}");
    assert_eq!(
        names(report.undone.into_iter().map(|step| step.knob)),
        [TUNED, SWAP, RING, CONTROL, BUFFERS]
    );
    assert_eq!(memory.all(), before);
    trial.finish().unwrap();
    assert!(!node.journal.exists());
}

#[test]
fn what_another_step_changed_is_taken_back_to_the_value_before_the_trial() {
    // tuned sets the swappiness before its own step comes, which then finds it equal.
    let (node, memory) = (node(), Memory::stock());
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    trial.apply(&whole_plan());
    assert!(
        !memory
            .log
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.starts_with(SWAP)),
        "written though it was equal"
    );
    // A tuned that restores nothing when it stops.
    memory.seen_by_tuned.lock().unwrap().clear();
    assert!(trial.rollback().verified());
    assert_eq!(memory.value(SWAP), "60");
}

#[test]
fn a_tuned_that_restores_our_values_when_it_stops_does_not_win() {
    let (node, memory) = (node(), Memory::stock());
    let plan = whole_plan();
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    // The sysctls are ours when tuned starts, and were taken back since.
    trial.apply_groups(&plan, &[Group::TcpBuffers]);
    trial.apply_groups(&plan, &[Group::Cpu]);
    assert!(trial.undo_groups(&[Group::TcpBuffers]).verified());
    assert_eq!(memory.value(BUFFERS), "4096 131072 6291456");
    assert!(trial.rollback().verified());
    assert_eq!(memory.value(BUFFERS), "4096 131072 6291456");
}

#[test]
fn groups_are_switched_on_and_off_again_and_again() {
    let (node, memory) = (node(), Memory::stock());
    let plan = whole_plan();
    let switched = [Group::TcpBuffers, Group::Congestion];
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    for _ in 0..3 {
        let report = trial.apply_groups(&plan, &switched);
        assert_eq!(report.applied.len(), 2);
        assert_eq!(memory.value(BUFFERS), "4096 131072 67108864");
        assert_eq!(memory.value(CONTROL), "bbr");
        assert_eq!(memory.value(RING), "512");
        let report = trial.undo_groups(&switched);
        assert_eq!(report.undone.len(), 2);
        assert_eq!(memory.value(BUFFERS), "4096 131072 6291456");
        assert_eq!(memory.value(CONTROL), "cubic");
    }
    assert!(
        trial.undo_groups(&switched).undone.is_empty(),
        "nothing is live any more"
    );
}

#[test]
fn a_value_that_is_there_already_is_left_alone() {
    let (node, memory) = (node(), Memory::stock());
    memory.set(CONTROL, "bbr");
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = trial.apply(&plan(&[(CONTROL, "bbr", "bbr", Group::Congestion)]));
    assert_eq!(names(report.already), [CONTROL]);
    assert!(report.applied.is_empty() && memory.log.lock().unwrap().is_empty());
    assert_eq!(std::fs::read_to_string(&node.journal).unwrap(), "");
}

#[test]
fn the_first_failure_stops_the_apply_and_names_the_step() {
    let (node, mut memory) = (node(), Memory::stock());
    memory.refusing.push(knob(CONTROL));
    let before = memory.all();
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = trial.apply(&whole_plan());
    let stopped = report.stopped.unwrap();
    assert_eq!(stopped.knob, knob(CONTROL));
    assert_eq!(
        stopped.to_string(),
        format!("{CONTROL}: the kernel refused \"bbr\": EINVAL: Invalid argument")
    );
    assert_eq!(memory.value(RING), "512", "a step after the failure was done");
    let report = trial.rollback();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(memory.all(), before);
}

#[test]
fn a_write_without_effect_is_a_failure() {
    let (node, mut memory) = (node(), Memory::stock());
    memory.deaf.push(knob(CONTROL));
    let was = memory.value(CONTROL);
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let stopped = trial.apply(&whole_plan()).stopped.unwrap();
    let said = stopped.to_string();
    assert!(said.starts_with(&format!("{CONTROL}: wrote ")), "{said}");
    assert!(said.ends_with(&format!("and it reads {was:?}")), "{said}");
}

#[test]
fn a_driver_that_takes_a_value_and_keeps_the_old_one_is_left_alone() {
    let (node, mut memory) = (node(), Memory::stock());
    memory.deaf.push(knob(RING));
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let plan = whole_plan();
    let report = trial.apply(&plan);
    assert!(report.stopped.is_none(), "{:?}", report.stopped);
    assert_eq!(report.ignored, [knob(RING)]);
    assert_eq!(report.applied.len() + report.already.len(), plan.steps.len() - 1);
    assert!(
        trial
            .verify(&plan.without_knobs(&report.ignored, "ignored"))
            .is_empty()
    );
}

#[test]
fn a_knob_that_is_gone_stops_before_anything_is_written_for_it() {
    let (node, memory) = (node(), Memory::stock());
    let plan = plan(&[("sysctl:net.ipv4.no_such_key", "1", "2", Group::Congestion)]);
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let stopped = trial.apply(&plan).stopped.unwrap();
    assert_eq!(
        stopped.to_string(),
        "sysctl:net.ipv4.no_such_key: the device or file is gone"
    );
    assert_eq!(std::fs::read_to_string(&node.journal).unwrap(), "");
}

#[test]
fn a_rollback_that_did_not_come_out_says_so_and_goes_on() {
    let (node, mut memory) = (node(), Memory::stock());
    let mut plan = whole_plan();
    plan.steps.retain(|step| step.group != Group::Cpu);
    let journal = node.journal.clone();
    Transaction::begin(&node.host, &memory, &journal)
        .unwrap()
        .apply(&plan);
    // From now on the ring takes nothing, and the buffers refuse.
    memory.deaf.push(knob(RING));
    memory.refusing.push(knob(BUFFERS));
    let report = recover(&node.host, &memory, &journal).unwrap().unwrap();
    assert!(!report.verified());
    let problems = report.problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(
        problems[0],
        format!("{RING}: expected \"512\" as before the trial, found \"8192\"")
    );
    assert!(
        problems[1].starts_with(&format!(
            "{BUFFERS}: expected \"4096 131072 6291456\" as before the trial, found \"4096 131072 67108864 \
             ({BUFFERS}: the kernel refused"
        )),
        "{problems:?}"
    );
    assert_eq!(memory.value(CONTROL), "cubic", "the others are taken back");
    assert!(
        journal.exists(),
        "the journal of an unverified rollback was removed"
    );
}

#[test]
fn a_ring_that_was_rounded_by_the_mtu_of_the_trial_is_undone_once_more() {
    let (node, mut memory) = (node(), Memory::stock());
    memory.rounding = true;
    let before = memory.all();
    let plan = plan(&[
        (MTU, "1500", "9000", Group::Mtu),
        (RING, "512", "1000", Group::NicRings),
    ]);
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = trial.apply(&plan);
    assert_eq!(report.applied[1].now, "1056".into());
    let report = trial.rollback();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(memory.all(), before);
}

#[test]
fn a_device_that_went_away_is_gone_and_no_failure() {
    let (node, memory) = (node(), Memory::stock());
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    trial.apply(&whole_plan());
    memory.values.lock().unwrap().remove(&knob(RING));
    let report = trial.rollback();
    assert!(report.verified(), "{report:?}");
    assert_eq!(names(report.gone), [RING]);
}

#[test]
fn a_trial_that_died_anywhere_in_its_journal_is_taken_back() {
    let (node, memory) = (node(), Memory::stock());
    let before = memory.all();
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    trial.apply(&whole_plan());
    let whole = std::fs::read(&node.journal).unwrap();
    drop(trial);
    // Within each line, and at each end of a line.
    let ends = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1);
    for cut in (0..whole.len()).step_by(37).chain(ends) {
        // The host as it was when the last whole intent had been written.
        let text = String::from_utf8_lossy(&whole[..cut]).into_owned();
        *memory.values.lock().unwrap() = before.clone();
        memory.seen_by_tuned.lock().unwrap().clear();
        for record in dtnforge_profiles::journal::parse(&text).unwrap() {
            if let dtnforge_profiles::journal::Event::Intent { knob, to, .. } = record.event {
                memory.write(&knob, &to).unwrap();
            }
        }
        std::fs::write(&node.journal, &whole[..cut]).unwrap();
        let report = recover(&node.host, &memory, &node.journal).unwrap().unwrap();
        assert!(report.verified(), "cut at {cut}: {:?}", report.problems());
        assert_eq!(memory.all(), before, "cut at {cut}");
        assert!(!node.journal.exists());
    }
    assert!(recover(&node.host, &memory, &node.journal).unwrap().is_none());
}

#[test]
fn a_damaged_journal_is_undone_as_far_as_it_goes_and_never_verified() {
    let (node, memory) = (node(), Memory::stock());
    Transaction::begin(&node.host, &memory, &node.journal)
        .unwrap()
        .apply(&whole_plan());
    // The third line is the intent for the buffers.
    let text = std::fs::read_to_string(&node.journal).unwrap();
    let text = text.replacen("67108864", "67108865", 1);
    std::fs::write(&node.journal, text).unwrap();
    let report = recover(&node.host, &memory, &node.journal).unwrap().unwrap();
    assert_eq!(memory.value(TUNED), "none");
    assert_eq!(
        report.problems(),
        ["trial journal, line 3: checksum does not fit"]
    );
}

#[test]
fn files_are_put_back_before_tuned_and_after_a_crash_as_well() {
    let (node, memory) = (node(), Memory::stock());
    let path = "sysctl.d/90-dtnforge-tcp-buffers.conf";
    let rendered = [(path.to_owned(), "net.ipv4.tcp_rmem = 1 2 3\n".to_owned())];
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    trial.place(&whole_plan(), &rendered).unwrap();
    let file = node.host.path(&format!("/run/{path}"));
    assert!(file.exists());
    drop(trial);
    // A crash before the first intent leaves an empty journal and the files.
    let report = recover(&node.host, &memory, &node.journal).unwrap().unwrap();
    assert!(report.verified() && !file.exists());
}

#[test]
fn files_without_a_journal_are_put_back_too() {
    let (node, memory) = (node(), Memory::stock());
    let rendered = [("modules-load.d/dtnforge.conf".to_owned(), "sch_fq\n".to_owned())];
    files::place(&node.host, files::Set::Trial, &rendered).unwrap();
    let report = recover(&node.host, &memory, &node.journal).unwrap().unwrap();
    assert!(report.verified());
    assert!(recover(&node.host, &memory, &node.journal).unwrap().is_none());
}

#[test]
fn a_journal_that_takes_no_line_stops_the_apply_before_the_write() {
    let (node, memory) = (node(), Memory::stock());
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    trial.journal.close_for_test();
    let stopped = trial.apply(&whole_plan()).stopped.unwrap();
    assert!(matches!(stopped.error, StepError::Journal(_)), "{stopped}");
    assert!(memory.log.lock().unwrap().is_empty());
}

#[test]
fn a_second_trial_waits_for_the_recovery_of_the_first() {
    let (node, memory) = (node(), Memory::stock());
    drop(Transaction::begin(&node.host, &memory, &node.journal).unwrap());
    let error = Transaction::begin(&node.host, &memory, &node.journal)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("hint:") && error.contains("recover it first"),
        "{error}"
    );
}

#[test]
fn a_missing_module_is_reported_and_the_refused_write_stops() {
    let (node, memory) = (node(), Memory::stock());
    let mut plan = plan(&[(CONTROL, "cubic", "htcp", Group::Congestion)]);
    plan.modules = vec!["tcp_htcp".into()];
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = trial.apply(&plan);
    assert_eq!(report.modules_failed[0].module, "tcp_htcp");
    assert!(report.modules_failed[0].why.starts_with("cannot run modprobe"));
}

#[test]
fn a_commit_that_died_before_its_journal_was_removed_stays_live() {
    let (node, memory) = (node(), Memory::stock());
    let path = "sysctl.d/90-dtnforge-tcp-buffers.conf";
    let rendered = [(path.to_owned(), "net.ipv4.tcp_rmem = 1 2 3\n".to_owned())];
    let mut trial = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    trial.place(&whole_plan(), &rendered).unwrap();
    trial.apply(&whole_plan());
    drop(trial);
    assert!(settle(&node.host, &node.journal).unwrap());
    assert!(
        !settle(&node.host, &node.journal).unwrap(),
        "nothing is left to settle"
    );
    assert_eq!(memory.value(RING), "8192");
    assert_eq!(files::paths(&node.host, files::Set::Active).unwrap(), [path]);
    assert!(recover(&node.host, &memory, &node.journal).unwrap().is_none());
}
