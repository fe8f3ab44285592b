//! The state file: read, cut, older, and what follows from boots.

use super::*;
use crate::fallback::{Cause, Conclusion};

#[test]
fn a_state_cut_at_any_byte_is_an_error_and_never_a_panic() {
    let text = StateFile::stock("role not set").to_text().unwrap();
    for cut in 0..text.trim_end().len() {
        assert!(parse(&text.as_bytes()[..cut]).is_err(), "cut at {cut}");
    }
    assert_eq!(parse(text.as_bytes()).unwrap(), StateFile::stock("role not set"));
}

#[test]
fn a_newer_schema_is_named() {
    assert_eq!(
        parse(br#"{"schema": 7, "new": true}"#),
        Err(BadState::Newer { found: 7 })
    );
}

#[test]
fn the_history_is_bounded() {
    let mut file = StateFile::default();
    for number in 0..HISTORY_LENGTH as i64 + 5 {
        let entry = HistoryEntry {
            at: number,
            boot_id: "b".into(),
            entered: "stock".into(),
            profile: None,
            reason: "test".into(),
        };
        file.remember(entry);
    }
    assert_eq!(file.history.len(), HISTORY_LENGTH);
    assert_eq!(file.history[0].at, 5);
}

fn boot(boot_id: &str, kind: BootKind, done: Option<u32>) -> Boot {
    Boot {
        entry: Some("dtnforge".into()),
        tries_left: done.map(|done| 3 - done),
        tries_done: done,
        active: true,
        ..Boot::begun(boot_id, kind, 0)
    }
}

fn commit(boot_id: &str) -> Box<Commit> {
    let text = include_str!("committed.json").replace("BOOT", boot_id);
    match parse(text.as_bytes()).unwrap().state {
        State::Committed(commit) => commit,
        other => panic!("{other:?}"),
    }
}

fn committed() -> StateFile {
    StateFile {
        state: State::Committed(commit("b1")),
        ..StateFile::default()
    }
}

#[test]
fn a_file_written_before_boots_were_judged_is_read_and_nothing_in_it_is_proved() {
    let file = parse(include_bytes!("committed.json")).unwrap();
    assert_eq!(file.state.commit().unwrap().proved_in_boot, None);
    assert_eq!(file.counting, Counting::default());
    let boot = &file.boots[0];
    assert_eq!(
        (boot.tries_left, boot.reached, boot.end),
        (Some(2), Reached::Early, None)
    );
}

#[test]
fn a_counted_boot_that_is_good_proves_the_commit_that_was_active_in_it() {
    let mut file = committed();
    file.counting.retried = 1;
    file.judged_good(&boot("b2", BootKind::Firmware, Some(1)));
    assert_eq!(file.state.commit().unwrap().proved_in_boot.as_deref(), Some("b2"));
    assert_eq!(file.counting.retried, 0);
    assert_eq!(file.boot("b2").unwrap().reached, Reached::Good);
    file.judged_good(&boot("b3", BootKind::Firmware, Some(1)));
    assert_eq!(file.state.commit().unwrap().proved_in_boot.as_deref(), Some("b2"));
}

#[test]
fn a_good_boot_proves_nothing_that_was_not_active_or_not_counted_in_it() {
    let inactive = Boot {
        active: false,
        ..boot("b2", BootKind::Firmware, Some(1))
    };
    for boot in [
        inactive,
        boot("b2", BootKind::Kexec, Some(1)),
        boot("b2", BootKind::Firmware, None),
        boot("b1", BootKind::Firmware, Some(1)),
    ] {
        let mut file = committed();
        file.judged_good(&boot);
        assert_eq!(file.state.commit().unwrap().proved_in_boot, None, "{boot:?}");
    }
}

#[test]
fn an_unproved_commit_is_put_in_place_only_where_the_boot_loader_counts() {
    let unproved = commit("b1");
    let counted = boot("b2", BootKind::Firmware, Some(1));
    let uncounted = boot("b2", BootKind::Firmware, None);
    assert_eq!(unproved.barrier(&counted, true), None);
    let why = unproved.barrier(&uncounted, true).unwrap();
    assert!(why.contains("no counted boot has proved it yet"), "{why}");
    assert_eq!(
        unproved.barrier(&uncounted, false),
        None,
        "a host that is not ours"
    );
    let no_loader = Boot {
        entry: None,
        ..uncounted.clone()
    };
    assert_eq!(
        unproved.barrier(&no_loader, true),
        None,
        "no boot loader that counts"
    );
    let soft = boot("b2", BootKind::Soft, Some(1));
    assert!(unproved.barrier(&soft, true).unwrap().contains("soft"));

    let mut proved = commit("b1");
    proved.proved_in_boot = Some("b2".into());
    assert_eq!(proved.barrier(&uncounted, true), None);
    let stuck = Boot {
        stuck: true,
        reason: Some("could not count".into()),
        ..uncounted
    };
    assert_eq!(proved.barrier(&stuck, true).as_deref(), Some("could not count"));
}

fn conclusion(reason: &str) -> Conclusion {
    Conclusion {
        cause: Cause::CutShort,
        reason: reason.into(),
    }
}

#[test]
fn a_fallback_keeps_the_state_before_and_activates_nothing() {
    let mut file = committed();
    file.fall_back(conclusion("first look"), "b5", 9);
    assert_eq!((file.state.name(), file.state.commit()), ("fallback", None));
    file.fall_back(conclusion("second look"), "b5", 9);
    let State::Fallback(fallback) = &file.state else {
        panic!("{:?}", file.state)
    };
    assert_eq!(
        (fallback.reason.as_str(), fallback.former.name()),
        ("second look", "committed")
    );
    let text = file.to_text().unwrap();
    assert_eq!(parse(text.as_bytes()).unwrap(), file);
}

#[test]
fn a_fallback_ends_a_dead_attempt_and_leaves_a_hold() {
    let mut file = StateFile {
        state: State::Trial {
            boot_id: "b2".into(),
            layer: Digest::of(b"layer"),
            profile: "dtn-100g-nvme".into(),
            plan: Digest::of(b"plan"),
            previous: Some(commit("b1")),
            former: None,
        },
        ..StateFile::default()
    };
    file.fall_back(conclusion("cut"), "b5", 9);
    let State::Fallback(fallback) = &file.state else {
        panic!("{:?}", file.state)
    };
    assert_eq!(fallback.former.name(), "committed");

    file.state = State::Held {
        previous: Box::new(State::Committed(commit("b1"))),
    };
    file.fall_back(conclusion("cut"), "b5", 9);
    let State::Held { previous } = &file.state else {
        panic!("{:?}", file.state)
    };
    assert_eq!(previous.name(), "fallback");
}

#[test]
fn a_dead_trial_of_an_admin_leads_back_to_the_state_before_it() {
    let former = State::Stock {
        why: "role not set".into(),
    };
    let mut state = State::Trial {
        boot_id: "b2".into(),
        layer: Digest::of(b"layer"),
        profile: "dtn-100g-nvme".into(),
        plan: Digest::of(b"plan"),
        previous: None,
        former: Some(Box::new(former.clone())),
    };
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
    let why = state.conclude_dead_attempt().unwrap();
    assert_eq!(
        why,
        "the trial that an admin began in boot b2 was not committed, and is over"
    );
    assert_eq!(state, former);
}

#[test]
fn the_boots_since_the_arming_begin_after_the_boot_that_armed() {
    let mut file = StateFile::default();
    for id in ["b1", "b2", "b3"] {
        file.add_boot(boot(id, BootKind::Firmware, Some(1)));
    }
    let ids = |file: &StateFile| -> Vec<String> {
        file.boots_since_arming()
            .iter()
            .map(|boot| boot.boot_id.clone())
            .collect()
    };
    assert_eq!(ids(&file), ["b1", "b2", "b3"]);
    file.counting.armed = Some(Armed {
        boot_id: "b1".into(),
        at: 0,
    });
    assert_eq!(ids(&file), ["b2", "b3"]);
}

#[test]
fn a_soft_reboot_has_a_record_of_its_own_under_the_same_id() {
    let mut file = StateFile::default();
    file.add_boot(boot("b1", BootKind::Firmware, Some(1)));
    let soft = Boot {
        at: 5,
        ..boot("b1", BootKind::Soft, None)
    };
    file.add_boot(soft.clone());
    file.add_boot(soft.clone());
    file.boot_mut(&soft).reached = Reached::Agent;
    assert_eq!(file.boots.len(), 2);
    assert_eq!(file.boots[0].reached, Reached::Early);
    assert_eq!(file.boot("b1").unwrap().kind, BootKind::Soft);
    assert_eq!(
        file.boot_mut(&boot("b1", BootKind::Firmware, None)).kind,
        BootKind::Firmware
    );
}

#[test]
fn boots_are_bounded() {
    let mut file = StateFile::default();
    for number in 0..HISTORY_LENGTH + 3 {
        file.add_boot(boot(&number.to_string(), BootKind::Firmware, None));
    }
    assert_eq!(
        (file.boots.len(), file.boots[0].boot_id.as_str()),
        (HISTORY_LENGTH, "3")
    );
}
