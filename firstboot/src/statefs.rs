//! What the state is kept on: the node's disk, or memory in its place.
//!
//! The initrd of our image tries the state partition. Where it is missing, full, read-only or returns errors the node
//! boots on a tmpfs, and the initrd leaves a sentence that says why.

use crate::host::Host;
use std::fs;

/// The initrd's sentence.
const FAULT: &str = "/run/dtnforge/state-fault";
const MOUNTS: &str = "/proc/self/mounts";

/// Why the state would be gone at the next boot; `None` when it is kept, and on a host without a file system of ours.
pub fn fault(host: &Host) -> Option<String> {
    let Ok(mounts) = fs::read_to_string(host.path(MOUNTS)) else {
        // What cannot be seen is not trusted to last.
        return Some(format!("{MOUNTS} cannot be read"));
    };
    if !is_in_memory(&mounts) {
        return None;
    }
    let said = fs::read_to_string(host.path(FAULT)).unwrap_or_default();
    match said.lines().next().map(str::trim) {
        None | Some("") => Some("the state partition is missing".to_owned()),
        Some(line) => Some(line.to_owned()),
    }
}

fn is_in_memory(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let mut fields = line.split(' ');
        matches!((fields.nth(1), fields.next()), (Some("/state"), Some("tmpfs")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose mount table and sentence of the initrd are these.
    fn fault_of(mounts: &str, said: Option<&str>) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(dir.path()));
        for (path, text) in [(MOUNTS, Some(mounts)), (FAULT, said)] {
            if let Some(text) = text {
                fs::create_dir_all(host.path(path).parent().unwrap()).unwrap();
                fs::write(host.path(path), text).unwrap();
            }
        }
        fault(&host)
    }

    const DISK: &str = "/dev/vda6 /state ext4 rw,noatime 0 0\ntmpfs /run tmpfs rw 0 0\n";
    const MEMORY: &str = "overlay /etc overlay rw 0 0\ndtn-state /state tmpfs rw,mode=755 0 0\n";

    #[test]
    fn a_state_on_its_disk_has_no_fault_whatever_the_initrd_said() {
        assert_eq!(fault_of(DISK, Some("the state partition is full\n")), None);
        assert_eq!(fault_of("", None), None);
    }

    #[test]
    fn a_state_in_memory_has_the_reason_of_the_initrd() {
        assert_eq!(
            fault_of(MEMORY, Some("the state partition is full\n")).as_deref(),
            Some("the state partition is full")
        );
        for said in [None, Some(""), Some("\n")] {
            assert_eq!(
                fault_of(MEMORY, said).as_deref(),
                Some("the state partition is missing")
            );
        }
    }

    #[test]
    fn what_cannot_be_seen_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(dir.path()));
        assert_eq!(fault(&host).as_deref(), Some("/proc/self/mounts cannot be read"));
    }
}
