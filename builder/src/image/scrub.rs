//! Takes out of a tree what must not be in an image: identity, keys, seeds, caches, logs, and every trace of the
//! build host. And the kernel, which lives in the UKIs.

use crate::fsx::{self, FileError};
use crate::stage::StageError;
use std::path::{Path, PathBuf};

/// Removed with all that they hold. A `*` at the end matches any rest of the last part.
const REMOVED: [&str; 27] = [
    "boot/*",
    "initrd.img*",
    "vmlinuz*",
    // Identity of one node.
    "etc/ssh/ssh_host_*",
    "etc/nvme/hostnqn",
    "etc/nvme/hostid",
    "etc/hostname",
    "var/lib/dbus/machine-id",
    "var/lib/systemd/random-seed",
    // Traces of the build.
    "etc/.pwd.lock",
    // Carries the time of the build; mdadm finds arrays without it.
    "etc/mdadm/mdadm.conf",
    "etc/.resolv.conf.systemd-resolved.bak",
    "etc/resolv.conf",
    "etc/apt/apt.conf.d/99mmdebstrap",
    "etc/apt/sources.list",
    "etc/apt/sources.list.d/*",
    "etc/dpkg/dpkg.cfg.d/99mmdebstrap",
    "etc/group-",
    "etc/gshadow-",
    "etc/passwd-",
    "etc/shadow-",
    "etc/subgid-",
    "etc/subuid-",
    "var/lib/dpkg/*-old",
    // Made again where they are needed.
    "var/cache/*",
    "var/lib/apt/*",
    "var/log/*",
];

/// Scrubs `tree`.
///
/// # Errors
/// Something cannot be removed.
pub fn scrub(tree: &Path) -> Result<(), FileError> {
    for pattern in REMOVED {
        for path in matching(tree, pattern)? {
            fsx::remove_tree(&path)?;
        }
    }
    Ok(())
}

/// Refuses a tree with a private key under `/etc`: every node would have the same one, and everybody could read it.
///
/// # Errors
/// A key, with its path; or `/etc` cannot be read.
pub fn check_no_keys(tree: &Path) -> Result<(), StageError> {
    let etc = tree.join("etc");
    for relative in fsx::walk(&etc)? {
        let path = etc.join(&relative);
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|data| data.is_file());
        if is_file && holds_key(&fsx::read(&path)?) {
            return Err(StageError::Wrong(format!(
                "/etc/{} is a private key, and an image may hold none\nhint: a package or an overlay made it; let the node make it",
                relative.display()
            )));
        }
    }
    Ok(())
}

fn holds_key(content: &[u8]) -> bool {
    let line = b"PRIVATE KEY-----";
    content.starts_with(b"-----BEGIN ") && content.windows(line.len()).any(|window| window == line)
}

fn matching(tree: &Path, pattern: &str) -> Result<Vec<PathBuf>, FileError> {
    let (directory, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let directory = tree.join(directory);
    if !name.contains('*') {
        return Ok(vec![directory.join(name)]);
    }
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let (start, end) = name.split_once('*').unwrap_or((name, ""));
    let fits = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with(start) && name.ends_with(end) && name.len() >= start.len() + end.len()
    };
    Ok(fsx::list(&directory)?.into_iter().filter(fits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_refused_and_a_certificate_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("etc/ssl/node.pem");
        fsx::write(&path, b"-----BEGIN CERTIFICATE-----\n").unwrap();
        check_no_keys(home.path()).unwrap();
        fsx::write(&path, b"-----BEGIN OPENSSH PRIVATE KEY-----\n").unwrap();
        let error = check_no_keys(home.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("/etc/ssl/node.pem is a private key, and an image may hold none"),
            "{error}"
        );
    }

    #[test]
    fn keys_identity_and_caches_go_and_the_rest_stays() {
        let home = tempfile::tempdir().unwrap();
        for path in [
            "etc/ssh/ssh_host_rsa_key",
            "etc/ssh/sshd_config",
            "var/log/apt/term.log",
            "var/lib/dpkg/status-old",
            "var/lib/dpkg/status",
        ] {
            fsx::write(&home.path().join(path), b"x").unwrap();
        }
        scrub(home.path()).unwrap();
        let left: Vec<String> = fsx::walk(home.path())
            .unwrap()
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(
            left,
            [
                "etc",
                "etc/ssh",
                "etc/ssh/sshd_config",
                "var",
                "var/lib",
                "var/lib/dpkg",
                "var/lib/dpkg/status",
                "var/log"
            ]
        );
    }
}
