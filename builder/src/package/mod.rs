//! Packages for hosts that are no image of ours: the agent, its units and some layers, as a deb, an rpm, a tar or a
//! system extension. What is in them is one [`Tree`]; each format is a function over it. The same inputs give the same
//! bytes: entries are sorted, owned by root, and as old as [`time`] says.

mod content;
mod deb;
mod rpm;
mod scripts;
mod sysext;
mod tarball;
mod tree;

pub use content::{Content, tree};
pub use deb::deb;
pub use rpm::{RpmError, rpm};
pub use sysext::{SysextError, sysext};
pub use tarball::tarball;
pub use tree::{Entry, Tree};

use std::num::NonZeroU32;

/// Name of the package, and of the extension.
pub const NAME: &str = "dtnforge-agent";
/// One line on what it is.
const SUMMARY: &str = "agent that tunes this host, proves it and takes it back";
const DESCRIPTION: &str = "The agent dtn-firstboot with its units and profiles. A boot puts a committed profile in place \
and looks for drift; a trial begins only when an admin says `dtn-firstboot try`.";
const LICENCE: &str = "Apache-2.0 OR MIT";
/// Fixed: another level would give other bytes.
const ZSTD_LEVEL: i32 = 19;

/// What a package says of itself.
#[derive(Debug, Clone)]
pub struct Label {
    /// Version of the agent.
    pub version: String,
    /// Counts packages of the same version, whose layers differ.
    pub revision: NonZeroU32,
    /// Who answers for it: `Name <address>`.
    pub maintainer: String,
    /// Time stamp of everything in it, seconds since 1970.
    pub time: u32,
}

impl Label {
    /// `0.1.0-1`.
    pub fn full_version(&self) -> String {
        format!("{}-{}", self.version, self.revision)
    }
}

/// The time stamp of packages: `SOURCE_DATE_EPOCH` where it is set, as everywhere in reproducible builds, else 0.
pub fn time(epoch: Option<&str>) -> Result<u32, String> {
    let Some(text) = epoch else { return Ok(0) };
    let expected = "SOURCE_DATE_EPOCH: expected seconds since 1970, below 2^32";
    text.parse().map_err(|_| format!("{expected}, found {text:?}"))
}

#[cfg(test)]
mod tests;
