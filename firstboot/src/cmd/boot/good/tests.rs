use super::*;
use crate::cmd::boot::testing::{Node, committed};
use dtnforge_profiles::state::BootKind;
use std::cell::RefCell;

/// A clock that only sleeping moves, and that changes the node at a time.
struct Ticks<'a> {
    now: RefCell<Duration>,
    at: Duration,
    change: &'a dyn Fn(),
}

impl Clock for Ticks<'_> {
    fn now(&self) -> Duration {
        *self.now.borrow()
    }
    fn sleep(&self, time: Duration) {
        let later = self.now() + time;
        if self.now() < self.at && later >= self.at {
            (self.change)();
        }
        self.now.replace(later);
    }
}

/// Waits on a node that is changed after `at`, and returns what came of it and when.
fn wait_for(node: &Node, at: Duration, change: &dyn Fn()) -> (Result<String, Bad>, Duration) {
    let clock = Ticks {
        now: RefCell::new(Duration::ZERO),
        at,
        change,
    };
    let boot = boot::this(&node.host);
    let result = wait(&node.host, &boot, &clock);
    (result, clock.now())
}

#[test]
fn a_counted_boot_that_is_good_is_recorded_proves_its_commit_and_is_marked_for_the_blessing() {
    let node = Node::new();
    node.boot(Boot {
        active: true,
        ..Node::counted()
    });
    store::change(&node.host, |file| file.state = committed("b6")).unwrap();
    goodboot::note_end(&node.host, "b7", "committed dtn-vm: active").unwrap();
    assert_eq!(run(&node.host).unwrap(), Exit::Ok);
    assert_eq!(node.record().reached, Reached::Good);
    let commit = node.file().state.commit().unwrap().clone();
    assert_eq!(commit.proved_in_boot.as_deref(), Some("b7"));
    assert!(node.exists(GOOD_BOOT));
    let console = node.console();
    assert!(
        console.contains("this boot is good: ens2 has carrier and a private address, sshd listens, the agent ended: committed dtn-vm: active"),
        "{console}"
    );
}

#[test]
fn stock_and_boots_that_the_boot_loader_never_saw_are_good_and_bless_nothing() {
    let stock = Boot {
        entry: Some("stock".into()),
        tries_left: None,
        tries_done: None,
        ..Node::counted()
    };
    let of_kind = |kind| Boot {
        kind,
        ..Node::counted()
    };
    let others = [
        BootKind::Kexec,
        BootKind::Soft,
        BootKind::Manual,
        BootKind::Unknown,
    ];
    for boot in others.map(of_kind).into_iter().chain([stock]) {
        let node = Node::new();
        node.boot(boot.clone());
        goodboot::note_end(&node.host, "b7", "held").unwrap();
        assert_eq!(run(&node.host).unwrap(), Exit::Ok);
        assert_eq!(node.record().reached, Reached::Good, "{boot:?}");
        assert!(!node.exists(GOOD_BOOT), "{boot:?}");
    }
}

#[test]
fn a_network_that_comes_hours_later_is_waited_for_and_told_once() {
    let node = Node::new();
    node.write("/sys/class/net/ens2/carrier", "0\n");
    node.write("/proc/net/tcp", "sl\n");
    goodboot::note_end(&node.host, "b7", "stock: no carrier").unwrap();
    let later = Duration::from_secs(3 * 3600);
    let listener = "sl\n 0: 00000000:0016 00000000:0000 0A 00000000:00000000\n";
    let (result, took) = wait_for(&node, later, &|| {
        node.write("/sys/class/net/ens2/carrier", "1\n");
        node.write("/proc/net/tcp", listener);
    });
    assert!(result.is_ok());
    assert!(took < later + STEP * 2, "{took:?}");
    assert_eq!(
        node.console()
            .matches("waiting for link: no carrier on ens2")
            .count(),
        1
    );
}

#[test]
fn a_reason_to_wait_is_said_once_and_only_when_it_lasts() {
    let mut words = Words::default();
    let mut said = |why: &str, at: u64| words.are_news(why, Duration::from_secs(at));
    assert!(!said("no carrier", 0) && !said("no carrier", 29));
    assert!(said("no carrier", 31) && !said("no carrier", 3600));
    for at in (3700..3800).step_by(20) {
        assert!(
            !said("no address", at) && !said("no carrier", at + 10),
            "a link that flaps"
        );
    }
    assert!(said("no carrier", 3900));
}

#[test]
fn sshd_has_its_time_from_when_all_else_is_there() {
    let node = Node::new();
    node.write("/sys/class/net/ens2/carrier", "0\n");
    node.write("/proc/net/tcp", "sl\n");
    goodboot::note_end(&node.host, "b7", "stock").unwrap();
    let link = Duration::from_secs(600);
    let (result, took) = wait_for(&node, link, &|| node.write("/sys/class/net/ens2/carrier", "1\n"));
    assert!(matches!(result, Err(Bad::NoWayIn)));
    let expected = link + goodboot::SSHD_LIMIT;
    assert!(took >= expected && took <= expected + STEP * 2, "{took:?}");
}

#[test]
fn a_counted_boot_without_sshd_is_handed_over_to_be_given_up() {
    let node = Node::new();
    hand_over(&node.host).unwrap();
    assert_eq!(node.log(), ["start --no-block dtn-boot-failed@sshd.service"]);
}

#[test]
fn an_agent_that_was_killed_leaves_a_node_that_stays_up_and_is_not_blessed() {
    let node = Node::new();
    assert_eq!(run(&node.host).unwrap(), Exit::Failed);
    let record = node.record();
    assert_eq!(
        (record.reached, record.end),
        (Reached::Early, Some(BootEnd::Failed))
    );
    assert_eq!(
        record.reason.as_deref(),
        Some("the node can be reached, but its agent did not end: dtn-firstboot.service is failed (timeout)")
    );
    assert!(!node.exists(GOOD_BOOT));
    assert!(
        node.console()
            .contains("this boot is not good: the node can be reached")
    );
    assert!(
        !node.log().iter().any(|line| line.contains("reboot")),
        "{:?}",
        node.log()
    );
    // An admin had the agent run again, and asked once more.
    goodboot::note_end(&node.host, "b7", "committed dtn-vm").unwrap();
    assert_eq!(run(&node.host).unwrap(), Exit::Ok);
    let record = node.record();
    assert_eq!(
        (record.reached, record.end, record.reason),
        (Reached::Good, None, None)
    );
}

#[test]
fn a_good_boot_is_good_although_its_state_cannot_be_written() {
    let node = Node::new();
    goodboot::note_end(&node.host, "b7", "stock: role not set").unwrap();
    node.break_state();
    assert_eq!(run(&node.host).unwrap(), Exit::Ok);
    assert!(node.exists(GOOD_BOOT));
    assert!(
        node.console()
            .contains("a good boot could not be recorded: cannot write"),
        "{}",
        node.console()
    );
}

#[test]
fn a_mark_that_cannot_be_made_is_an_error_that_says_so() {
    let node = Node::new();
    goodboot::note_end(&node.host, "b7", "stock").unwrap();
    std::fs::create_dir_all(node.host.path(GOOD_BOOT)).unwrap();
    let error = format!("{:#}", run(&node.host).unwrap_err());
    assert!(
        error
            .starts_with("this boot is good, and cannot be marked as such for the boot loader: cannot write"),
        "{error}"
    );
}
