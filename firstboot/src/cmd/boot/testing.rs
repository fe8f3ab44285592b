//! A node in a directory for the tests of this module: a boot, its state, a network, and a `systemctl` that logs.

use crate::early::{self, Marker};
use crate::host::Host;
use crate::store;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::plan::{PLAN_SCHEMA, Plan};
use dtnforge_profiles::state::{Boot, BootKind, Commit, State, StateFile};
use dtnforge_profiles::verdict::{Outcome, VERDICT_SCHEMA, Verdict};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Logs what it is told. `hung` fails everything; the file `came-up` says when basic.target was reached.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
echo "$*" >>log
if [ -e hung ]; then echo "Failed to connect to bus" >&2; exit 1; fi
case "$*" in
*reboot*) exit 1 ;;
*ActiveEnterTimestampMonotonic*) cat came-up 2>/dev/null ;;
*dtn-firstboot.service*) printf 'LoadState=loaded\nActiveState=failed\nResult=timeout\nJob=0\n' ;;
list-jobs*) echo "94 srv-data.mount start running" ;;
esac
exit 0
"#;

pub(super) struct Node {
    pub(super) dir: tempfile::TempDir,
    pub(super) host: Host,
}

impl Node {
    /// A tuned boot through the firmware with the second of three tries, and a network.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let script = dir.path().join("bin/systemctl");
        fs::write(&script, SYSTEMCTL).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().join("bin").display());
        let host = Host::at(dir.path(), Some(Path::new(&path)));
        let node = Self { dir, host };
        node.write("/proc/sys/kernel/random/boot_id", "b7\n");
        node.write("/dev/console", "");
        node.cmdline("ro dtnforge.mode=tuned");
        node.boot(Self::counted());
        node.network();
        node
    }

    pub(super) fn counted() -> Boot {
        Boot {
            entry: Some("dtnforge".into()),
            tries_left: Some(1),
            tries_done: Some(2),
            ..Boot::begun("b7", BootKind::Firmware, 7)
        }
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn cmdline(&self, words: &str) {
        self.write("/proc/cmdline", words);
    }

    /// What the early unit noted.
    pub(super) fn boot(&self, boot: Boot) {
        let marker = Marker {
            boot_id: boot.boot_id.clone(),
            activated: boot.active,
            live: boot.active,
            why: String::new(),
            files: vec![],
            boot: Some(boot.clone()),
            ended: false,
            failed: false,
        };
        early::write_marker(&self.host, &marker).unwrap();
        store::change(&self.host, |file| *file.boot_mut(&boot) = boot.clone()).unwrap();
    }

    /// A port with carrier and the address 10.0.2.15, and a listener on port 22.
    fn network(&self) {
        self.write("/sys/class/net/ens2/carrier", "1\n");
        fs::create_dir_all(self.host.path("/sys/class/net/ens2/device")).unwrap();
        symlink(
            "../../../../bus/pci",
            self.host.path("/sys/class/net/ens2/device/subsystem"),
        )
        .unwrap();
        let network = u32::from_ne_bytes([10, 0, 2, 0]);
        let mask = u32::from_ne_bytes([255, 255, 255, 0]);
        let route = format!("Iface\nens2\t{network:08X}\t00000000\t0001\t0\t0\t0\t{mask:08X}\t0\t0\t0\n");
        self.write("/proc/net/route", &route);
        self.write("/proc/net/fib_trie", "  |-- 10.0.2.15\n     /32 host LOCAL\n");
        self.write(
            "/proc/net/tcp",
            "sl\n 0: 00000000:0016 00000000:0000 0A 00000000:00000000\n",
        );
    }

    pub(super) fn file(&self) -> StateFile {
        store::load(&self.host).file
    }

    /// The record of this boot on disk.
    pub(super) fn record(&self) -> Boot {
        self.file().boot("b7").unwrap().clone()
    }

    pub(super) fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(super) fn console(&self) -> String {
        fs::read_to_string(self.host.path("/dev/console")).unwrap()
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.host.path(path).exists()
    }

    /// Makes the state file impossible to replace.
    pub(super) fn break_state(&self) {
        let path = self.host.path("/etc/dtnforge/state.json.new");
        fs::create_dir_all(path).unwrap();
    }
}

/// A state with a commit, made in boot `boot_id`.
pub(super) fn committed(boot_id: &str) -> State {
    let layer = Digest::of(b"layer");
    let plan = Plan {
        schema: PLAN_SCHEMA,
        profile: "dtn-vm".into(),
        layer: layer.clone(),
        fingerprint: Digest::of(b"host"),
        steps: vec![],
        skipped: vec![],
        modules: vec![],
        tuned_conf: None,
        interfaces: BTreeMap::new(),
        advice: vec![],
        boot: vec![],
    };
    let verdict = Verdict {
        schema: VERDICT_SCHEMA,
        outcome: Outcome::Keep,
        sentence: "kept".into(),
        metrics: vec![],
        groups: BTreeMap::new(),
        checks: vec![],
        proofs: vec![],
    };
    State::Committed(Box::new(Commit {
        profile: "dtn-vm".into(),
        layer,
        plan,
        site: Digest::of(b"site"),
        pci: BTreeMap::new(),
        verdict,
        boot_id: boot_id.into(),
        at: 0,
        stock: BTreeMap::new(),
        proved_in_boot: None,
    }))
}
