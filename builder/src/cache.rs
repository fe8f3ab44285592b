//! The cache: everything that can be made again, under one directory, addressed by content.
//!
//! ```text
//! debs/<sha256>.deb            packages, as the archive signed them
//! apt/<digest of sources>/     a private apt root: lists, so that resolving works offline
//! tools/<key>/                 tools trees
//! stages/<stage>/<key>/        what a stage made
//! specs/<digest>/<stage>.json  the inputs of the last build of a spec: why did a stage run?
//! outputs/<digest>.json        digests of files in an output directory
//! tmp/                         what is being made; emptied by the next run
//! ```
//!
//! A directory under its final name is whole: it is built in `tmp/` and renamed. One build at a time holds the
//! lock; what a killed build left in `tmp/` goes when the next one takes it.

use crate::fsx::{self, FileError};
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// Proof that this process alone writes to the cache. Let go when dropped.
#[derive(Debug)]
pub struct CacheLock {
    _file: Flock<File>,
}

impl Cache {
    /// Opens the cache at `root`, or at the user's default place when none is given.
    ///
    /// # Errors
    /// The directory cannot be made, or no default place is known.
    pub fn open(root: Option<&Path>) -> Result<Self, FileError> {
        let root = match root {
            Some(path) => path.to_owned(),
            None => default_root()?,
        };
        fsx::create_dir_all(&root)?;
        let root = fsx::canonicalize(&root)?;
        for part in ["debs", "apt", "tools", "stages", "specs", "outputs", "tmp"] {
            fsx::create_dir_all(&root.join(part))?;
        }
        Ok(Self { root })
    }

    /// The directory of the cache.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path in the cache.
    pub fn path(&self, part: &str) -> PathBuf {
        self.root.join(part)
    }

    /// Takes the cache for this process and removes what a killed run left half-made. Says so through `tell` when it
    /// has to wait for another one.
    ///
    /// # Errors
    /// The lock file cannot be opened, or the left-overs cannot be removed.
    pub fn lock(&self, tell: &dyn Fn(&str)) -> Result<CacheLock, FileError> {
        let path = self.path("lock");
        let file = fsx::create(&path)?;
        let locked = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => locked,
            Err((file, _busy)) => {
                tell(&format!(
                    "another build holds {}; waiting for it",
                    self.root.display()
                ));
                Flock::lock(file, FlockArg::LockExclusive)
                    .map_err(|(_, errno)| FileError::new("lock", &path, errno.into()))?
            }
        };
        self.remove_leftovers()?;
        Ok(CacheLock { _file: locked })
    }

    /// A fresh directory for something that is being made. Rename it when it is whole.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn scratch(&self, name: &str) -> Result<Scratch, FileError> {
        let path = self.path("tmp").join(format!("{name}.{}", std::process::id()));
        fsx::remove_tree(&path)?;
        fsx::create_dir_all(&path)?;
        Ok(Scratch { path })
    }

    fn remove_leftovers(&self) -> Result<(), FileError> {
        for path in fsx::list(&self.path("tmp"))? {
            fsx::remove_tree(&path)?;
        }
        Ok(())
    }
}

/// A directory under `tmp/`, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory its final name; something already there is replaced.
    ///
    /// # Errors
    /// What was made cannot be written to the disk, the old directory cannot be removed, or the rename fails.
    pub fn keep_as(self, target: &Path) -> Result<(), FileError> {
        if let Some(parent) = target.parent() {
            fsx::create_dir_all(parent)?;
        }
        // The name says that all of it is there: after a power cut, too.
        fsx::sync_file_system(&self.path)?;
        fsx::remove_tree(target)?;
        fsx::rename(&self.path, target)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fsx::remove_tree(&self.path) {
            tracing::warn!("left behind: {error}");
        }
    }
}

fn default_root() -> Result<PathBuf, FileError> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("DTNFORGE_CACHE")
        .or_else(|| absolute("XDG_CACHE_HOME").map(|path| path.join("dtnforge")))
        .or_else(|| absolute("HOME").map(|path| path.join(".cache/dtnforge")))
        .ok_or_else(|| {
            let error = std::io::Error::other(
                "neither XDG_CACHE_HOME nor HOME is set\nhint: name a directory with --cache",
            );
            FileError::new("find a place for the cache", Path::new("dtnforge"), error)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_appears_under_its_final_name_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let kept = cache.scratch("kept").unwrap();
        std::fs::write(kept.path().join("file"), "x").unwrap();
        kept.keep_as(&cache.path("stages/a/1")).unwrap();
        drop(cache.scratch("dropped").unwrap());
        assert!(cache.path("stages/a/1/file").exists());
        assert!(fsx::list(&cache.path("tmp")).unwrap().is_empty());
    }

    #[test]
    fn the_next_run_removes_what_a_killed_one_left() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        std::fs::create_dir_all(cache.path("tmp/root.99999/deep")).unwrap();
        let _lock = cache.lock(&|_| {}).unwrap();
        assert!(fsx::list(&cache.path("tmp")).unwrap().is_empty());
    }
}
