//! `manifest.json`: what was built, from what, with what. It holds no time and no path of the build host, so equal
//! builds have equal manifests.

use crate::fsx::{self, FileError};
use crate::packages::lock::{Lock, Package};
use crate::stage::outputs::Artefact;
use dtnforge_profiles::digest::Digest;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Form of the manifest.
pub const MANIFEST_SCHEMA: u32 = 1;
/// Its name in an output directory.
pub const FILE: &str = "manifest.json";

/// A profile that the image carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// Digest of its layer.
    pub digest: Digest,
}

/// The manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// [`MANIFEST_SCHEMA`].
    pub schema: u32,
    /// Name of the image.
    pub name: String,
    /// Version of the builder.
    pub dtnforge: &'static str,
    /// Debian suite.
    pub suite: String,
    /// `SOURCE_DATE_EPOCH` of the image.
    pub time: u64,
    /// Digest of the lock file.
    pub lock: Digest,
    /// dm-verity hash of the root.
    pub root_hash: String,
    /// Version of the kernel.
    pub kernel: String,
    /// The files in the output directory.
    pub artefacts: Vec<Artefact>,
    /// What the disk is made of.
    pub parts: Vec<Artefact>,
    /// Profiles.
    pub profiles: Vec<Profile>,
    /// Packages.
    pub packages: Vec<Package>,
    /// Packages of the tools.
    pub tools: Vec<Package>,
}

impl Manifest {
    /// Writes the manifest into `directory`, unless the same one is there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), FileError> {
        let path = directory.join(FILE);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| FileError::new("write", &path, std::io::Error::other(error)))?;
        text.push('\n');
        if fsx::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        fsx::write_atomically(&path, text.as_bytes())
    }

    /// A manifest of this build, still without its files.
    pub fn of(name: &str, lock: &Lock) -> Self {
        Self {
            schema: MANIFEST_SCHEMA,
            name: name.to_owned(),
            dtnforge: env!("CARGO_PKG_VERSION"),
            suite: lock.suite.clone(),
            time: lock.time,
            lock: lock.digest(),
            root_hash: String::new(),
            kernel: String::new(),
            artefacts: Vec::new(),
            parts: Vec::new(),
            profiles: Vec::new(),
            packages: lock.packages.clone(),
            tools: lock.tools.clone(),
        }
    }
}
