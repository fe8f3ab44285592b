//! What systemd knows of sshd: the ports that its units really listen on, and whether somebody masked them.
//!
//! The configuration does not say it all: `SSHD_OPTS`, a drop-in of `ssh.socket` and a file that is included elsewhere
//! may name another port.

use super::listeners;
use crate::host::Host;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// sshd and the sockets that start it, under the names that they have on Debian and elsewhere.
const UNITS: [&str; 4] = ["ssh.service", "sshd.service", "ssh.socket", "sshd.socket"];
/// Time for a question to systemd.
const QUESTION: Duration = Duration::from_secs(20);

/// The ports on which the running sshd listens, and those of its sockets. None where systemd does not answer.
pub(super) fn ports(host: &Host, tables: &[String]) -> BTreeSet<u16> {
    let answer = show(host, "MainPID,Listen");
    let value = |name: &'static str| answer.lines().filter_map(move |line| line.strip_prefix(name));
    let sockets = value("Listen=").filter_map(of_socket);
    let inodes: BTreeSet<u64> = value("MainPID=")
        .filter(|pid| *pid != "0" && pid.bytes().all(|byte| byte.is_ascii_digit()))
        .flat_map(|pid| sockets_of(host, pid))
        .collect();
    let served = tables
        .iter()
        .flat_map(|table| listeners(table))
        .filter(|listener| inodes.contains(&listener.inode))
        .map(|listener| listener.port);
    sockets.chain(served).collect()
}

/// The units of sshd that are masked, when none is left that is not.
pub(super) fn masked(host: &Host) -> Option<String> {
    all_masked(&show(host, "Id,LoadState"))
}

fn all_masked(answer: &str) -> Option<String> {
    let value = |unit: &str, name: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().to_owned()
    };
    let mut masked = BTreeSet::new();
    for unit in answer.split("\n\n") {
        match value(unit, "LoadState=").as_str() {
            "masked" => masked.insert(value(unit, "Id=")),
            "not-found" => continue,
            _ => return None,
        };
    }
    let names: Vec<String> = masked.into_iter().collect();
    (!names.is_empty()).then(|| format!("{} is masked", names.join(", ")))
}

fn show(host: &Host, properties: &str) -> String {
    let property = format!("--property={properties}");
    let args = [&["show", &property], UNITS.as_slice()].concat();
    host.run("systemctl", &args, QUESTION).unwrap_or_default()
}

/// The port of `[::]:2222 (Stream)`.
fn of_socket(listen: &str) -> Option<u16> {
    let (_, port) = listen.strip_suffix(" (Stream)")?.rsplit_once(':')?;
    port.parse().ok()
}

/// The inodes of all sockets that a process has open. One that ends meanwhile has none.
fn sockets_of(host: &Host, pid: &str) -> Vec<u64> {
    let descriptors = fs::read_dir(host.path(&format!("/proc/{pid}/fd")));
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    };
    descriptors
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(inode)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::listening;
    use super::*;
    use crate::atomic;
    use std::os::unix::fs::symlink;

    /// A node on which something listens on ports 2200 (inode 71) and 3300 (inode 72).
    fn node(answer: &str) -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(&dir.path().join("bin")));
        let write = |path: &str, text: &str, mode| {
            atomic::write(&dir.path().join(path), text.as_bytes(), mode).unwrap();
        };
        write("bin/systemctl", &format!("#!/bin/sh\nprintf '{answer}'\n"), 0o755);
        let line = |port, inode| format!(" 0: 00000000:{port} 00000000:0000 0A 0:0 00:0 0 0 0 {inode} 1\n");
        let table = format!("sl\n{}{}", line("0898", 71), line("0CE4", 72));
        write("proc/net/tcp", &table, 0o644);
        fs::create_dir_all(dir.path().join("proc/812/fd")).unwrap();
        for (fd, target) in [("0", "/dev/null"), ("3", "socket:[71]"), ("4", "socket:[9]")] {
            symlink(target, dir.path().join("proc/812/fd").join(fd)).unwrap();
        }
        (dir, host)
    }

    #[test]
    fn a_port_that_only_the_options_of_the_unit_name_is_that_of_its_process() {
        let (_dir, host) = node("MainPID=812\\n\\nMainPID=0\\n");
        assert_eq!(listening(&host), BTreeSet::from([2200]));
    }

    #[test]
    fn a_port_of_a_drop_in_of_the_socket_counts_when_something_listens_there() {
        let (_dir, host) = node("MainPID=0\\n\\nListen=[::]:3300 (Stream)\\nListen=[::]:3301 (Stream)\\n");
        assert_eq!(listening(&host), BTreeSet::from([3300]));
    }

    #[test]
    fn what_others_listen_on_is_none_of_sshd() {
        let (_dir, host) = node("MainPID=0\\n");
        assert_eq!(listening(&host), BTreeSet::new());
    }

    #[test]
    fn sshd_is_masked_when_no_unit_of_it_is_left() {
        let unit = |id: &str, load: &str| format!("Id={id}\nLoadState={load}\n");
        let masked = [unit("ssh.service", "masked"), unit("sshd.socket", "not-found")].join("\n");
        assert_eq!(all_masked(&masked).as_deref(), Some("ssh.service is masked"));
        let left = [unit("ssh.service", "masked"), unit("ssh.socket", "loaded")].join("\n");
        assert_eq!(all_masked(&left), None);
        assert_eq!(
            all_masked(&unit("ssh.service", "not-found")),
            None,
            "not installed"
        );
        assert_eq!(all_masked(""), None, "no answer");
    }
}
