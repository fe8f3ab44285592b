//! The counter on a partition that is a directory.

use super::*;
use crate::esp::tests::{host, listed};
use dtnforge_profiles::bootkind::Seen;
use dtnforge_profiles::state;
use std::fs;

fn counted() -> Boot {
    let seen = Seen {
        boot_id: "b2".into(),
        selected: Some("dtnforge+3.efi".into()),
        counted: Some(r"\EFI\Linux\dtnforge+2-1.efi".into()),
        from_disk: true,
        ..Seen::default()
    };
    seen.record(5)
}

fn committed() -> StateFile {
    let text = include_bytes!("../../../../profiles/src/state/committed.json");
    state::parse(text).unwrap()
}

/// Arms and notes what came of it, as the callers do.
fn arm_and_note(host: &Host, file: &mut StateFile, at: i64) -> Arming {
    let arming = arm_for_commit(host, file, &counted());
    arming.note(file, &counted(), at);
    arming
}

#[test]
fn a_commit_that_waits_for_its_proof_arms_the_counter_once() {
    let (_dir, host) = host(&["dtnforge.efi", "stock.efi"]);
    let mut file = committed();
    assert_eq!(arm_and_note(&host, &mut file, 9), Arming::Armed);
    assert_eq!(listed(&host), ["dtnforge+3.efi", "stock.efi"]);
    assert_eq!(file.counting.armed.as_ref().unwrap().boot_id, "b2");
    let again = arm_and_note(&host, &mut file, 10);
    assert_eq!(again, Arming::Counted(EntryName::parse("dtnforge+3.efi")));
    assert_eq!(file.counting.armed.as_ref().unwrap().at, 9);
}

#[test]
fn a_proved_commit_or_none_leaves_the_counter_alone() {
    let (_dir, host) = host(&["dtnforge.efi"]);
    let mut proved = committed();
    if let Some(commit) = proved.state.commit_mut() {
        commit.proved_in_boot = Some("b1".into());
    }
    for mut file in [proved, StateFile::default()] {
        assert_eq!(arm_and_note(&host, &mut file, 9), Arming::NotNeeded);
    }
    assert_eq!(listed(&host), ["dtnforge.efi"]);
}

#[test]
fn a_counter_that_cannot_be_armed_is_a_reason_that_is_kept_until_it_can() {
    let (_dir, host) = host(&["stock.efi"]);
    let mut file = committed();
    let arming = arm_and_note(&host, &mut file, 9);
    assert!(!arming.is_fine());
    let why = file.counting.failure.clone().unwrap();
    assert!(why.contains("has no dtnforge*.efi"), "{why}");
    assert_eq!(file.counting.armed, None);
    fs::write(host.path("/boot/EFI/Linux/dtnforge.efi"), "").unwrap();
    assert_eq!(arm_and_note(&host, &mut file, 10), Arming::Armed);
    assert_eq!(file.counting.failure, None);
}

#[test]
fn a_counter_that_the_boot_loader_left_alone_is_named() {
    let (_dir, host) = host(&["dtnforge+3.efi"]);
    let uncounted = Boot {
        tries_left: None,
        tries_done: None,
        ..counted()
    };
    let mut file = committed();
    let arming = arm_for_commit(&host, &file, &uncounted);
    assert_eq!(arming, Arming::Stuck(EntryName::parse("dtnforge+3.efi")));
    arming.note(&mut file, &uncounted, 9);
    assert!(file.boot("b2").unwrap().stuck);
    assert_eq!(file.counting.failure.as_deref(), Some(STUCK));
    // Armed in this very boot: then it is right that nobody counted it.
    note_armed(&mut file, &uncounted, 9);
    let arming = arm_for_commit(&host, &file, &uncounted);
    assert_eq!(arming, Arming::Counted(EntryName::parse("dtnforge+3.efi")));
}

#[test]
fn a_good_boot_that_was_not_blessed_says_so() {
    let (_dir, host) = host(&["dtnforge+2-1.efi"]);
    let mut file = committed();
    file.judged_good(&counted());
    let arming = arm_and_note(&host, &mut file, 9);
    assert_eq!(arming, Arming::NotBlessed(EntryName::parse("dtnforge+2-1.efi")));
    let record = file.boot("b2").unwrap();
    assert_eq!(record.end, Some(BootEnd::Failed));
    assert!(record.reason.as_ref().unwrap().contains("dtnforge+2-1.efi"));
}

#[test]
fn a_try_is_given_back_once_and_can_be_taken_again() {
    let (_dir, host) = host(&["dtnforge+2-1.efi"]);
    let boot = counted();
    assert_eq!(take_again(&host, &boot).unwrap(), None, "it was not given back");
    let entry = give_back(&host, &boot).unwrap().unwrap();
    assert_eq!(entry.to_string(), "dtnforge+3.efi");
    assert_eq!(give_back(&host, &boot).unwrap(), None);
    take_again(&host, &boot).unwrap().unwrap();
    assert_eq!(listed(&host), ["dtnforge+2-1.efi"]);
}

#[test]
fn a_blessed_entry_and_a_boot_that_does_not_count_give_nothing_back() {
    let (_dir, host) = host(&["dtnforge.efi"]);
    assert_eq!(give_back(&host, &counted()).unwrap(), None);
    fs::rename(
        host.path("/boot/EFI/Linux/dtnforge.efi"),
        host.path("/boot/EFI/Linux/dtnforge+2-1.efi"),
    )
    .unwrap();
    let kexec = Boot {
        kind: state::BootKind::Kexec,
        ..counted()
    };
    assert_eq!(give_back(&host, &kexec).unwrap(), None);
    assert_eq!(listed(&host), ["dtnforge+2-1.efi"]);
}

#[test]
fn arming_gives_an_exhausted_entry_all_its_tries() {
    let (_dir, host) = host(&["dtnforge+0-3.efi"]);
    assert_eq!(arm(&host).unwrap().to_string(), "dtnforge+3.efi");
    assert_eq!(listed(&host), ["dtnforge+3.efi"]);
}
