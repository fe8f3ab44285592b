//! A layer: one profile in a small deterministic archive, named by its digest.
//!
//! Content, in this order: `manifest.json`, `profile.toml` (the profile in canonical form), and `rendered/...`: the
//! native files for the image's own site, for people to read. A host renders its own files from `profile.toml`, since
//! devices, memory and a nearer `site.toml` change them.
//!
//! The digest is the SHA-256 of the *uncompressed* tar: it does not depend on the version of zstd. Built twice from
//! the same profile and site, a layer has the same bytes: sorted entries, owner 0, mode 0644, time 0, one thread.

mod build;
mod index;
mod manifest;
mod open;

pub use build::{BuildError, Layer, build};
pub use index::{BadIndex, INDEX_SCHEMA, Index, IndexEntry};
pub use manifest::{LAYER_SCHEMA, Manifest, ManifestFile};
pub use open::{LayerError, OpenLayer, open};

/// Name of the manifest in the archive.
const MANIFEST: &str = "manifest.json";
/// Name of the profile in the archive.
const PROFILE: &str = "profile.toml";
/// Where the files for reading are.
const RENDERED: &str = "rendered";

#[cfg(test)]
mod tests;
