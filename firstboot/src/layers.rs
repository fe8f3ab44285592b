//! The layers on a node: the image's partition, mounted in the initrd, or a directory on an installed host.

use crate::host::Host;
use dtnforge_profiles::catalog::{Catalog, Profile};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::layer::{self, Index};
use std::collections::BTreeMap;
use std::fs;

/// The image's layers: a read-only partition with dm-verity.
pub const IMAGE_DIR: &str = "/usr/lib/dtnforge/layers";

/// Profiles that this node could use, each with the digest of its layer.
#[derive(Debug)]
pub struct Layers {
    /// The profiles.
    pub catalog: Catalog,
    /// Profile name -> layer digest.
    pub digests: BTreeMap<String, Digest>,
}

/// Layers that cannot be used. The node stays stock and says this.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// No index: the partition is not mounted, or empty.
    #[error(
        "no layers: {path}: {source}\nhint: was the layers partition damaged? see `journalctl -b -u systemd-veritysetup@dtn\\x2dlayers`"
    )]
    NoIndex {
        /// The index file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is damaged.
    #[error("layer {file}: {why}")]
    Damaged {
        /// File in the directory.
        file: String,
        /// What is wrong.
        why: String,
    },
}

/// The list of layers.
///
/// # Errors
/// When it is not there or damaged.
pub fn index(host: &Host) -> Result<Index, LayersError> {
    let path = format!("{IMAGE_DIR}/index.json");
    let text =
        fs::read_to_string(host.path(&path)).map_err(|source| LayersError::NoIndex { path, source })?;
    Index::parse(&text).map_err(|error| LayersError::Damaged {
        file: "index.json".to_owned(),
        why: error.to_string(),
    })
}

/// Opens all layers and checks each against its digest.
///
/// # Errors
/// The first layer that does not fit: one damaged layer makes none of them trustworthy.
pub fn load(host: &Host) -> Result<Layers, LayersError> {
    let damaged = |file: &str, why: String| LayersError::Damaged {
        file: file.to_owned(),
        why,
    };
    let index = index(host)?;
    let mut profiles: Vec<Profile> = Vec::new();
    let mut digests = BTreeMap::new();
    for entry in index.layers {
        let path = host.path(&format!("{IMAGE_DIR}/{}", entry.file));
        let bytes = fs::read(path).map_err(|error| damaged(&entry.file, error.to_string()))?;
        let open = layer::open(&bytes, Some(&entry.digest))
            .map_err(|error| damaged(&entry.file, error.to_string()))?;
        digests.insert(entry.profile.clone(), entry.digest);
        profiles.push(open.profile);
    }
    Ok(Layers {
        catalog: profiles.into_iter().collect(),
        digests,
    })
}
