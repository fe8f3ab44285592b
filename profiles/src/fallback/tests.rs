//! What records and counters lead to.

use super::*;
use crate::state::BootKind;

const EXHAUSTED: Counter = Counter { left: 0, done: 3 };

fn boot(entry: &str, kind: BootKind, done: Option<u32>) -> Boot {
    Boot {
        entry: Some(entry.into()),
        tries_left: done.map(|done| 3 - done),
        tries_done: done,
        active: true,
        ..Boot::begun(&format!("b-{entry}-{done:?}"), kind, 0)
    }
}

fn tuned(done: u32) -> Boot {
    boot("dtnforge", BootKind::Firmware, Some(done))
}

fn stock() -> Boot {
    boot("stock", BootKind::Firmware, None)
}

fn failed(done: u32, reason: &str) -> Boot {
    Boot {
        end: Some(BootEnd::Failed),
        reason: Some(reason.into()),
        ..tuned(done)
    }
}

fn good(done: u32) -> Boot {
    Boot {
        reached: Reached::Good,
        ..tuned(done)
    }
}

fn concluded(boots: &[Boot]) -> (Cause, String) {
    let Conclusion { cause, reason } = conclude(boots, EXHAUSTED);
    (cause, reason)
}

#[test]
fn tries_without_a_record_died_before_userspace() {
    let (cause, reason) = concluded(&[stock()]);
    assert_eq!(cause, Cause::BeforeUserspace);
    assert_eq!(
        reason,
        "3 tuned boots died before userspace (boot loader, kernel or initrd, or a power cut in one of them)"
    );
}

#[test]
fn records_that_just_end_are_boots_cut_short() {
    let (cause, reason) = concluded(&[tuned(1), tuned(2), tuned(3), stock()]);
    assert_eq!(cause, Cause::CutShort);
    assert_eq!(
        reason,
        "3 tuned boots cut short after the early unit (power cut, or a hang that nothing recorded)"
    );
    let agent = Boot {
        reached: Reached::Agent,
        ..tuned(3)
    };
    let (cause, reason) = concluded(&[tuned(1), tuned(2), agent, stock()]);
    assert_eq!(cause, Cause::CutShort);
    assert_eq!(
        reason,
        "3 tuned boots cut short (power cut, or a hang that nothing recorded)"
    );
}

#[test]
fn a_recorded_failure_is_the_reason() {
    let boots: Vec<Boot> = (1..=3).map(|done| failed(done, "sshd does not listen")).collect();
    assert_eq!(
        concluded(&boots),
        (Cause::Failed, "3 tuned boots failed: sshd does not listen".into())
    );
    let mut boots = boots;
    boots[1].reason = Some("basic.target timed out".into());
    let (cause, reason) = concluded(&boots);
    assert_eq!(cause, Cause::Failed);
    assert!(reason.contains("; 2: basic.target timed out; 3: "), "{reason}");
}

#[test]
fn what_differs_by_chance_is_said_of_the_last_boot_alone() {
    let units = |units: &str| format!("basic.target was not reached (still starting: {units})");
    let (first, last) = (units("hang.service, ssh.service"), units("hang.service"));
    let boots = [failed(1, &first), failed(2, &first), failed(3, &last), stock()];
    assert_eq!(
        concluded(&boots).1,
        "3 tuned boots failed: basic.target was not reached (in the last: still starting: hang.service)"
    );
    let without = "basic.target was not reached";
    let boots = [failed(1, &first), failed(2, &last), failed(3, without), stock()];
    assert_eq!(
        concluded(&boots).1,
        "3 tuned boots failed: basic.target was not reached"
    );
    let other = [
        failed(1, &first),
        failed(2, &last),
        failed(3, "sshd does not listen"),
        stock(),
    ];
    assert!(concluded(&other).1.contains("; 3: sshd does not listen"));
}

#[test]
fn the_watchdog_is_named_where_the_boot_after_saw_its_mark() {
    let woken = |done| Boot {
        after_watchdog: true,
        ..tuned(done)
    };
    let last = Boot {
        after_watchdog: true,
        ..stock()
    };
    let (cause, reason) = concluded(&[tuned(1), woken(2), woken(3), last]);
    assert_eq!(cause, Cause::Watchdog);
    assert_eq!(reason, "3 tuned boots reset by the watchdog after the early unit");
}

#[test]
fn a_mixture_names_each_try() {
    let (cause, reason) = concluded(&[tuned(1), failed(3, "agent did not end"), stock()]);
    assert_eq!(cause, Cause::Mixed);
    assert!(
        reason.starts_with("3 tuned boots ended differently: 1: cut short"),
        "{reason}"
    );
    assert!(reason.contains("; 2: died before userspace"), "{reason}");
    assert!(reason.contains("; 3: failed: agent did not end"), "{reason}");
}

#[test]
fn a_good_boot_is_no_try_of_the_counting_after_it() {
    let (cause, _) = concluded(&[good(1), stock()]);
    assert_eq!(cause, Cause::BeforeUserspace);
    let (cause, _) = concluded(&[tuned(1), good(2), tuned(1), stock()]);
    assert_eq!(
        cause,
        Cause::CutShort,
        "what came before the good boot is of another counting"
    );
}

#[test]
fn a_good_boot_that_the_boot_loader_was_not_told_of_is_a_try_like_others() {
    let (cause, reason) = concluded(&[tuned(1), good(2), tuned(3), stock()]);
    assert_eq!(cause, Cause::CutShort, "{reason}");
    let woken = |boot| Boot {
        after_watchdog: true,
        ..boot
    };
    let boots = [tuned(1), woken(good(2)), woken(tuned(3)), woken(stock())];
    assert_eq!(
        concluded(&boots),
        (Cause::Watchdog, "3 tuned boots reset by the watchdog".to_owned())
    );
    let Conclusion { reason, .. } = conclude(&[good(1), stock()], Counter { left: 0, done: 1 });
    assert!(reason.contains("died before userspace"), "{reason}");
}

#[test]
fn a_power_cut_in_the_initrd_among_others_is_one_of_the_power_cuts() {
    let (cause, reason) = concluded(&[tuned(1), tuned(3), stock()]);
    assert_eq!(cause, Cause::CutShort);
    assert!(
        reason.contains("; 2: died before userspace (boot loader, kernel"),
        "{reason}"
    );
}

#[test]
fn a_try_that_was_given_back_does_not_count_twice() {
    let given_back = Boot {
        end: Some(BootEnd::Orderly),
        ..tuned(1)
    };
    let (cause, reason) = concluded(&[given_back, tuned(1), tuned(2), tuned(3), stock()]);
    assert_eq!(
        (cause, reason.starts_with("3 tuned boots")),
        (Cause::CutShort, true)
    );
}

#[test]
fn records_of_an_older_counting_do_not_fill_the_gaps_of_a_newer_one() {
    let (cause, reason) = concluded(&[tuned(1), tuned(2), stock(), tuned(1), stock()]);
    assert_eq!(cause, Cause::CutShort);
    assert!(reason.contains("2: died before userspace"), "{reason}");
}

#[test]
fn a_good_boot_whose_counter_stayed_is_told_as_what_failed() {
    let unblessed = |done| Boot {
        reached: Reached::Good,
        ..failed(done, "the boot was good, but its counter could not be taken off")
    };
    let (cause, reason) = concluded(&[unblessed(1), unblessed(2), unblessed(3), stock()]);
    assert_eq!(cause, Cause::Failed);
    assert!(reason.contains("its counter could not be taken off"), "{reason}");
}

#[test]
fn boots_that_do_not_count_are_left_out() {
    let kexec = boot("dtnforge", BootKind::Kexec, Some(1));
    assert_eq!(concluded(&[kexec, stock()]).0, Cause::BeforeUserspace);
}

#[test]
fn a_counter_without_any_use_is_told_as_such() {
    let conclusion = conclude(&[stock()], Counter { left: 0, done: 0 });
    assert_eq!(conclusion.cause, Cause::Missing);
    assert!(
        conclusion.reason.contains("its counter is +0"),
        "{}",
        conclusion.reason
    );
}

fn committed_file(boots: &[Boot]) -> StateFile {
    StateFile {
        boots: boots.to_vec(),
        ..StateFile::stock("test")
    }
}

#[test]
fn a_stock_boot_with_an_exhausted_tuned_entry_is_a_fallback_and_one_with_tries_left_was_picked() {
    let file = committed_file(&[tuned(1), tuned(2), tuned(3), stock()]);
    let of = |tuned: TunedEntry| of_stock_boot(&file, &stock(), &tuned);
    let StockBoot::Fallback(conclusion) = of(TunedEntry::There(Some(EXHAUSTED))) else {
        panic!("expected a fallback")
    };
    assert_eq!(conclusion.cause, Cause::CutShort);
    assert_eq!(
        of(TunedEntry::There(Some(Counter::ARMED))),
        StockBoot::PickedByHand
    );
    assert_eq!(of(TunedEntry::There(None)), StockBoot::PickedByHand);
    let direct = Boot {
        kind: BootKind::Direct,
        ..stock()
    };
    let of_direct = |tuned: TunedEntry| of_stock_boot(&file, &direct, &tuned);
    let armed = Some(Counter::ARMED);
    assert_eq!(
        of_direct(TunedEntry::There(armed)),
        StockBoot::PastTheLoader(armed)
    );
    let exhausted = of_direct(TunedEntry::There(Some(EXHAUSTED)));
    assert!(matches!(exhausted, StockBoot::Fallback(_)), "{exhausted:?}");
    assert_eq!(of(TunedEntry::Unknown), StockBoot::NothingNew);
    let StockBoot::Fallback(conclusion) = of(TunedEntry::Missing("no such file".into())) else {
        panic!("expected a fallback")
    };
    assert_eq!(
        conclusion.reason,
        "the tuned entry cannot be booted: no such file"
    );
}

#[test]
fn later_boots_of_the_stock_entry_do_not_conclude_again_but_the_same_boot_may() {
    let mut file = committed_file(&[stock()]);
    let exhausted = TunedEntry::There(Some(EXHAUSTED));
    let first = stock();
    let StockBoot::Fallback(conclusion) = of_stock_boot(&file, &first, &exhausted) else {
        panic!("expected a fallback")
    };
    file.fall_back(conclusion, &first.boot_id, 1);
    assert!(matches!(
        of_stock_boot(&file, &first, &exhausted),
        StockBoot::Fallback(_)
    ));
    let later = Boot {
        boot_id: "later".into(),
        ..stock()
    };
    assert_eq!(of_stock_boot(&file, &later, &exhausted), StockBoot::NothingNew);
    file.state = State::Held {
        previous: Box::new(file.state.clone()),
    };
    assert_eq!(of_stock_boot(&file, &later, &exhausted), StockBoot::NothingNew);
}

#[test]
fn only_a_boot_of_the_stock_entry_through_the_firmware_can_be_a_fallback() {
    let file = committed_file(&[]);
    let exhausted = TunedEntry::There(Some(EXHAUSTED));
    for boot in [
        tuned(1),
        boot("stock", BootKind::Kexec, None),
        boot("stock", BootKind::Soft, None),
    ] {
        assert_eq!(
            of_stock_boot(&file, &boot, &exhausted),
            StockBoot::NothingNew,
            "{boot:?}"
        );
    }
}

#[test]
fn the_policy_decides_who_may_try_again_and_only_once() {
    let fallback = |cause| Fallback {
        cause,
        reason: String::new(),
        boot_id: String::new(),
        at: 0,
        former: Box::new(State::Stock { why: String::new() }),
    };
    let may = |cause, policy, retried| fallback(cause).may_retry(policy, retried);
    assert!(may(Cause::CutShort, RetryAfterFallback::CutShort, 0));
    assert!(!may(Cause::CutShort, RetryAfterFallback::CutShort, 1));
    assert!(!may(Cause::Failed, RetryAfterFallback::CutShort, 0));
    assert!(may(Cause::Failed, RetryAfterFallback::Once, 0));
    assert!(!may(Cause::Missing, RetryAfterFallback::Once, 0));
    assert!(!may(Cause::CutShort, RetryAfterFallback::Never, 0));
}
