//! The tools tree: a small Debian tree with the programs that make and boot images, so that a build host needs only
//! apt, mmdebstrap and cargo, and so that two hosts use the same tools.
//!
//! It is unpacked from package files, not installed: no maintainer script runs, no root is needed, and it is there
//! in seconds. Programs that need no mounts can be run from it by its own loader, others through [`Inside`].

use crate::cache::Cache;
use crate::fsx::{self, FileError};
use crate::inside::Inside;
use crate::packages::apt::{Apt, AptError};
use crate::packages::host::{self, HostError};
use crate::packages::lock::Package;
use crate::packages::pool::{Pool, PoolError};
use crate::run::{Program, RunError};
use dtnforge_profiles::digest::Digest;
use std::path::{Path, PathBuf};

/// What is in the tools tree, beside what these depend on.
pub const PACKAGES: [&str; 17] = [
    "bash",
    "coreutils",
    "cryptsetup-bin",
    "dosfstools",
    "e2fsprogs",
    "erofs-utils",
    "fdisk",
    // What a netboot set brings along for machines without an iPXE of their own.
    "ipxe",
    "ipxe-qemu",
    "mtools",
    "ovmf",
    "qemu-system-x86",
    "qemu-utils",
    "systemd-boot-efi",
    "systemd-repart",
    "systemd-ukify",
    "zstd",
];
/// The suite that they come from.
pub const SUITE: &str = "trixie";
/// Changes when the way of unpacking changes, so that trees made in the old way are not used.
const RECIPE: u32 = 1;

/// Why there is no tools tree.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// A package could not be unpacked.
    #[error("stage `tools`: cannot unpack {name} {version}")]
    Unpack {
        /// Package.
        name: String,
        /// Version.
        version: String,
        /// Reason.
        source: RunError,
    },
    /// The packages could not be resolved.
    #[error("stage `tools`")]
    Apt(#[from] AptError),
    /// No archive is known.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The packages could not be fetched.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Files of ours.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A tools tree that is whole.
#[derive(Debug, Clone)]
pub struct ToolsTree {
    root: PathBuf,
    key: Digest,
}

impl ToolsTree {
    /// A tools tree for booting: the newest one in the cache, or else one of today's packages.
    ///
    /// # Errors
    /// None is cached, and its packages cannot be had.
    pub fn ensure(cache: &Cache) -> Result<Self, ToolsError> {
        if let Some(tree) = Self::newest(cache)? {
            return Ok(tree);
        }
        let _lock = cache.lock(&|line| eprintln!("{line}"))?;
        let archives = host::archives(Path::new("/"), cache, None, SUITE)?;
        let apt = Apt::open(cache, &archives)?;
        apt.update()?;
        let requested = PACKAGES.map(str::to_owned);
        let packages = apt.resolve(&requested, false)?;
        Pool::of(cache).ensure(cache, Some(&apt), &packages)?;
        Self::of_packages(cache, &packages)
    }

    /// The tree of exactly these packages, whose files are in the pool. The caller holds the cache's lock.
    ///
    /// # Errors
    /// A package cannot be unpacked.
    pub fn of_packages(cache: &Cache, packages: &[Package]) -> Result<Self, ToolsError> {
        let key = key(packages);
        let place = cache.path("tools").join(key.as_str());
        if !place.is_dir() {
            let scratch = cache.scratch("tools")?;
            unpack(&Pool::of(cache), packages, scratch.path())?;
            scratch.keep_as(&place)?;
        }
        Ok(Self {
            root: place.join("tree"),
            key,
        })
    }

    /// Whether the tree of these packages is there already.
    pub fn is_cached(cache: &Cache, packages: &[Package]) -> bool {
        cache.path("tools").join(key(packages).as_str()).is_dir()
    }

    fn newest(cache: &Cache) -> Result<Option<Self>, FileError> {
        let age = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let newest = fsx::list(&cache.path("tools"))?.into_iter().max_by_key(age);
        Ok(newest.and_then(|place| {
            let key = Digest::try_from(place.file_name()?.to_string_lossy().into_owned()).ok()?;
            Some(Self {
                root: place.join("tree"),
                key,
            })
        }))
    }

    /// The tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the tree is made of, as one digest.
    pub fn key(&self) -> &Digest {
        &self.key
    }

    /// A program of the tree, to be run with the tree as its root.
    pub fn inside(&self, program: &str) -> Inside {
        Inside::new(&self.root, program)
    }
}

fn key(packages: &[Package]) -> Digest {
    let mut text = format!("tools {RECIPE}\n");
    for package in packages {
        text.push_str(package.sha256.as_str());
        text.push('\n');
    }
    Digest::of(text.as_bytes())
}

fn unpack(pool: &Pool, packages: &[Package], directory: &Path) -> Result<(), ToolsError> {
    let tree = directory.join("tree");
    // The directories that Debian merged: packages may still ship files under the old names.
    for (link, target) in [
        ("bin", "usr/bin"),
        ("sbin", "usr/sbin"),
        ("lib", "usr/lib"),
        ("lib64", "usr/lib64"),
    ] {
        fsx::create_dir_all(&tree.join(target))?;
        let place = tree.join(link);
        std::os::unix::fs::symlink(target, &place)
            .map_err(|source| FileError::new("link", &place, source))?;
    }
    for place in ["dev", "proc", "run", "tmp", "mnt", "var/tmp"] {
        fsx::create_dir_all(&tree.join(place))?;
    }
    let log = directory.join("unpack.log");
    for package in packages {
        Program::new("dpkg-deb")
            .arg("--extract")
            .arg(pool.file(package))
            .arg(&tree)
            .run(&log)
            .map_err(|source| ToolsError::Unpack {
                name: package.name.clone(),
                version: package.version.clone(),
                source,
            })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(content: &str) -> Package {
        let sha256 = Digest::of(content.as_bytes());
        Package {
            name: "a".into(),
            version: "1".into(),
            arch: "all".into(),
            size: 1,
            sha256,
        }
    }

    #[test]
    fn the_key_of_a_tree_follows_the_content_of_its_packages() {
        assert_eq!(key(&[package("x")]), key(&[package("x")]));
        assert_ne!(key(&[package("x")]), key(&[package("y")]));
    }

    #[test]
    fn a_package_that_cannot_be_unpacked_is_named_and_leaves_no_tree() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(home.path())).unwrap();
        let error = ToolsTree::of_packages(&cache, &[package("x")]).unwrap_err();
        assert_eq!(error.to_string(), "stage `tools`: cannot unpack a 1");
        assert!(fsx::list(&cache.path("tools")).unwrap().is_empty());
    }
}
