//! The throw-away directory of one boot, in which QEMU runs.
//!
//! It holds a lock for as long as its owner lives. An owner that was killed leaves the directory behind without the
//! lock, and the next boot removes it.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use super::error::BootError;
use super::note;

const PREFIX: &str = "dtnforge-boot.";
const LOCK: &str = "lock";

/// A directory that vanishes with its owner.
#[derive(Debug)]
pub struct Workdir {
    dir: TempDir,
    _lock: Flock<File>,
}

impl Workdir {
    /// A new directory below `parent`; removes those that killed owners left there.
    ///
    /// # Errors
    /// When the directory or its lock cannot be made.
    pub fn create(parent: &Path) -> Result<Workdir, BootError> {
        remove_abandoned(parent);
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(parent)
            .map_err(BootError::file("create a directory in", parent))?;
        let lock = held_lock(&dir.path().join(LOCK))?;
        Ok(Workdir { dir, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Keeps the directory under the name `target`, which must be on the same file system and must not exist.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn keep_as(self, target: &Path) -> Result<(), BootError> {
        let lock = self.dir.path().join(LOCK);
        std::fs::remove_file(&lock).map_err(BootError::file("remove", &lock))?;
        let path = self.dir.keep();
        std::fs::rename(&path, target).map_err(BootError::file("move the snapshot to", target))
    }
}

/// A file at `path` that appears with its lock already held: nobody can take it in between for an abandoned one.
fn held_lock(path: &Path) -> Result<Flock<File>, BootError> {
    let early = path.with_extension("new");
    let file = File::create(&early).map_err(BootError::file("create", &early))?;
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| BootError::File {
        action: "lock",
        path: early.clone(),
        source: errno.into(),
    })?;
    std::fs::rename(&early, path).map_err(BootError::file("create", path))?;
    Ok(lock)
}

/// The place for big throw-away files: `TMPDIR`, else `/var/tmp` (`/tmp` may be memory).
pub fn scratch_parent() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

/// Removes directories of ours whose owner is dead. What cannot be looked at or removed is somebody else's and stays.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    {
        let Ok(file) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        if let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            note(&format!(
                "removing {}, left behind by a boot that was killed",
                entry.path().display()
            ));
            // Not ours to remove when it fails: another boot may be at it as well.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_vanishes_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let path = Workdir::create(parent.path()).unwrap().path().to_owned();
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_owner_left_is_removed_and_a_living_one_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let abandoned = parent.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&abandoned).unwrap();
        std::fs::write(abandoned.join(LOCK), "").unwrap();
        let foreign = parent.path().join(format!("{PREFIX}unlocked"));
        std::fs::create_dir(&foreign).unwrap();
        let living = Workdir::create(parent.path()).unwrap();
        let other = Workdir::create(parent.path()).unwrap();
        assert!(!abandoned.exists());
        assert!(foreign.exists() && living.path().exists() && other.path().exists());
    }

    #[test]
    fn a_directory_that_is_kept_stays_under_its_new_name() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("kept");
        let workdir = Workdir::create(parent.path()).unwrap();
        std::fs::write(workdir.path().join("a"), "b").unwrap();
        workdir.keep_as(&target).unwrap();
        assert_eq!(std::fs::read_to_string(target.join("a")).unwrap(), "b");
        assert!(!target.join(LOCK).exists());
    }
}
