//! What a power cut does to a machine, and what a boot does before the agent.

use crate::node::Node;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Kills every agent that was started on the machine at `root`, as a power cut does; others are not touched.
pub(crate) fn kill_all_of(root: &Path) {
    let root = root.to_str().unwrap().trim_end_matches('/').as_bytes().to_vec();
    let own = std::process::id();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // A process that ends meanwhile has no command line any more.
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        let is_agent = words
            .next()
            .is_some_and(|program| program.ends_with(b"dtn-firstboot"));
        let on_it = words.any(|word| word.strip_suffix(b"/").unwrap_or(word) == root);
        if pid != own && is_agent && on_it {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap());
            let _ = kill(pid, Signal::SIGKILL);
            while fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| !text.is_empty()) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
}

/// What is in memory is gone: `/run`, and with it the boot's id and all that runs.
pub(crate) fn cut(node: &Node) {
    static BOOTS: AtomicU32 = AtomicU32::new(1);
    let _ = fs::remove_dir_all(node.path("/run"));
    let _ = fs::remove_file(node.path("/running"));
    for file in ["active_profile", "profile_mode"] {
        // On our image these are links into /run.
        let _ = fs::remove_file(node.path(&format!("/etc/tuned/{file}")));
    }
    let number = BOOTS.fetch_add(1, Ordering::SeqCst);
    let id = format!("5d1e3f0a-0000-4000-8000-{number:012}\n");
    node.write("/proc/sys/kernel/random/boot_id", &id);
}

/// What systemd-sysctl, udev and tuned do with the files of a commit.
pub(crate) fn apply_files(node: &Node) {
    let list = |directory: &str| fs::read_dir(node.path(directory)).into_iter().flatten().flatten();
    for file in list("/run/sysctl.d") {
        for line in fs::read_to_string(file.path()).unwrap().lines() {
            if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
                let path = format!("/proc/sys/{}", key.trim().replace('.', "/"));
                node.write(&path, &format!("{}\n", value.trim()));
            }
        }
    }
    // The port comes up after that, with the default.
    let kind = fs::read_to_string(node.path("/proc/sys/net/core/default_qdisc")).unwrap();
    node.write("/qdisc", &kind);
    for profile in list("/run/dtnforge/tuned/profiles") {
        let text = fs::read_to_string(profile.path().join("tuned.conf")).unwrap_or_default();
        node.write(
            "/etc/tuned/active_profile",
            &format!("{}\n", profile.file_name().to_str().unwrap()),
        );
        node.write(
            "/running",
            &format!("{}\n", profile.file_name().to_str().unwrap()),
        );
        apply_tuned(node, &text);
    }
}

fn apply_tuned(node: &Node, text: &str) {
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = format!("{}\n", value.trim());
        match key.trim() {
            "governor" => {
                for policy in [0, 1] {
                    let path = format!("/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor");
                    node.write(&path, &value);
                }
            }
            "readahead" => node.write("/sys/block/nvme0n1/queue/read_ahead_kb", &value),
            "vm.swappiness" => node.write("/proc/sys/vm/swappiness", &value),
            _ => {}
        }
    }
}
