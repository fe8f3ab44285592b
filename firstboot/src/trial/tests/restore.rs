//! Saved values put back, on a host in memory.

use super::*;
use dtnforge_profiles::undo::Undo;

fn goal(name: &str, value: &str) -> Goal {
    Goal {
        knob: knob(name),
        back: Undo::Write(value.into()),
    }
}

fn never() -> bool {
    false
}

/// What is live: buffers and ring of a trial, on the rest of stock.
fn tuned_memory() -> Memory {
    let memory = Memory::stock();
    memory.set(BUFFERS, "4096 131072 67108864");
    memory.set(RING, "8192");
    memory
}

fn wanted() -> [Goal; 2] {
    [goal(RING, "512"), goal(BUFFERS, "4096 131072 6291456")]
}

#[test]
fn saved_values_are_written_and_read_back() {
    let (node, memory) = (node(), tuned_memory());
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = transaction.restore(&wanted(), &[goal(SWAP, "60")], OnFailure::GoOn, &never);
    assert!(
        report.failed.is_empty() && report.taken_back.is_none(),
        "{report:?}"
    );
    assert_eq!(
        names(report.restored.into_iter().map(|it| it.knob)),
        [RING, BUFFERS]
    );
    assert_eq!(memory.all(), Memory::stock().all());
    transaction.finish().unwrap();
    assert!(!node.journal.exists());
}

#[test]
fn what_tuned_changes_when_it_starts_is_put_back_once_more() {
    let (node, memory) = (node(), tuned_memory());
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let kept = [goal(SWAP, "60")];
    let report = transaction.restore(&[goal(TUNED, "balanced")], &kept, OnFailure::GoOn, &never);
    assert!(report.failed.is_empty(), "{report:?}");
    assert_eq!(
        (memory.value(TUNED), memory.value(SWAP)),
        ("balanced".into(), "60".into())
    );
    assert_eq!(
        names(report.restored.into_iter().map(|it| it.knob)),
        [TUNED, SWAP]
    );
}

#[test]
fn a_knob_that_is_refused_is_named_and_the_others_get_their_values() {
    let memory = Memory {
        refusing: vec![knob(RING)],
        ..tuned_memory()
    };
    let node = node();
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = transaction.restore(&wanted(), &[], OnFailure::GoOn, &never);
    assert_eq!(names(report.restored.into_iter().map(|it| it.knob)), [BUFFERS]);
    let [failure] = report.failed.try_into().unwrap();
    assert_eq!(
        failure.error.to_string(),
        format!("{RING}: the kernel refused \"512\": EINVAL: Invalid argument")
    );
    assert_eq!(failure.left_as, None, "it is as it was");
    assert_eq!(memory.value(RING), "8192");
}

#[test]
fn all_or_nothing_takes_everything_back_at_the_first_that_does_not_keep_its_value() {
    let memory = Memory {
        deaf: vec![knob(BUFFERS)],
        ..tuned_memory()
    };
    let (node, before) = (node(), memory.all());
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = transaction.restore(&wanted(), &[], OnFailure::TakeAllBack, &never);
    assert!(report.taken_back.unwrap().verified());
    assert_eq!(
        report.failed[0].error.to_string(),
        format!("{BUFFERS}: wrote \"4096 131072 6291456\", and it reads \"4096 131072 67108864\"")
    );
    assert_eq!(memory.all(), before);
}

#[test]
fn somebody_who_stops_it_gets_the_host_as_it_was() {
    let (node, memory) = (node(), tuned_memory());
    let before = memory.all();
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 1
    };
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = transaction.restore(&wanted(), &[], OnFailure::GoOn, &stop);
    assert!(report.stopped && report.taken_back.unwrap().verified());
    assert_eq!(memory.all(), before);
}

#[test]
fn a_restore_that_died_is_taken_back_from_its_journal() {
    let (node, memory) = (node(), tuned_memory());
    let before = memory.all();
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    transaction.restore(&wanted(), &[], OnFailure::GoOn, &never);
    drop(transaction);
    let report = recover(&node.host, &memory, &node.journal).unwrap().unwrap();
    assert!(report.verified(), "{report:?}");
    assert_eq!(memory.all(), before);
    assert!(!node.journal.exists());
}

#[test]
fn a_device_that_is_gone_fails_alone() {
    let (node, memory) = (node(), tuned_memory());
    memory.values.lock().unwrap().remove(&knob(RING));
    let mut transaction = Transaction::begin(&node.host, &memory, &node.journal).unwrap();
    let report = transaction.restore(&wanted(), &[], OnFailure::GoOn, &never);
    assert_eq!(
        report.failed[0].error.to_string(),
        format!("{RING}: the device or file is gone")
    );
    assert_eq!(report.restored.len(), 1);
}
