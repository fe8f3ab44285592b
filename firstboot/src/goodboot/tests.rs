//! What is done about a boot that failed: the decision, and the commands on a host in a directory.

use super::*;
use crate::boot::{Mode, Words};
use crate::detect::Clock;
use crate::host::Host;
use dtnforge_profiles::state::{Boot, BootKind, Reached};
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// A `systemctl` that logs what it was told, fails where the file `broken` names the first word, and knows one failed
/// unit and one that is still starting.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
echo "$*" >>log
if [ -e broken ]; then echo "Failed to connect to bus" >&2; exit 1; fi
case "$1" in
list-units) echo "srv-data.mount loaded failed failed /srv/data" ;;
list-jobs) echo "94 ssh.service start running"; echo "95 dtn-boot-failed@x.service start running" ;;
esac
"#;

struct Node {
    dir: tempfile::TempDir,
    host: Host,
}

impl Node {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let script = dir.path().join("bin/systemctl");
        fs::write(&script, SYSTEMCTL).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().join("bin").display());
        let host = Host::at(dir.path(), Some(Path::new(&path)));
        Self { dir, host }
    }

    fn broken(self) -> Self {
        fs::write(self.dir.path().join("broken"), "").unwrap();
        self
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// A clock that only sleeping moves.
#[derive(Default)]
struct Ticks(RefCell<Duration>);

impl Clock for Ticks {
    fn now(&self) -> Duration {
        *self.0.borrow()
    }
    fn sleep(&self, time: Duration) {
        self.0.replace_with(|now| *now + time);
    }
}

fn boot(kind: BootKind, tries: Option<(u32, u32)>) -> Boot {
    Boot {
        entry: Some("dtnforge".into()),
        tries_left: tries.map(|(left, _)| left),
        tries_done: tries.map(|(_, done)| done),
        active: true,
        ..Boot::begun("b1", kind, 0)
    }
}

const TUNED: Words = Words {
    mode: Mode::Tuned,
    hold: false,
};

fn situation(boot: &Boot) -> Situation<'_> {
    Situation {
        what: "basic.target",
        words: TUNED,
        rescue_word: None,
        boot,
        commit_active: true,
        had_come_up: false,
    }
}

#[test]
fn a_counted_boot_of_the_tuned_entry_reboots_and_says_how_many_tries_are_left() {
    for (tries, words) in [
        ((2, 1), "2 tries of the tuned entry are left"),
        ((1, 2), "1 try of the tuned entry is left"),
        ((0, 3), "that was the last try of the tuned entry, stock is next"),
    ] {
        let boot = boot(BootKind::Firmware, Some(tries));
        assert_eq!(decide(&situation(&boot)), Deed::Reboot(words.to_owned()));
    }
}

#[test]
fn a_commit_that_the_agent_acquitted_is_not_given_up_for_a_missing_sshd() {
    for tries in [None, Some((1, 2))] {
        let boot = Boot {
            acquitted: true,
            ..boot(BootKind::Firmware, tries)
        };
        let of = |what| {
            decide(&Situation {
                what,
                ..situation(&boot)
            })
        };
        let Deed::Stay(why) = of("sshd") else {
            panic!("{:?}", of("sshd"))
        };
        assert_eq!(
            why,
            "tuning is not the cause: the agent saw the same without it in this boot"
        );
        assert!(!matches!(of("basic.target"), Deed::Stay(_)), "another failure");
    }
}

#[test]
fn a_blessed_boot_gives_its_commit_up_and_stays_where_there_is_none() {
    for kind in [BootKind::Firmware, BootKind::Unknown] {
        let boot = boot(kind, None);
        assert!(
            matches!(decide(&situation(&boot)), Deed::GiveUpCommit(_)),
            "{kind:?}"
        );
        let without = Situation {
            commit_active: false,
            ..situation(&boot)
        };
        assert_eq!(
            decide(&without),
            Deed::Stay("nothing of ours is in place in this boot".into())
        );
    }
}

#[test]
fn a_boot_that_somebody_made_by_hand_is_never_rebooted() {
    for kind in [BootKind::Kexec, BootKind::Soft, BootKind::Manual] {
        let boot = boot(kind, Some((0, 4)));
        let expected = format!("this boot is not counted (kind of boot: {})", kind.name());
        assert_eq!(decide(&situation(&boot)), Deed::Stay(expected));
    }
}

#[test]
fn stock_and_hold_stay_up() {
    let boot = boot(BootKind::Firmware, Some((2, 1)));
    let stay = |words| match decide(&Situation {
        words,
        ..situation(&boot)
    }) {
        Deed::Stay(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        stay(Words { hold: true, ..TUNED }),
        "dtn-firstboot.hold is on the kernel command line"
    );
    assert_eq!(
        stay(Words {
            mode: Mode::Stock,
            ..TUNED
        }),
        "there is nothing behind the stock entry to fall back to"
    );
}

#[test]
fn whoever_asked_for_a_rescue_shell_keeps_it() {
    let counted = boot(BootKind::Firmware, Some((2, 1)));
    let asked = Situation {
        what: "rescue",
        rescue_word: Some("single"),
        ..situation(&counted)
    };
    assert_eq!(
        decide(&asked),
        Deed::LeaveAlone("`single` is on the kernel command line".into())
    );
    // `systemctl rescue` on a node that runs.
    let later = Situation {
        what: "emergency.target",
        had_come_up: true,
        ..situation(&counted)
    };
    assert!(matches!(decide(&later), Deed::LeaveAlone(_)));
    let good = Boot {
        reached: Reached::Good,
        ..counted.clone()
    };
    assert!(matches!(decide(&situation(&good)), Deed::LeaveAlone(_)));
    // Nobody asked for a boot that never came up.
    let early = Situation {
        what: "emergency",
        ..situation(&counted)
    };
    assert!(matches!(decide(&early), Deed::Reboot(_)));
}

#[test]
fn rescue_is_asked_for_as_systemd_reads_the_command_line() {
    for (cmdline, expected) in [
        (
            "ro quiet systemd.unit=rescue.target",
            Some("systemd.unit=rescue.target"),
        ),
        ("ro emergency", Some("emergency")),
        ("ro 1", Some("1")),
        ("ro s", Some("s")),
        ("rescue systemd.unit=multi-user.target", None),
        ("single 3", None),
        ("rd.emergency=reboot rd.shell=0 panic=10", None),
        ("dtnforge.mode=tuned xsingle emergency=1", None),
        ("", None),
    ] {
        assert_eq!(asked_for_rescue(cmdline), expected, "{cmdline}");
    }
}

#[test]
fn what_failed_is_told_in_words_and_cannot_disturb_a_console() {
    for (what, words) in [
        ("emergency", "emergency mode was entered"),
        ("rescue.target", "rescue mode was entered"),
        ("basic.target", "basic.target was not reached"),
        ("sshd", "nothing listens on a port of sshd"),
        ("tuned.service", "tuned.service failed"),
        ("", "something failed"),
        ("a\u{1b}[2Jb\n", "a[2Jb"),
    ] {
        assert_eq!(described(what), words);
    }
    assert_eq!(described(&"x".repeat(5000)).len(), 200);
}

#[test]
fn failed_units_and_hanging_starts_are_named_but_for_our_own() {
    let node = Node::new();
    assert_eq!(
        trouble(&node.host).as_deref(),
        Some("failed: srv-data.mount; still starting: ssh.service")
    );
    let said = trouble(&Node::new().broken().host).unwrap();
    assert!(
        said.contains("failed: cannot be listed: systemctl list-units")
            && said.contains("Failed to connect to bus"),
        "{said}"
    );
}

#[test]
fn the_ways_in_are_opened_without_what_they_depend_on_and_the_rest_once() {
    let node = Node::new();
    assert_eq!(open_access(&node.host, true), [""; 0]);
    let units = |log: Vec<String>| {
        log.into_iter()
            .filter(|line| line.starts_with("start"))
            .collect::<Vec<_>>()
    };
    let ways = [
        "start --job-mode=ignore-dependencies --no-block systemd-networkd.service",
        "start --job-mode=ignore-dependencies dtn-hostkeys.service",
        "start --job-mode=ignore-dependencies --no-block ssh.service",
        "start --job-mode=ignore-dependencies --no-block sshd.service",
    ];
    let mut expected = ways.to_vec();
    expected.push("start --no-block multi-user.target");
    assert_eq!(units(node.log()), expected);
    open_access(&node.host, true);
    expected.extend(ways);
    assert_eq!(units(node.log()), expected, "the rest was asked for twice");
    assert_eq!(open_access(&Node::new().broken().host, true).len(), 5);
}

#[test]
fn a_reboot_that_does_not_happen_is_asked_for_with_more_force() {
    let (node, clock) = (Node::new(), Ticks::default());
    let error = reboot(&node.host, &clock).unwrap_err();
    assert_eq!(
        node.log(),
        ["--no-block reboot", "reboot --force", "reboot --force --force"]
    );
    assert!(
        error.starts_with("the node does not reboot: systemctl --no-block reboot: not down after 150 s"),
        "{error}"
    );
    assert_eq!(clock.now(), Duration::from_secs(270));
}

#[test]
fn a_systemd_that_does_not_answer_costs_no_time() {
    let (node, clock) = (Node::new().broken(), Ticks::default());
    let error = reboot(&node.host, &clock).unwrap_err();
    assert!(error.contains("Failed to connect to bus"), "{error}");
    assert_eq!(clock.now(), Duration::ZERO);
    assert_eq!(node.log().len(), 3);
}

#[test]
fn a_wish_to_reboot_is_handed_over_once_and_a_refusal_is_told() {
    let node = Node::new();
    ask_for_reboot(&node.host).unwrap();
    assert_eq!(node.log(), ["--no-block reboot"]);
    let broken = Node::new().broken();
    let error = ask_for_reboot(&broken.host).unwrap_err();
    assert_eq!(
        broken.log(),
        ["--no-block reboot", "reboot --force", "reboot --force --force"]
    );
    assert!(error.contains("Failed to connect to bus"), "{error}");
}
