use super::*;
use crate::cmd::boot::testing::{Node, committed};
use dtnforge_profiles::state::{BootKind, Reached, State};

fn reboots(node: &Node) -> Vec<String> {
    node.log()
        .into_iter()
        .filter(|line| line.contains("reboot"))
        .collect()
}

/// A boot of the tuned entry that is not counted any more, with the commit of an earlier boot in place.
fn blessed() -> Node {
    let node = Node::new();
    node.boot(Boot {
        active: true,
        tries_left: None,
        tries_done: None,
        ..Node::counted()
    });
    store::change(&node.host, |file| file.state = committed("b1")).unwrap();
    node
}

#[test]
fn a_counted_boot_stores_its_reason_says_it_and_reboots() {
    let node = Node::new();
    let error = give_up(&node.host, "basic.target").unwrap_err();
    assert!(
        error.to_string().starts_with("the node does not reboot"),
        "{error}"
    );
    let record = node.record();
    assert_eq!(record.end, Some(BootEnd::Failed));
    assert_eq!(
        record.reason.as_deref(),
        Some("basic.target was not reached (still starting: srv-data.mount)")
    );
    let console = node.console();
    assert!(
        console.contains("this boot is given up: basic.target was not reached (still starting: srv-data.mount); 1 try of the tuned entry is left"),
        "{console}"
    );
    assert_eq!(
        reboots(&node),
        ["--no-block reboot", "reboot --force", "reboot --force --force"]
    );
    assert_eq!(node.file().state.name(), "stock", "the state is not touched");
}

#[test]
fn a_counted_boot_reboots_although_its_reason_cannot_be_stored() {
    let node = Node::new();
    node.break_state();
    give_up(&node.host, "basic.target").unwrap_err();
    assert!(
        node.console()
            .contains("the reason could not be stored: cannot write")
    );
    assert_eq!(reboots(&node).len(), 3);
}

#[test]
fn the_first_reason_is_kept() {
    let node = Node::new();
    give_up(&node.host, "basic.target").unwrap_err();
    give_up(&node.host, "emergency").unwrap_err();
    let reason = node.record().reason.unwrap();
    assert!(reason.starts_with("basic.target was not reached"), "{reason}");
}

#[test]
fn a_blessed_boot_that_fails_is_stock_next_time_and_never_reboots_twice() {
    let node = blessed();
    give_up(&node.host, "basic.target").unwrap_err();
    assert_eq!(reboots(&node).len(), 3);
    let State::Fallback(fallback) = node.file().state else {
        panic!("{:?}", node.file().state)
    };
    assert_eq!(fallback.cause, Cause::Failed);
    assert_eq!(
        fallback.reason,
        "a boot with the committed profile in place failed: basic.target was not reached (still starting: srv-data.mount)"
    );
    assert_eq!(*fallback.former, committed("b1"), "retry returns to it");
    assert!(
        node.file().state.commit().is_none(),
        "the next boot puts nothing in place"
    );
    // The next boot has nothing in place and fails as well.
    node.write("/proc/sys/kernel/random/boot_id", "b8\n");
    node.boot(Boot {
        boot_id: "b8".into(),
        tries_left: None,
        tries_done: None,
        ..Node::counted()
    });
    give_up(&node.host, "basic.target").unwrap();
    assert_eq!(reboots(&node).len(), 3, "it rebooted once more");
    assert!(
        node.console()
            .contains("no reboot: nothing of ours is in place in this boot; the node stays up")
    );
}

#[test]
fn a_blessed_boot_whose_state_cannot_be_stored_stays_up() {
    let node = blessed();
    node.break_state();
    give_up(&node.host, "basic.target").unwrap();
    assert_eq!(reboots(&node), [""; 0]);
    assert!(
        node.console().contains("and that cannot be stored: cannot write"),
        "{}",
        node.console()
    );
}

#[test]
fn the_stock_entry_stays_up_and_opens_the_ways_in() {
    let node = Node::new();
    node.cmdline("ro dtnforge.mode=stock");
    node.write("/came-up", "1000000\n");
    give_up(&node.host, "multi-user.target").unwrap();
    assert_eq!(reboots(&node), [""; 0]);
    assert_eq!(node.record().end, Some(BootEnd::Failed));
    let starts = |unit: &str| {
        node.log()
            .iter()
            .any(|line| line.starts_with("start") && line.ends_with(unit))
    };
    assert!(starts("systemd-networkd.service") && starts("ssh.service") && starts("multi-user.target"));
    let console = node.console();
    assert!(
        console.contains("multi-user.target was not reached (still starting: srv-data.mount); no reboot: there is nothing behind the stock entry to fall back to; the node stays up"),
        "{console}"
    );
}

#[test]
fn the_lowest_target_that_was_not_reached_is_the_reason_whoever_says_it_first() {
    let node = Node::new();
    give_up(&node.host, "multi-user.target").unwrap_err();
    let reason = node.record().reason.unwrap();
    assert!(reason.starts_with("basic.target was not reached"), "{reason}");
}

#[test]
fn an_emergency_shell_that_stays_is_not_taken_away_by_the_rest_of_the_boot() {
    let node = Node::new();
    node.cmdline("ro dtnforge.mode=stock");
    give_up(&node.host, "emergency").unwrap();
    assert!(node.log().iter().any(|line| line.ends_with("ssh.service")));
    assert!(
        !node
            .log()
            .iter()
            .any(|line| line.starts_with("start") && line.ends_with("multi-user.target"))
    );
}

#[test]
fn rescue_that_somebody_asked_for_is_left_alone_entirely() {
    let asked = Node::new();
    asked.cmdline("ro dtnforge.mode=tuned systemd.unit=rescue.target");
    give_up(&asked.host, "rescue").unwrap();
    let later = Node::new();
    later.write("/came-up", "81234567\n");
    give_up(&later.host, "rescue").unwrap();
    for node in [asked, later] {
        let deeds = ["reboot", "start "];
        assert!(
            !node
                .log()
                .iter()
                .any(|line| deeds.iter().any(|deed| line.contains(deed))),
            "{:?}",
            node.log()
        );
        assert_eq!(node.record().end, None);
        assert!(
            node.console().contains("rescue mode was entered"),
            "{}",
            node.console()
        );
    }
}

#[test]
fn kexec_soft_reboot_and_a_picked_entry_stay_up() {
    for kind in [BootKind::Kexec, BootKind::Soft, BootKind::Manual] {
        let node = Node::new();
        node.boot(Boot {
            kind,
            ..Node::counted()
        });
        give_up(&node.host, "basic.target").unwrap();
        assert_eq!(reboots(&node), [""; 0], "{kind:?}");
    }
}

#[test]
fn a_boot_that_was_good_is_not_given_up_later() {
    let node = Node::new();
    node.boot(Boot {
        reached: Reached::Good,
        ..Node::counted()
    });
    give_up(&node.host, "multi-user.target").unwrap();
    assert_eq!(reboots(&node), [""; 0]);
    assert_eq!(node.record().end, None);
}
