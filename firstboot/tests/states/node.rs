//! A node in a directory: files as the kernel shows them, stand-ins for the commands that the agent calls, and the
//! agent's own binary to be run on it.

use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::layer::{self, Index, Layer};
use dtnforge_profiles::site::SiteFile;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The knobs of a Debian 13 host with one 100G port and one NVMe disk, and what detection needs.
const FILES: &[(&str, &str)] = &[
    ("/proc/sys/kernel/osrelease", "6.12.48+deb13-amd64"),
    (
        "/proc/sys/kernel/random/boot_id",
        "5d1e3f0a-0000-4000-8000-000000000001",
    ),
    ("/proc/cmdline", "quiet"),
    (
        "/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: AMD EPYC 7343\nflags\t\t: fpu vme",
    ),
    ("/proc/meminfo", "MemTotal:       263761720 kB"),
    ("/sys/class/dmi/id/sys_vendor", "Dell Inc."),
    ("/proc/sys/net/core/rmem_max", "212992"),
    ("/proc/sys/net/core/wmem_max", "212992"),
    ("/proc/sys/net/core/optmem_max", "131072"),
    ("/proc/sys/net/core/default_qdisc", "fq_codel"),
    ("/proc/sys/net/core/netdev_max_backlog", "1000"),
    ("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456"),
    ("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304"),
    ("/proc/sys/net/ipv4/tcp_congestion_control", "cubic"),
    ("/proc/sys/net/ipv4/tcp_mtu_probing", "0"),
    ("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "1"),
    ("/proc/sys/net/ipv4/tcp_no_metrics_save", "0"),
    ("/proc/sys/net/ipv4/tcp_notsent_lowat", "4294967295"),
    ("/proc/sys/vm/dirty_bytes", "0"),
    ("/proc/sys/vm/dirty_ratio", "20"),
    ("/proc/sys/vm/dirty_background_bytes", "0"),
    ("/proc/sys/vm/dirty_background_ratio", "10"),
    ("/proc/sys/vm/swappiness", "60"),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "schedutil",
    ),
    (
        "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "schedutil",
    ),
    ("/sys/devices/pci0000:80/0000:81:00.0/vendor", "0x15b3"),
    ("/sys/devices/pci0000:80/0000:81:00.0/device", "0x101d"),
    ("/sys/devices/pci0000:80/0000:81:00.0/class", "0x020000"),
    ("/sys/devices/pci0000:80/0000:81:00.0/net/eth0/type", "1"),
    (
        "/sys/devices/pci0000:80/0000:81:00.0/net/eth0/address",
        "02:00:00:00:00:10",
    ),
    ("/sys/devices/pci0000:80/0000:81:00.0/net/eth0/speed", "100000"),
    ("/sys/devices/pci0000:80/0000:81:00.0/net/eth0/carrier", "1"),
    ("/sys/devices/pci0000:80/0000:81:00.0/net/eth0/operstate", "up"),
    ("/sys/devices/pci0000:80/0000:81:00.0/net/eth0/mtu", "1500"),
    (
        "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0/transport",
        "pcie",
    ),
    (
        "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1/size",
        "4294967296",
    ),
    (
        "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1/queue/rotational",
        "0",
    ),
    (
        "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1/queue/read_ahead_kb",
        "128",
    ),
    (
        "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1/queue/scheduler",
        "[none] mq-deadline",
    ),
    ("/etc/dtnforge/site.toml", "role = \"dtn\""),
];

/// Links, relative as the kernel makes them.
const LINKS: &[(&str, &str)] = &[
    (
        "/sys/devices/pci0000:80/0000:81:00.0/net/eth0/device",
        "../../../0000:81:00.0",
    ),
    (
        "/sys/devices/pci0000:80/0000:81:00.0/subsystem",
        "../../../bus/pci",
    ),
    (
        "/sys/devices/pci0000:80/0000:81:00.0/driver",
        "../../../bus/pci/drivers/mlx5_core",
    ),
    (
        "/sys/bus/pci/devices/0000:81:00.0",
        "../../../devices/pci0000:80/0000:81:00.0",
    ),
    (
        "/sys/class/net/eth0",
        "../../devices/pci0000:80/0000:81:00.0/net/eth0",
    ),
    (
        "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1/device",
        "../../nvme0",
    ),
    (
        "/sys/block/nvme0n1",
        "../devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1",
    ),
    (
        "/sys/class/block/nvme0n1",
        "../../devices/pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1",
    ),
];

/// The root qdisc of a device with one queue: its kind, and the handle that tells who made it.
const TC: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
case "$*" in
*show*) echo "[{\"kind\":\"$(cat qdisc)\",\"handle\":\"$(cat handle 2>/dev/null || echo 0:)\",\"root\":true}]" ;;
*replace*) for kind; do :; done; echo "$kind" >qdisc; echo d7: >handle ;;
*del*) cat proc/sys/net/core/default_qdisc >qdisc; rm -f handle ;;
esac
"#;

/// tuned: the file `running` holds what the daemon applied. Starting it raises the swappiness, as its profiles do.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
case "$1" in
show) echo LoadState=loaded
    if [ -e running ]; then echo ActiveState=active; else echo ActiveState=inactive; fi ;;
start|restart) cat etc/tuned/active_profile >running; echo 10 >proc/sys/vm/swappiness ;;
stop) rm -f running ;;
esac
"#;

const TUNED_ADM: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
[ -e running ] && echo "Current active profile: $(cat running)"
"#;

/// The node.
pub(crate) struct Node {
    dir: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// The data of a `--json` answer.
    pub(crate) fn data(&self) -> serde_json::Value {
        let envelope: serde_json::Value =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        envelope["data"].clone()
    }
}

impl Node {
    pub(crate) fn new() -> Self {
        let node = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for (path, text) in FILES {
            node.write(path, &format!("{text}\n"));
        }
        for (link, target) in LINKS {
            let link = node.path(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target, link).unwrap();
        }
        for (name, script) in [("tc", TC), ("systemctl", SYSTEMCTL), ("tuned-adm", TUNED_ADM)] {
            node.command(name, script);
        }
        node.write("/qdisc", "fq_codel\n");
        node.add_layers();
        node
    }

    /// The same node with the plan of its profile committed in this boot, and all values live.
    pub(crate) fn committed() -> Self {
        let node = Self::new();
        let plan = node.agent(&["plan", "--json"]).data();
        node.write("/etc/tuned/active_profile", "dtnforge-dtn-100g-nvme\n");
        node.write("/running", "dtnforge-dtn-100g-nvme\n");
        node.write("/qdisc", "fq\n");
        for step in plan["steps"].as_array().unwrap() {
            let (knob, value) = (step["knob"].as_str().unwrap(), step["to"].as_str().unwrap());
            match knob.split_once(':').unwrap() {
                ("sysctl", key) => node.write(
                    &format!("/proc/sys/{}", key.replace('.', "/")),
                    &format!("{value}\n"),
                ),
                ("cpu", _) => {
                    for policy in [0, 1] {
                        let path = format!("/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor");
                        node.write(&path, &format!("{value}\n"));
                    }
                }
                ("block/nvme0n1", key) => {
                    node.write(&format!("/sys/block/nvme0n1/queue/{key}"), &format!("{value}\n"))
                }
                _ => {}
            }
        }
        let throughput = json!({
            "metric": "emulated-path/throughput", "unit": "Mb/s", "better": "higher", "as_found": 144.0, "ours": 295.0,
            "ratio": 2.03, "ratio_low": 1.48, "ratio_high": 2.8, "pairs": 3, "limit": 0.95, "smallest_effect": 0.378,
            "context": {}
        });
        let verdict = json!({
            "schema": 1, "outcome": "keep", "sentence": "kept: throughput 2.03x", "metrics": [throughput],
            "groups": {}, "checks": []
        });
        let state = json!({
            "state": "committed", "profile": plan["profile"], "layer": plan["layer"], "site": plan["layer"],
            "pci": {}, "verdict": verdict, "boot_id": node.read("/proc/sys/kernel/random/boot_id"), "at": 1,
            "plan": plan
        });
        let file = json!({ "schema": 1, "attempts": {}, "state": state, "history": [], "boots": [] });
        node.write("/etc/dtnforge/state.json", &file.to_string());
        node
    }

    /// The layers of the two profiles that this host may have.
    fn add_layers(&self) {
        static LAYERS: OnceLock<Vec<Layer>> = OnceLock::new();
        let layers = LAYERS.get_or_init(|| {
            let site = SiteFile::default().check().unwrap();
            let catalog = Catalog::embedded().unwrap();
            let profiles = ["dtn-25g-nvme", "dtn-100g-nvme"].map(|name| catalog.get(name).unwrap());
            profiles
                .map(|profile| layer::build(profile, &site).unwrap())
                .into()
        });
        for layer in layers {
            let path = self.path(&format!("/usr/lib/dtnforge/layers/{}", layer.file_name()));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &layer.bytes).unwrap();
        }
        let index = Index::of(layers).to_text().unwrap();
        self.write("/usr/lib/dtnforge/layers/index.json", &index);
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path.trim_start_matches('/'))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A stand-in for a command.
    pub(crate) fn command(&self, name: &str, script: &str) {
        let path = format!("/bin/{name}");
        self.write(&path, script);
        fs::set_permissions(self.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap().trim().to_owned()
    }

    /// Runs the agent on this node.
    pub(crate) fn agent(&self, args: &[&str]) -> Ended {
        let bin = self.path("/bin");
        let output = Command::new(binary())
            .arg("--root")
            .arg(self.dir.path())
            .args(args)
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env_remove("INVOCATION_ID")
            .output()
            .unwrap();
        Ended {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// All files of the node and what is in them, to show that nothing was touched.
    pub(crate) fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        collect(self.dir.path(), &mut found);
        found.sort();
        found
    }
}

/// The agent of this build; a bench of another crate has none and names the one that the image carries.
fn binary() -> PathBuf {
    option_env!("CARGO_BIN_EXE_dtn-firstboot")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("DTNFORGE_AGENT").map(PathBuf::from))
        .unwrap()
}

fn collect(directory: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            collect(&path, found);
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes));
        } else {
            found.push((
                path.clone(),
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
            ));
        }
    }
}
