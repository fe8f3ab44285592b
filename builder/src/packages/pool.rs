//! The pool: package files by digest. Once here, a package needs no network again.

use super::apt::{Apt, AptError};
use super::lock::Package;
use crate::cache::Cache;
use crate::digest;
use crate::fsx::{self, FileError};
use crate::interrupt::{self, Interrupted};
use dtnforge_profiles::digest::Digest;
use std::path::{Path, PathBuf};

/// How many packages one download takes; what it fetched is kept when the next one fails.
const BATCH: usize = 40;

/// Why not all packages are here.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The network may not be used.
    #[error(
        "{missing} of {all} packages are not cached, the first is {first}, and --offline forbids to fetch them\nhint: run it once without --offline"
    )]
    Offline {
        /// How many are missing.
        missing: usize,
        /// Of how many.
        all: usize,
        /// One of them.
        first: String,
    },
    /// Fetching failed.
    #[error("stage `fetch`: {cached} of {all} packages are cached, {missing} are missing")]
    Fetch {
        /// How many are here.
        cached: usize,
        /// How many are not.
        missing: usize,
        /// Of how many.
        all: usize,
        /// Reason.
        source: AptError,
    },
    /// The archive serves other bytes under a locked version.
    #[error(
        "{name} {version}: the archive serves a file with SHA-256 {found}, the lock says {locked}\nhint: do not trust either before you know why; `dtnforge lock --update SPEC` takes the new one"
    )]
    Digest {
        /// Package.
        name: String,
        /// Version.
        version: String,
        /// Digest of the file that came.
        found: Digest,
        /// Digest in the lock.
        locked: Digest,
    },
    /// The user asked us to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// apt.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// Files of ours.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The package files in the cache.
#[derive(Debug)]
pub struct Pool {
    directory: PathBuf,
}

impl Pool {
    /// The pool of `cache`.
    pub fn of(cache: &Cache) -> Self {
        Self {
            directory: cache.path("debs"),
        }
    }

    /// Where the file of `package` is, or will be.
    pub fn file(&self, package: &Package) -> PathBuf {
        self.directory.join(format!("{}.deb", package.sha256))
    }

    /// Those of `packages` whose files are not here.
    pub fn missing<'a>(&self, packages: &'a [Package]) -> Vec<&'a Package> {
        packages
            .iter()
            .filter(|package| !self.file(package).is_file())
            .collect()
    }

    /// Makes sure that all of `packages` are here.
    ///
    /// # Errors
    /// They are not, and `apt` is `None`; fetching fails; a file has another digest than its lock.
    pub fn ensure(&self, cache: &Cache, apt: Option<&Apt>, packages: &[Package]) -> Result<usize, PoolError> {
        let missing = self.missing(packages);
        let Some(first) = missing.first() else {
            return Ok(0);
        };
        let Some(apt) = apt else {
            let first = format!("{} {}", first.name, first.version);
            return Err(PoolError::Offline {
                missing: missing.len(),
                all: packages.len(),
                first,
            });
        };
        let fetched = missing.len();
        self.fetch(cache, apt, &missing)
            .map_err(|error| self.explain(error, packages))?;
        Ok(fetched)
    }

    fn fetch(&self, cache: &Cache, apt: &Apt, missing: &[&Package]) -> Result<(), PoolError> {
        apt.update()?;
        apt.check_available(missing)?;
        for batch in missing.chunks(BATCH) {
            interrupt::check()?;
            let scratch = cache.scratch("fetch")?;
            apt.download(batch, scratch.path())?;
            let files = fsx::list(scratch.path())?;
            for package in batch {
                self.take(package, &files)?;
            }
        }
        Ok(())
    }

    /// Moves the file of `package` from `files` to its place.
    fn take(&self, package: &Package, files: &[PathBuf]) -> Result<(), PoolError> {
        let named = |path: &&PathBuf| file_name_matches(path, package);
        let Some(path) = files.iter().find(named) else {
            return Err(PoolError::Apt(AptError::Form {
                said: format!("no file for {}", package.name),
                expected: "one file for each package",
            }));
        };
        let found = digest::of_file(path)?;
        if found != package.sha256 {
            let (name, version) = (package.name.clone(), package.version.clone());
            return Err(PoolError::Digest {
                name,
                version,
                found,
                locked: package.sha256.clone(),
            });
        }
        Ok(fsx::rename(path, &self.file(package))?)
    }

    fn explain(&self, error: PoolError, packages: &[Package]) -> PoolError {
        let missing = self.missing(packages).len();
        match error {
            PoolError::Apt(source) => PoolError::Fetch {
                cached: packages.len() - missing,
                missing,
                all: packages.len(),
                source,
            },
            other => other,
        }
    }
}

/// apt writes `name_version_arch.deb` with `:` as `%3a`.
fn file_name_matches(path: &Path, package: &Package) -> bool {
    let expected = format!(
        "{}_{}_{}.deb",
        package.name,
        package.version.replace(':', "%3a"),
        package.arch
    );
    path.file_name()
        .is_some_and(|name| name.to_string_lossy() == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(content: &[u8]) -> Package {
        Package {
            name: "openssh-server".into(),
            version: "1:10.0p1-7".into(),
            arch: "amd64".into(),
            size: 1,
            sha256: Digest::of(content),
        }
    }

    #[test]
    fn a_package_that_is_here_needs_no_network() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let pool = Pool::of(&cache);
        let package = package(b"deb");
        std::fs::write(pool.file(&package), "deb").unwrap();
        assert_eq!(pool.ensure(&cache, None, &[package]).unwrap(), 0);
    }

    #[test]
    fn offline_names_what_is_missing() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let error = Pool::of(&cache)
            .ensure(&cache, None, &[package(b"deb")])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("1 of 1 packages are not cached, the first is openssh-server 1:10.0p1-7"),
            "{error}"
        );
    }

    #[test]
    fn other_bytes_under_a_locked_version_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let file = home.path().join("openssh-server_1%3a10.0p1-7_amd64.deb");
        std::fs::write(&file, "other").unwrap();
        let error = Pool::of(&cache)
            .take(&package(b"deb"), &[file])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("openssh-server 1:10.0p1-7: the archive serves a file with SHA-256 "),
            "{error}"
        );
    }
}
