//! Removal of everything that carries our prefix: at the end of a measurement, and at the start of an agent whose
//! predecessor was killed.

use super::names::PREFIX;
use super::namespace::file_error;
use crate::host::Host;
use crate::measure::MeasureError;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::ErrorKind;
use std::time::Duration;

/// `ip` answers within this time, also in software emulation.
const STEP: Duration = Duration::from_secs(10);

/// Held while the emulated path exists. The kernel drops it with the process, however that ends.
pub(super) type Lock = Flock<File>;

/// Removes what a killed agent left: our namespaces with the processes inside, and our links.
///
/// Returns the names of what was removed; nothing to remove is no error.
///
/// # Errors
/// [`MeasureError::Busy`] while a measurement runs; else what could not be removed. The rest is removed all the same.
pub fn cleanup_leftovers(host: &Host) -> Result<Vec<String>, MeasureError> {
    let _lock = lock(host)?;
    remove_ours(host)
}

/// Takes the lock of this host's emulated path.
pub(super) fn lock(host: &Host) -> Result<Lock, MeasureError> {
    let path = host.path("/run/dtnforge/measure.lock");
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|source| file_error(directory, source))?;
    }
    let file = File::create(&path).map_err(|source| file_error(&path, source))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        Errno::EWOULDBLOCK => MeasureError::Busy { lock: path.clone() },
        other => file_error(&path, other.into()),
    })
}

/// Removes everything of ours. The caller holds the lock. The first error is returned after all else was tried.
pub(super) fn remove_ours(host: &Host) -> Result<Vec<String>, MeasureError> {
    let namespaces = ours(host, "/run/netns")?;
    let mut first_error = None;
    let mut removed = Vec::new();
    for name in namespaces {
        match remove_namespace(host, &name) {
            Ok(()) => removed.push(name),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    // Our links live in our namespaces and go with them. One that is elsewhere was moved, and is still ours.
    for name in ours(host, "/sys/class/net")? {
        match host.run("ip", &["link", "del", "dev", &name], STEP) {
            Ok(_) => removed.push(name),
            Err(error) => first_error = first_error.or(Some(error.into())),
        }
    }
    first_error.map_or(Ok(removed), Err)
}

/// Names in `directory` that begin with our prefix, sorted. A directory that does not exist has none.
fn ours(host: &Host, directory: &str) -> Result<Vec<String>, MeasureError> {
    let path = host.path(directory);
    let entries = match std::fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(file_error(&path, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| file_error(&path, source))?;
        // A name that is no UTF-8 is none of ours.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with(PREFIX) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Ends the processes inside a namespace of ours and deletes it.
fn remove_namespace(host: &Host, name: &str) -> Result<(), MeasureError> {
    // A name whose namespace was never attached, or a second boot's leftover, has no processes that can be listed.
    match host.run("ip", &["netns", "pids", name], STEP) {
        Ok(text) => pids(&text).for_each(end),
        Err(error) => log::debug!("no processes listed: {error}"),
    }
    host.run("ip", &["netns", "del", name], STEP)?;
    Ok(())
}

fn end(pid: Pid) {
    match kill(pid, Signal::SIGKILL) {
        // It ended by itself between being listed and now.
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => log::warn!("cannot end process {pid} in a namespace of ours: {errno}"),
    }
}

/// Process numbers, one in a line. Never 0, 1 or a negative number, which `kill` takes for more than one process.
fn pids(text: &str) -> impl Iterator<Item = Pid> {
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .filter(|&pid: &i32| pid > 1)
        .map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A host with these namespaces and links, whose `ip` writes its arguments into a log, and fails for some.
    fn host(namespaces: &[&str], links: &[&str], fails_on: &str) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        for (directory, names) in [("run/netns", namespaces), ("sys/class/net", links)] {
            let directory = root.path().join(directory);
            std::fs::create_dir_all(&directory).unwrap();
            for name in names {
                std::fs::write(directory.join(name), "").unwrap();
            }
        }
        let bin = root.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> {}/log\ncase \"$*\" in *{fails_on}*) echo 'no such thing' >&2; exit 1;; esac\n",
            root.path().display()
        );
        std::fs::write(bin.join("ip"), script).unwrap();
        std::fs::set_permissions(bin.join("ip"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let host = Host::at(root.path(), Some(&bin));
        (root, host)
    }

    fn log(root: &tempfile::TempDir) -> Vec<String> {
        let text = std::fs::read_to_string(root.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn exactly_what_carries_our_prefix_is_removed() {
        let (root, host) = host(
            &["dtnf-snd", "dtnf-mid", "blue", "xdtnf-snd", "dtn"],
            &["eth0", "dtnf-mid-s", "lo"],
            "nothing",
        );
        assert_eq!(
            cleanup_leftovers(&host).unwrap(),
            ["dtnf-mid", "dtnf-snd", "dtnf-mid-s"]
        );
        assert_eq!(
            log(&root),
            [
                "netns pids dtnf-mid",
                "netns del dtnf-mid",
                "netns pids dtnf-snd",
                "netns del dtnf-snd",
                "link del dev dtnf-mid-s",
            ]
        );
    }

    #[test]
    fn one_that_cannot_be_removed_is_told_and_does_not_keep_the_others() {
        let (root, host) = host(&["dtnf-mid", "dtnf-snd"], &[], "del\\ dtnf-mid");
        let error = cleanup_leftovers(&host).unwrap_err().to_string();
        assert_eq!(
            error,
            "ip netns del dtnf-mid ended with exit status: 1: no such thing"
        );
        assert!(log(&root).contains(&"netns del dtnf-snd".to_owned()));
    }

    #[test]
    fn a_host_without_namespaces_has_nothing_to_remove() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::at(root.path(), None);
        assert_eq!(cleanup_leftovers(&host).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn nothing_is_removed_under_a_running_measurement() {
        let (root, host) = host(&["dtnf-mid"], &[], "nothing");
        let held = lock(&host).unwrap();
        let error = cleanup_leftovers(&host).unwrap_err().to_string();
        assert!(
            error.starts_with("another measurement runs on this host ("),
            "{error}"
        );
        assert!(log(&root).is_empty());
        drop(held);
        cleanup_leftovers(&host).unwrap();
    }

    #[test]
    fn numbers_that_would_kill_more_than_one_process_are_no_process_numbers() {
        let found: Vec<i32> = pids("0\n1\n-1\n-500\n\nx\n4711\n99999999999\n")
            .map(Pid::as_raw)
            .collect();
        assert_eq!(found, [4711]);
    }
}
