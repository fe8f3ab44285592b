//! A node whose systemctl is a script that keeps what it was told.

use crate::atomic;
use crate::host::Host;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The node; gone when dropped.
pub(super) struct Node {
    dir: tempfile::TempDir,
    /// Its files.
    pub(super) host: Host,
}

impl Node {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(&dir.path().join("root"), Some(&dir.path().join("bin")));
        fs::create_dir_all(host.path("/run/systemd/system")).unwrap();
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        Self { dir, host }
    }

    /// The answer of systemctl is what the shell text `answer` prints.
    pub(super) fn systemctl(&self, answer: &str) {
        let told = self.dir.path().join("told");
        let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\n{answer}\n", told.display());
        let path = self.dir.path().join("bin/systemctl");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What systemctl was told, one line a call.
    pub(super) fn told(&self) -> String {
        fs::read_to_string(self.dir.path().join("told")).unwrap_or_default()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        atomic::write(&self.host.path(path), text.as_bytes(), 0o644).unwrap();
    }
}
