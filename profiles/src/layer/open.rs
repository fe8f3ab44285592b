//! From bytes that anybody may have made to a profile that can be trusted as far as its digest.
//!
//! Nothing is unpacked to a disk. Sizes are bounded, paths are plain, the digest is checked before anything is parsed,
//! and every file has to be the one that the manifest names.

use super::manifest::{LAYER_SCHEMA, Manifest};
use super::{MANIFEST, PROFILE};
use crate::catalog::{Problems, Profile};
use crate::digest::Digest;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path};

/// The most that a layer may be, compressed and uncompressed, byte. Real ones have some 20 kB.
const LARGEST: u64 = 8 << 20;
/// The most files in a layer.
const MOST_FILES: usize = 256;

/// A layer that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenLayer {
    /// SHA-256 of the uncompressed tar.
    pub digest: Digest,
    /// What is in it.
    pub manifest: Manifest,
    /// The profile.
    pub profile: Profile,
}

/// Why a layer is not used.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// Too large, compressed or not.
    #[error("layer: more than {LARGEST} byte, or more than {MOST_FILES} files")]
    TooLarge,
    /// Not zstd, or damaged.
    #[error("layer: cannot be uncompressed")]
    Compressed(#[source] io::Error),
    /// Another layer than the one that was asked for.
    #[error("layer: digest is {found}, expected {expected}")]
    Digest {
        /// What was asked for.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// Not a tar, or damaged.
    #[error("layer: the archive is damaged")]
    Archive(#[source] io::Error),
    /// A path that leaves the archive, or no plain file.
    #[error("layer: {0:?} is no plain file with a relative path, or stands twice")]
    Path(String),
    /// No manifest, or none that can be read.
    #[error("layer: {MANIFEST}: {0}")]
    Manifest(String),
    /// A file that is missing, is not in the manifest, or has another content.
    #[error("layer: {path}: {what}")]
    File {
        /// Path in the archive.
        path: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A profile that is not valid, for instance one for a newer version.
    #[error("layer: its profile is not valid\n{0}")]
    Profile(Problems),
}

/// Opens a layer; `expected` is the digest that it has to have, when the caller knows it.
///
/// # Errors
/// [`LayerError`]: then nothing of it may be used.
pub fn open(bytes: &[u8], expected: Option<&Digest>) -> Result<OpenLayer, LayerError> {
    let tar = uncompress(bytes)?;
    let found = Digest::of(&tar);
    if let Some(expected) = expected.filter(|expected| **expected != found) {
        let expected = expected.clone();
        return Err(LayerError::Digest { expected, found });
    }
    let mut files = unpack(&tar)?;
    let manifest = read_manifest(&files.remove(MANIFEST).unwrap_or_default())?;
    check_files(&manifest, &files)?;
    let profile = read_profile(&manifest, &files)?;
    Ok(OpenLayer {
        digest: found,
        manifest,
        profile,
    })
}

fn uncompress(bytes: &[u8]) -> Result<Vec<u8>, LayerError> {
    if bytes.len() as u64 > LARGEST {
        return Err(LayerError::TooLarge);
    }
    let mut decoder = zstd::Decoder::with_buffer(bytes).map_err(LayerError::Compressed)?;
    // A frame may ask for a window of its own choice: 2^23 is what level 19 needs.
    decoder.window_log_max(23).map_err(LayerError::Compressed)?;
    let mut tar = Vec::new();
    decoder
        .take(LARGEST + 1)
        .read_to_end(&mut tar)
        .map_err(LayerError::Compressed)?;
    if tar.len() as u64 > LARGEST {
        return Err(LayerError::TooLarge);
    }
    Ok(tar)
}

fn unpack(tar: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, LayerError> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(tar).entries().map_err(LayerError::Archive)? {
        let mut entry = entry.map_err(LayerError::Archive)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let plain = Path::new(&path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain || path.is_empty() || entry.header().entry_type() != tar::EntryType::Regular {
            return Err(LayerError::Path(path));
        }
        // `tar` is bounded, and an entry cannot be longer than what is left of it.
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(LayerError::Archive)?;
        if files.insert(path.clone(), content).is_some() {
            return Err(LayerError::Path(path));
        }
        if files.len() > MOST_FILES {
            return Err(LayerError::TooLarge);
        }
    }
    Ok(files)
}

fn read_manifest(text: &[u8]) -> Result<Manifest, LayerError> {
    // The form is read first: another version may have other keys.
    #[derive(serde::Deserialize)]
    struct Form {
        schema: u32,
    }
    let bad = |error: serde_json::Error| LayerError::Manifest(error.to_string());
    let Form { schema } = serde_json::from_slice(text).map_err(bad)?;
    if schema != LAYER_SCHEMA {
        return Err(LayerError::Manifest(format!(
            "schema {schema}, and this version knows {LAYER_SCHEMA}"
        )));
    }
    serde_json::from_slice(text).map_err(bad)
}

fn check_files(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Result<(), LayerError> {
    let bad = |path: &str, what| {
        let path = path.to_owned();
        Err(LayerError::File { path, what })
    };
    for file in &manifest.files {
        match files.get(&file.path) {
            None => return bad(&file.path, "is in the manifest and not in the layer"),
            Some(content) if Digest::of(content) != file.sha256 => {
                return bad(&file.path, "has another SHA-256 than in the manifest");
            }
            Some(content) if content.len() as u64 != file.bytes => {
                return bad(&file.path, "has another size than in the manifest");
            }
            Some(_) => {}
        }
    }
    let listed = |path: &String| manifest.files.iter().any(|file| file.path == *path);
    match files.keys().find(|path| !listed(path)) {
        Some(path) => bad(path, "is not in the manifest"),
        None => Ok(()),
    }
}

fn read_profile(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Result<Profile, LayerError> {
    let bad = |what| LayerError::File {
        path: PROFILE.to_owned(),
        what,
    };
    let content = files.get(PROFILE).ok_or_else(|| bad("is missing"))?;
    let text = std::str::from_utf8(content).map_err(|_| bad("is no UTF-8"))?;
    let profile = Profile::parse(PROFILE, text).map_err(LayerError::Profile)?;
    if profile.name != manifest.profile {
        return Err(bad("is another profile than the manifest names"));
    }
    Ok(profile)
}
