//! Which program holds a socket, and in which systemd unit it runs.

use crate::host::Host;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A running program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) pid: u32,
    pub(super) unit: Option<String>,
}

/// The programs by the inodes of their sockets. Those that we may not look at are left out, and a process that ends
/// while we look is none.
pub(super) fn by_socket(host: &Host) -> BTreeMap<u32, Program> {
    let mut found = BTreeMap::new();
    let Ok(processes) = fs::read_dir(host.path("/proc")) else {
        return found;
    };
    let mut pids: Vec<u32> = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    // The listener of a pool of processes belongs to the one that started first.
    pids.sort_unstable();
    for pid in pids {
        let directory = host.path(&format!("/proc/{pid}"));
        for inode in sockets(&directory) {
            found.entry(inode).or_insert_with(|| program(&directory, pid));
        }
    }
    found
}

fn sockets(process: &Path) -> Vec<u32> {
    let Ok(files) = fs::read_dir(process.join("fd")) else {
        return Vec::new();
    };
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let number = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    };
    files.flatten().filter_map(inode).collect()
}

fn program(process: &Path, pid: u32) -> Program {
    let text = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
    Program {
        // A program may give itself any name: nothing in it may move the cursor of whoever reads it.
        name: text("comm").trim().replace(char::is_control, "?"),
        pid,
        unit: unit(&text("cgroup")),
    }
}

/// The innermost service or socket unit of a control group.
fn unit(cgroup: &str) -> Option<String> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".socket");
    path.rsplit('/').find(is_unit).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_innermost_one_and_a_session_has_none() {
        assert_eq!(
            unit("0::/system.slice/system-xrootd.slice/xrootd@dtn.service\n").as_deref(),
            Some("xrootd@dtn.service")
        );
        assert_eq!(unit("0::/user.slice/user-0.slice/session-3.scope\n"), None);
        assert_eq!(unit(""), None);
    }

    #[test]
    fn our_own_listener_is_found_under_our_own_name() {
        let _socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let pid = std::process::id();
        let found = by_socket(&Host::live());
        assert!(found.values().any(|program| program.pid == pid), "{found:?}");
    }
}
