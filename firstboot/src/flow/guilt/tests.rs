//! Nodes in a directory whose link follows a rule: always out, out with the plan in place, back at some time.

use super::*;
use crate::early::Marker;
use crate::esp::tests::{host, listed};
use crate::flow::leftover::{self, Leftover};
use crate::host::Host;
use crate::store;
use crate::trial::files::Set;
use crate::trial::{Transaction, WITHDRAWAL_PATH};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::{Disrupts, KnobId, Owner};
use dtnforge_profiles::plan::{Origin, PLAN_SCHEMA, Plan, Step};
use dtnforge_profiles::state::{Boot, BootKind};
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::verdict::{Check, VERDICT_SCHEMA, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;

const BUFFERS: &str = "/proc/sys/net/ipv4/tcp_rmem";
const SWAP: &str = "/proc/sys/vm/swappiness";
const STOCK: [&str; 2] = ["4096 131072 6291456", "60"];
const TUNED: [&str; 2] = ["4096 131072 67108864", "10"];
const FILE: &str = "/run/sysctl.d/90-dtnforge-tcp-buffers.conf";

struct Node {
    _dir: tempfile::TempDir,
    host: Host,
}

/// A counted boot with a commit in place, without carrier.
fn node(commit: Commit) -> Node {
    let (dir, host) = host(&["dtnforge+2-1.efi", "stock.efi"]);
    let node = Node { _dir: dir, host };
    node.write("/proc/sys/kernel/random/boot_id", "b7\n");
    node.write("/proc/cmdline", "dtnforge.mode=tuned\n");
    node.write("/dev/console", "");
    node.write("/sys/class/net/ens2/device/vendor", "0x1af4\n");
    node.write(
        "/proc/net/tcp",
        "sl\n 0: 00000000:0016 00000000:0000 0A 00000000:00000000\n",
    );
    let network = u32::from_ne_bytes([10, 0, 2, 0]);
    let mask = u32::from_ne_bytes([255, 255, 255, 0]);
    let route = format!("Iface\nens2\t{network:08X}\t00000000\t0001\t0\t0\t0\t{mask:08X}\t0\t0\t0\n");
    node.write("/proc/net/route", &route);
    node.write("/proc/net/fib_trie", "  |-- 10.0.2.15\n     /32 host LOCAL\n");
    node.carrier(false);
    for (path, value) in [BUFFERS, SWAP].into_iter().zip(TUNED) {
        node.write(path, value);
    }
    let files = [(
        FILE.trim_start_matches("/run/").to_owned(),
        "net.ipv4.tcp_rmem = ...\n".to_owned(),
    )];
    files::place(&node.host, Set::Active, &files).unwrap();
    let marker = Marker {
        boot_id: "b7".into(),
        activated: true,
        live: true,
        why: String::new(),
        files: vec![],
        boot: Some(counted()),
        ended: false,
    };
    early::write_marker(&node.host, &marker).unwrap();
    store::change(&node.host, |file| {
        file.add_boot(counted());
        file.state = State::Committed(Box::new(commit));
    })
    .unwrap();
    node
}

fn counted() -> Boot {
    Boot {
        entry: Some("dtnforge".into()),
        tries_left: Some(2),
        tries_done: Some(1),
        active: true,
        ..Boot::begun("b7", BootKind::Firmware, 0)
    }
}

impl Node {
    fn write(&self, path: &str, text: &str) {
        let path = self.host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn carrier(&self, up: bool) {
        self.write("/sys/class/net/ens2/carrier", if up { "1\n" } else { "0\n" });
    }

    fn values(&self) -> [String; 2] {
        [BUFFERS, SWAP].map(|path| {
            fs::read_to_string(self.host.path(path))
                .unwrap()
                .trim()
                .to_owned()
        })
    }

    fn is_tuned(&self) -> bool {
        self.values() == TUNED
    }

    /// Looks into the missing network; at each tick of the clock `rule` says whether the link is up.
    fn look_into(&self, rule: &dyn Fn(&Node, Duration) -> bool) -> (Option<End>, Context) {
        let mut context = Context::open(self.host.clone());
        let clock = Ruled {
            node: self,
            rule,
            now: RefCell::default(),
        };
        let end = look_into_by(&mut context, &clock).unwrap();
        (end, context)
    }

    /// Nothing of the experiment is left, and the files of the commit are there or gone.
    fn is_settled(&self, with_file: bool) {
        assert!(!self.host.path(WITHDRAWAL_PATH).exists());
        assert!(!files::exists(&self.host, Set::Trial));
        assert_eq!(self.host.path(FILE).exists(), with_file);
    }
}

/// A clock that only sleeping moves, and that lets the rule of its node act.
struct Ruled<'a> {
    node: &'a Node,
    rule: &'a dyn Fn(&Node, Duration) -> bool,
    now: RefCell<Duration>,
}

impl Clock for Ruled<'_> {
    fn now(&self) -> Duration {
        *self.now.borrow()
    }
    fn sleep(&self, time: Duration) {
        self.now.replace_with(|now| *now + time);
        self.node.carrier((self.rule)(self.node, self.now()));
    }
}

fn step(knob: &str, from: &str, to: &str) -> Step {
    Step {
        knob: knob.parse().unwrap(),
        from: from.into(),
        to: to.into(),
        lowered: None,
        group: Group::TcpBuffers,
        why: "test".into(),
        origin: Origin::default(),
        source: "test".into(),
        owner: Owner::SysctlD,
        disrupts: Disrupts::None,
    }
}

fn knob(name: &str) -> KnobId {
    name.parse().unwrap()
}

/// A commit of an earlier boot, in whose trial these checks passed.
fn commit(passed: &[&str]) -> Commit {
    let check = |name: &&str| Check {
        name: (*name).to_owned(),
        ok: true,
        required: true,
        detail: String::new(),
    };
    let layer = Digest::of(b"layer");
    Commit {
        profile: "dtn-vm".into(),
        layer: layer.clone(),
        plan: Plan {
            schema: PLAN_SCHEMA,
            profile: "dtn-vm".into(),
            layer,
            fingerprint: Digest::of(b"host"),
            steps: vec![
                step("sysctl:net.ipv4.tcp_rmem", STOCK[0], TUNED[0]),
                step("sysctl:vm.swappiness", STOCK[1], TUNED[1]),
            ],
            skipped: vec![],
            modules: vec![],
            tuned_conf: None,
            interfaces: BTreeMap::new(),
            advice: vec![],
            boot: vec![],
        },
        site: Digest::of(b"site"),
        pci: BTreeMap::new(),
        verdict: Verdict {
            schema: VERDICT_SCHEMA,
            outcome: dtnforge_profiles::verdict::Outcome::Keep,
            sentence: "kept".into(),
            metrics: vec![],
            groups: BTreeMap::new(),
            checks: passed.iter().map(check).collect(),
        },
        boot_id: "b1".into(),
        at: 0,
        stock: BTreeMap::new(),
        proved_in_boot: Some("b2".into()),
    }
}

fn good_commit() -> Commit {
    commit(&["link:ens2", "network", "sshd"])
}

#[test]
fn a_plan_that_takes_the_link_away_is_rejected_and_the_node_stays_up_stock() {
    let node = node(good_commit());
    let (end, context) = node.look_into(&|node, _| !node.is_tuned());
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::Rejected, false));
    assert_eq!(
        end.sentence,
        "rejected dtn-vm: the node loses its network with dtn-vm in place (no carrier on ens2), and has it without; \
         seen twice; stock, 2 knobs read back as before"
    );
    assert_eq!(node.values(), STOCK);
    node.is_settled(false);
    let State::Rejected(rejection) = store::load(&node.host).file.state else {
        panic!("{:?}", context.file.state)
    };
    assert_eq!(
        rejection.previous, None,
        "nothing is put in place by the next boot"
    );
    assert_eq!(
        listed(&node.host),
        ["dtnforge+2-1.efi", "stock.efi"],
        "a guilty boot's try was given back"
    );
}

#[test]
fn a_cable_that_is_out_costs_nobody_anything() {
    let node = node(good_commit());
    let (end, context) = node.look_into(&|_, _| false);
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::Ok, false));
    assert_eq!(
        end.sentence,
        "committed: waiting for link: no carrier on ens2; tuning is not the cause: it is the same without it, all 2 \
         knobs taken back"
    );
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
    let file = store::load(&node.host).file;
    assert_eq!(file.state, State::Committed(Box::new(good_commit())));
    let last = file.history.last().unwrap();
    assert!(
        last.entered == "committed" && last.reason.starts_with("waiting for link"),
        "{last:?}"
    );
    let reason = file.boot("b7").unwrap().reason.clone().unwrap();
    assert!(
        reason.starts_with("waiting for link: no carrier on ens2"),
        "{reason}"
    );
    assert_eq!(listed(&node.host), ["dtnforge+3.efi", "stock.efi"]);
    drop(context);
}

#[test]
fn an_sshd_that_is_gone_without_the_plan_too_is_no_dark_boot() {
    let node = node(good_commit());
    node.write("/proc/net/tcp", "sl\n");
    let (end, _) = node.look_into(&|_, _| true);
    assert_eq!(
        end.unwrap().sentence,
        "committed: waiting for sshd: nothing listens on a port of sshd; tuning is not the cause: it is the same \
         without it, all 2 knobs taken back"
    );
    assert_eq!(
        listed(&node.host),
        ["dtnforge+2-1.efi", "stock.efi"],
        "the boot is not given back"
    );
}

#[test]
fn a_switch_that_comes_up_while_the_plan_is_out_makes_nobody_guilty() {
    let node = node(good_commit());
    let (end, context) = node.look_into(&|_, now| now > PATIENCE + Duration::from_secs(12));
    assert!(end.is_none(), "{end:?}");
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
    assert_eq!(context.file.state.name(), "committed");
    assert_eq!(listed(&node.host), ["dtnforge+2-1.efi", "stock.efi"]);
}

#[test]
fn a_network_that_is_there_or_comes_in_time_is_not_looked_into() {
    for rule in [
        &(|_: &Node, _: Duration| true) as &dyn Fn(&Node, Duration) -> bool,
        &|_, now| now > Duration::from_secs(50),
    ] {
        let node = node(good_commit());
        assert!(node.look_into(rule).0.is_none());
        assert_eq!(node.values(), TUNED);
        assert!(
            fs::read_to_string(node.host.path("/dev/console"))
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn nothing_is_blamed_for_what_was_missing_when_the_plan_was_committed() {
    let node = node(commit(&["sshd"]));
    assert!(node.look_into(&|_, _| false).0.is_none());
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
}

#[test]
fn a_commit_that_is_not_in_place_is_not_looked_into() {
    let node = node(good_commit());
    let marker = early::read_marker(&node.host).unwrap();
    for other in [
        Marker {
            activated: false,
            ..marker.clone()
        },
        Marker {
            boot_id: "b6".into(),
            ..marker
        },
    ] {
        early::write_marker(&node.host, &other).unwrap();
        assert!(node.look_into(&|_, _| false).0.is_none());
        assert_eq!(node.values(), TUNED);
    }
}

#[test]
fn a_plan_that_does_not_come_out_is_a_state_of_its_own_and_worth_one_reboot() {
    let mut commit = good_commit();
    // A way back that its door refuses.
    let foreign = Undo::DelQdisc { before: "60".into() };
    commit.stock.insert(knob("sysctl:vm.swappiness"), foreign);
    let node = node(commit);
    let (end, context) = node.look_into(&|_, _| false);
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::RollbackUnverified, true));
    let State::RollbackUnverified { what } = &context.file.state else {
        panic!("{:?}", context.file.state)
    };
    assert!(
        what.len() == 1
            && what[0].starts_with("sysctl:vm.swappiness: expected \"60\" as before the trial, found \"10 ("),
        "{what:?}"
    );
    assert_eq!(node.values(), [STOCK[0], TUNED[1]]);
    // What runs after the agent clears away what is left, and does not put the plan back.
    let state = context.file.state.clone();
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::Settled);
    assert_eq!(node.values(), [STOCK[0], TUNED[1]]);
    node.is_settled(false);
}

#[test]
fn a_journal_that_is_in_the_way_is_told_and_the_commit_stays() {
    let node = node(good_commit());
    node.write(WITHDRAWAL_PATH, "");
    let (end, _) = node.look_into(&|_, _| false);
    let end = end.unwrap();
    assert_eq!(end.exit, Exit::Ok);
    assert!(
        end.sentence
            .contains("whether tuning is the cause could not be tried: trial journal"),
        "{}",
        end.sentence
    );
    assert_eq!(node.values(), TUNED);
    assert_eq!(
        listed(&node.host),
        ["dtnforge+2-1.efi", "stock.efi"],
        "nobody knows that the plan is innocent"
    );
}

#[test]
fn a_state_that_cannot_be_stored_leaves_the_node_reachable_and_never_rebooting() {
    let full = |node: &Node| fs::create_dir_all(node.host.path("/etc/dtnforge/state.json.new")).unwrap();
    let guilty = node(good_commit());
    full(&guilty);
    let (end, _) = guilty.look_into(&|node, _| !node.is_tuned());
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::Rejected, false));
    let said = "only in this boot, because it cannot be stored: cannot write";
    assert!(end.sentence.contains(said), "{}", end.sentence);
    assert_eq!(guilty.values(), STOCK);
    guilty.is_settled(false);

    let mut commit = good_commit();
    let foreign = Undo::DelQdisc { before: "60".into() };
    commit.stock.insert(knob("sysctl:vm.swappiness"), foreign);
    let stuck = node(commit);
    full(&stuck);
    let end = stuck.look_into(&|_, _| false).0.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::RollbackUnverified, false));
    assert!(
        end.sentence.contains("no reboot, because that cannot be stored"),
        "{}",
        end.sentence
    );
}

/// Takes the plan out in a process that dies.
fn die_with_the_plan_out(node: &Node) {
    let doors = Doors::new(&node.host);
    let journal = node.host.path(WITHDRAWAL_PATH);
    let mut transaction = Transaction::begin(&node.host, &doors, &journal).unwrap();
    let commit = good_commit();
    assert!(
        transaction
            .withdraw(&commit.plan, &commit.ways_back())
            .unwrap()
            .verified()
    );
    assert_eq!(node.values(), STOCK);
}

#[test]
fn a_process_that_dies_with_the_plan_out_leaves_a_whole_commit() {
    let node = node(good_commit());
    die_with_the_plan_out(&node);
    let state = store::load(&node.host).file.state;
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::PutBack(2));
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::None);
}

#[test]
fn a_process_that_dies_after_its_rejection_leaves_stock() {
    let node = node(good_commit());
    die_with_the_plan_out(&node);
    let state = State::Stock {
        why: "rejected".into(),
    };
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::Settled);
    assert_eq!(node.values(), STOCK);
    node.is_settled(false);
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::None);
}

#[test]
fn a_dark_boot_with_nothing_in_place_gives_its_try_back_and_a_lit_one_does_not() {
    let node = node(good_commit());
    store::change(&node.host, |file| {
        file.state = State::Stock {
            why: "no carrier".into(),
        }
    })
    .unwrap();
    node.carrier(true);
    after(&Context::open(node.host.clone()));
    assert_eq!(listed(&node.host), ["dtnforge+2-1.efi", "stock.efi"]);
    node.carrier(false);
    after(&Context::open(node.host.clone()));
    assert_eq!(listed(&node.host), ["dtnforge+3.efi", "stock.efi"]);
}

#[test]
fn a_former_commit_that_the_early_unit_put_in_place_is_looked_into_as_well() {
    let node = node(good_commit());
    store::change(&node.host, |file| {
        file.state = State::Rejected(Box::new(Rejection {
            profile: "dtn-100g".into(),
            layer: Digest::of(b"other"),
            site: Digest::of(b"site"),
            reason: "slower".into(),
            verdict: None,
            boot_id: "b6".into(),
            at: 0,
            previous: Some(Box::new(good_commit())),
        }));
    })
    .unwrap();
    let (end, context) = node.look_into(&|node, _| !node.is_tuned());
    assert_eq!(end.unwrap().exit, Exit::Rejected);
    let State::Rejected(rejection) = &context.file.state else {
        panic!("{:?}", context.file.state)
    };
    assert_eq!(
        (rejection.profile.as_str(), &rejection.previous),
        ("dtn-vm", &None)
    );
}
