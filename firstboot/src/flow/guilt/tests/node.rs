//! A committed node in a directory.

use crate::detect::Clock;
use crate::door::Doors;
use crate::early::{self, Marker};
use crate::esp::tests::host;
use crate::flow::guilt::look_into_by;
use crate::flow::{Context, End};
use crate::host::Host;
use crate::store;
use crate::trial::files::{self, Set};
use crate::trial::{Transaction, WITHDRAWAL_PATH};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::{Disrupts, KnobId, Owner};
use dtnforge_profiles::plan::{Origin, PLAN_SCHEMA, Plan, Step};
use dtnforge_profiles::state::{Boot, BootKind, Commit, State};
use dtnforge_profiles::verdict::{Check, Outcome, VERDICT_SCHEMA, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

const BUFFERS: &str = "/proc/sys/net/ipv4/tcp_rmem";
const SWAP: &str = "/proc/sys/vm/swappiness";
pub(super) const STOCK: [&str; 2] = ["4096 131072 6291456", "60"];
pub(super) const TUNED: [&str; 2] = ["4096 131072 67108864", "10"];
const FILE: &str = "/run/sysctl.d/90-dtnforge-tcp-buffers.conf";

pub(super) struct Node {
    _dir: tempfile::TempDir,
    pub(super) host: Host,
}

/// A counted boot with a commit in place, without carrier.
pub(super) fn node(commit: Commit) -> Node {
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
        failed: false,
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
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn carrier(&self, up: bool) {
        self.write("/sys/class/net/ens2/carrier", if up { "1\n" } else { "0\n" });
    }

    pub(super) fn values(&self) -> [String; 2] {
        [BUFFERS, SWAP].map(|path| {
            fs::read_to_string(self.host.path(path))
                .unwrap()
                .trim()
                .to_owned()
        })
    }

    pub(super) fn is_tuned(&self) -> bool {
        self.values() == TUNED
    }

    /// Looks into the missing network; at each tick of the clock `rule` says whether the link is up.
    pub(super) fn look_into(&self, rule: &dyn Fn(&Node, Duration) -> bool) -> (Option<End>, Context) {
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
    pub(super) fn is_settled(&self, with_file: bool) {
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

pub(super) fn step(knob: &str, from: &str, to: &str) -> Step {
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

pub(super) fn knob(name: &str) -> KnobId {
    name.parse().unwrap()
}

/// A commit of an earlier boot, in whose trial these checks passed.
pub(super) fn commit(passed: &[&str]) -> Commit {
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
            outcome: Outcome::Keep,
            sentence: "kept".into(),
            metrics: vec![],
            proofs: Vec::new(),
            groups: BTreeMap::new(),
            checks: passed.iter().map(check).collect(),
        },
        boot_id: "b1".into(),
        at: 0,
        stock: BTreeMap::new(),
        proved_in_boot: Some("b2".into()),
    }
}

pub(super) fn good_commit() -> Commit {
    commit(&["link:ens2", "network", "sshd"])
}

/// Takes the plan out in a process that dies.
pub(super) fn die_with_the_plan_out(node: &Node) {
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

/// Answers as `tc` does for a NIC with two queues whose qdisc is this.
pub(super) fn tc(node: &Node, kind: &str) -> Host {
    let bin = node.host.path("/bin");
    fs::create_dir_all(&bin).unwrap();
    let leaf = |queue| format!(r#"{{"kind":"{kind}","handle":"0:","parent":":{queue}","options":{{}}}}"#);
    let tree = format!(
        r#"[{{"kind":"mq","handle":"0:","root":true,"options":{{}}}},{},{}]"#,
        leaf(1),
        leaf(2)
    );
    fs::write(bin.join("tc"), format!("#!/bin/sh\necho '{tree}'\n")).unwrap();
    fs::set_permissions(bin.join("tc"), fs::Permissions::from_mode(0o755)).unwrap();
    Host::at(&node.host.path("/"), Some(&bin))
}
