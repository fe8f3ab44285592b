//! What a layer says of itself.

use crate::digest::Digest;
use crate::group::Group;
use serde::{Deserialize, Serialize};

/// Form of [`Manifest`].
pub const LAYER_SCHEMA: u32 = 1;

/// `manifest.json` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`LAYER_SCHEMA`].
    pub schema: u32,
    /// Catalog name of the profile.
    pub profile: String,
    /// Title of the profile.
    pub title: String,
    /// Every other file, in the order of the archive.
    pub files: Vec<ManifestFile>,
}

/// A file of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Path in the archive.
    pub path: String,
    /// Size, byte.
    pub bytes: u64,
    /// SHA-256 of the content.
    pub sha256: Digest,
    /// The group that it belongs to, when it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
}
