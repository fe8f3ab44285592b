//! A machine of the tests: its agent, its values, and everything on it, to be put back.

use crate::node::Node;
use crate::power;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The part of the machine that is the real kernel's.
const KERNEL: &str = "/proc/sys/net/ipv4";

/// Values by the path of their file.
pub(crate) type Values = BTreeMap<String, String>;

/// Everything on a machine: its files with their modes, and its values of the real kernel.
pub(crate) struct Snapshot {
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    kernel: Values,
}

pub(crate) struct Machine {
    node: Node,
}

impl Machine {
    pub(crate) fn new() -> Self {
        // Each line of a journal is synced, thousands of times in all; in memory that costs nothing.
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs", "/tmp"])
            .status()
            .unwrap();
        assert!(mounted.success(), "the namespace gets no /tmp of its own");
        let node = Node::new();
        // The limits of the page cache come in pairs of which the kernel sets one to zero when the other is written; a
        // directory does not, so here they have the values of the plan.
        node.write("/proc/sys/vm/dirty_bytes", "4294967296\n");
        node.write("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
        // A namespace may only have congestion controls that the kernel lets everybody use.
        let site = "role = \"dtn\"\nunproved = \"apply\"\ncongestion_control = \"reno\"\n";
        node.write("/etc/dtnforge/site.toml", site);
        // An image of ours: there the boot tries by itself.
        node.write("/proc/cmdline", "dtnforge.mode=tuned\n");
        node.write("/proc/self/mounts", "/dev/vda6 /state ext4 rw 0 0\n");
        // Nothing can be measured here, which is said at once.
        node.command("iperf3", "#!/bin/sh\nexit 1\n");
        let target = node.path(KERNEL);
        let mounted = Command::new("mount")
            .args(["--bind", KERNEL])
            .arg(target)
            .status()
            .unwrap();
        assert!(
            mounted.success(),
            "{KERNEL} of the namespace cannot be bound into the machine"
        );
        Self { node }
    }

    /// Every value that the plan may write, and what says whether tuned runs.
    pub(crate) fn values(&self) -> Values {
        let plan = [
            "/proc/sys/net/core/rmem_max",
            "/proc/sys/net/core/wmem_max",
            "/proc/sys/net/core/optmem_max",
            "/proc/sys/net/core/default_qdisc",
            "/proc/sys/net/core/netdev_max_backlog",
            "/proc/sys/net/ipv4/tcp_rmem",
            "/proc/sys/net/ipv4/tcp_wmem",
            "/proc/sys/net/ipv4/tcp_congestion_control",
            "/proc/sys/net/ipv4/tcp_mtu_probing",
            "/proc/sys/net/ipv4/tcp_slow_start_after_idle",
            "/proc/sys/net/ipv4/tcp_no_metrics_save",
            "/proc/sys/net/ipv4/tcp_notsent_lowat",
            "/proc/sys/vm/dirty_bytes",
            "/proc/sys/vm/dirty_background_bytes",
            "/proc/sys/vm/swappiness",
            "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
            "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
            "/sys/block/nvme0n1/queue/read_ahead_kb",
            "/qdisc",
            "/running",
        ];
        let read = |path: &str| {
            let text = fs::read_to_string(self.node.path(path)).unwrap_or_default();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        plan.map(|path| (path.to_owned(), read(path))).into()
    }

    /// The values with the whole plan live; the machine is stock again afterwards.
    pub(crate) fn tuned(&self) -> Values {
        let stock = self.values();
        self.must(&["try"]);
        let tuned = self.values();
        let changed = tuned
            .iter()
            .filter(|(path, value)| stock.get(*path) != Some(value));
        assert!(changed.count() >= 8, "the plan changes too little: {tuned:?}");
        self.must(&["rollback"]);
        assert_eq!(self.values(), stock, "a rollback that nobody killed");
        tuned
    }

    fn agent(&self, args: &[&str], failpoint: Option<String>) -> Output {
        let root = self.node.path("/");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtn-firstboot"));
        command.arg("--root").arg(&root).args(args);
        command.env(
            "PATH",
            format!("{}:/usr/bin:/bin", self.node.path("/bin").display()),
        );
        command.env_remove("INVOCATION_ID").env_remove("DTN_FAILPOINT");
        if let Some(failpoint) = failpoint {
            command.env("DTN_FAILPOINT", failpoint);
        }
        command.output().unwrap()
    }

    /// Runs a command that must succeed.
    pub(crate) fn must(&self, args: &[&str]) {
        let output = self.agent(args, None);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {}: {text}", output.status);
    }

    /// Runs a command that is killed at its `point`th fail point; false when it came through. What else of the agent
    /// runs on this machine is killed with it.
    pub(crate) fn killed_at(&self, args: &[&str], point: usize) -> bool {
        let output = self.agent(args, Some(format!("any:{point}")));
        power::kill_all_of(&self.node.path("/"));
        let died = output.status.signal() == Some(9);
        assert!(
            died || output.status.code().is_some_and(|code| code != 1),
            "{args:?} at point {point}: {output:?}"
        );
        died
    }

    /// Starts the agent again in the same boot; a trial of an admin that is live and whole is rolled back. The state in
    /// which that ends.
    pub(crate) fn start_again(&self) -> String {
        self.answers(&["recover"]);
        if self.state() == "trial" {
            self.must(&["rollback"]);
        }
        self.state()
    }

    /// A power cut and the boot after it: `/run` and all values are gone, the early unit comes first, then systemd reads
    /// the files that it put there, then the agent. The state in which that ends.
    pub(crate) fn boot(&self, stock: &Values) -> String {
        power::kill_all_of(&self.node.path("/"));
        power::cut(&self.node);
        self.become_values(stock);
        self.must(&["early"]);
        power::apply_files(&self.node);
        // The boot's own trial would begin here where nothing is committed, and commit: it is a flow of its own.
        self.answers(&["recover"]);
        self.state()
    }

    /// Runs a command that may answer with any documented code but a failure.
    fn answers(&self, args: &[&str]) {
        let output = self.agent(args, None);
        assert!(
            output.status.code().is_some_and(|code| code != 1 && code != 5),
            "{args:?}: {output:?}"
        );
    }

    pub(crate) fn state(&self) -> String {
        let Ok(bytes) = fs::read(self.node.path("/etc/dtnforge/state.json")) else {
            return "stock".to_owned();
        };
        dtnforge_profiles::state::parse(&bytes)
            .unwrap()
            .state
            .name()
            .to_owned()
    }

    /// A machine on which nothing was ever tried.
    pub(crate) fn become_stock(&self, stock: &Values) {
        power::kill_all_of(&self.node.path("/"));
        power::cut(&self.node);
        let _ = fs::remove_file(self.node.path("/etc/dtnforge/state.json"));
        self.become_values(stock);
    }

    fn become_values(&self, values: &Values) {
        for (path, value) in values {
            if path == "/running" && value.is_empty() {
                let _ = fs::remove_file(self.node.path(path));
            } else {
                self.node.write(path, &format!("{value}\n"));
            }
        }
        let _ = fs::remove_file(self.node.path("/handle"));
    }

    /// No journal, no record, no half file of an agent that died.
    pub(crate) fn has_nothing_left(&self, about: &str) {
        for left in [
            "/run/dtnforge/trial.journal",
            "/run/dtnforge/withdrawal.journal",
            "/run/dtnforge/window.json",
            "/run/dtnforge/files-trial.json",
        ] {
            assert!(!self.node.path(left).exists(), "{about}: {left} is left");
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut files = BTreeMap::new();
        let kernel_dir = self.node.path(KERNEL);
        collect(&self.node.path("/"), &kernel_dir, &mut files);
        let mut kernel = self.values();
        kernel.retain(|path, _| path.starts_with(KERNEL));
        Snapshot { files, kernel }
    }

    pub(crate) fn restore(&self, snapshot: &Snapshot) {
        let now = self.snapshot();
        for path in now
            .files
            .keys()
            .filter(|path| !snapshot.files.contains_key(*path))
        {
            fs::remove_file(path).unwrap();
        }
        for (path, (mode, bytes)) in &snapshot.files {
            if now
                .files
                .get(path)
                .is_none_or(|found| found != &(*mode, bytes.clone()))
            {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
        for (path, value) in &snapshot.kernel {
            self.node.write(path, value);
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        power::kill_all_of(&self.node.path("/"));
        let target = self.node.path(KERNEL);
        let unmounted = Command::new("umount").arg(&target).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()),
            "{target:?} is still mounted"
        );
    }
}

fn collect(directory: &Path, without: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() && path != without {
            collect(&path, without, found);
        } else if about.is_file() {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, (about.permissions().mode(), bytes));
        }
    }
}
