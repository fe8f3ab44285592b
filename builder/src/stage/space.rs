//! Free space: asked for once, before the first stage of a build that has to run.

use crate::fsx::{self, FileError};
use std::path::{Path, PathBuf};

const GIB: u64 = 1 << 30;
/// What the stages may take in the cache, trees and file systems of the full image with room to spare.
const CACHE_FROM_START: u64 = 5 * GIB;
/// What they may take when the packages are installed already.
const CACHE_FROM_TREE: u64 = 3 * GIB;
/// What new disks may take beside the old ones.
const OUT: u64 = 3 * GIB;

/// There is less free space than a build may take.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// Too little.
    #[error("{}: {} MiB free, a build may take {} MiB\nhint: free some space, or name another place with --cache and --out", place.display(), free >> 20, need >> 20)]
    Little {
        /// Where.
        place: PathBuf,
        /// Free bytes.
        free: u64,
        /// Bytes that a build may take.
        need: u64,
    },
    /// The file system does not say.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The places that a build fills.
#[derive(Debug, Clone)]
pub struct Space {
    /// The cache.
    pub cache: PathBuf,
    /// The output directory; it need not exist yet.
    pub out: PathBuf,
}

impl Space {
    /// Refuses a build whose first stage to run is `stage` when there is too little space.
    ///
    /// # Errors
    /// [`SpaceError::Little`].
    pub fn check(&self, stage: &str) -> Result<(), SpaceError> {
        let cache = if stage == "packages" {
            CACHE_FROM_START
        } else {
            CACHE_FROM_TREE
        };
        require(&self.cache, cache)?;
        let existing = self.out.ancestors().find(|path| path.is_dir());
        require(existing.unwrap_or(Path::new(".")), OUT)
    }
}

fn require(place: &Path, need: u64) -> Result<(), SpaceError> {
    let free = fsx::free_bytes(place)?;
    if free >= need {
        return Ok(());
    }
    Err(SpaceError::Little {
        place: place.to_owned(),
        free,
        need,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_space_names_the_place_and_both_sizes() {
        let home = tempfile::tempdir().unwrap();
        require(home.path(), 1).unwrap();
        let error = require(home.path(), u64::MAX).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{}: ", home.path().display())),
            "{error}"
        );
        assert!(
            error.contains(" MiB free, a build may take 17592186044415 MiB\nhint: free some space"),
            "{error}"
        );
    }
}
