//! From a profile to the bytes of its layer.

use super::manifest::{LAYER_SCHEMA, Manifest, ManifestFile};
use super::{MANIFEST, PROFILE, RENDERED};
use crate::catalog::Profile;
use crate::conclude::conclude;
use crate::digest::Digest;
use crate::facts::Facts;
use crate::group::Group;
use crate::plan::{Target, make};
use crate::render::{self, RenderError};
use crate::site::Site;
use std::io;

/// Fixed: another level would give other bytes.
const ZSTD_LEVEL: i32 = 19;

/// A layer, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The file's bytes: a tar, compressed with zstd.
    pub bytes: Vec<u8>,
    /// SHA-256 of the uncompressed tar: the layer's name.
    pub digest: Digest,
    /// What is in it.
    pub manifest: Manifest,
}

impl Layer {
    /// `<profile>-<first 12 digits of the digest>.tar.zst`.
    pub fn file_name(&self) -> String {
        format!("{}-{}.tar.zst", self.manifest.profile, self.digest.short())
    }
}

/// A layer that could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The profile has no canonical form.
    #[error("profile {profile}: cannot be written as TOML")]
    Profile {
        /// The profile.
        profile: String,
        /// The cause.
        source: toml::ser::Error,
    },
    /// Its files cannot be rendered.
    #[error("profile {profile}: cannot be rendered")]
    Render {
        /// The profile.
        profile: String,
        /// The cause.
        source: RenderError,
    },
    /// The manifest cannot be serialised.
    #[error("cannot write the manifest of a layer")]
    Manifest(#[from] serde_json::Error),
    /// The archive cannot be made.
    #[error("cannot pack a layer")]
    Pack(#[from] io::Error),
}

struct Entry {
    path: String,
    content: Vec<u8>,
    group: Option<Group>,
}

/// Builds the layer of a profile; `site` is the image's own, and only changes the files for reading.
///
/// # Errors
/// [`BuildError`].
pub fn build(profile: &Profile, site: &Site) -> Result<Layer, BuildError> {
    let text = profile.to_toml().map_err(|source| BuildError::Profile {
        profile: profile.name.clone(),
        source,
    })?;
    let own = Digest::of(text.as_bytes());
    let mut entries = vec![Entry {
        path: PROFILE.to_owned(),
        content: text.into_bytes(),
        group: None,
    }];
    entries.extend(rendered(profile, &own, site)?);
    let manifest = Manifest {
        schema: LAYER_SCHEMA,
        profile: profile.name.clone(),
        title: profile.title.clone(),
        files: entries.iter().map(Entry::describe).collect(),
    };
    let tar = pack(&manifest, &entries)?;
    Ok(Layer {
        bytes: zstd::bulk::compress(&tar, ZSTD_LEVEL)?,
        digest: Digest::of(&tar),
        manifest,
    })
}

impl Entry {
    fn describe(&self) -> ManifestFile {
        ManifestFile {
            path: self.path.clone(),
            bytes: self.content.len() as u64,
            sha256: Digest::of(&self.content),
            group: self.group,
        }
    }
}

/// The files for a host of which nothing is known: no device, and no speed but the profile's own. A file cannot name the
/// digest of the layer that it is in, so these name the one of `profile.toml`.
fn rendered(profile: &Profile, own: &Digest, site: &Site) -> Result<Vec<Entry>, BuildError> {
    let facts = Facts::default();
    let target = Target {
        offline: true,
        ..Target::default()
    };
    let plan = make(profile, own, &facts, &conclude(&facts, site), site, &target);
    let files = render::files(&plan).map_err(|source| BuildError::Render {
        profile: profile.name.clone(),
        source,
    })?;
    let entry = |file: render::NativeFile| Entry {
        path: format!("{RENDERED}/{}", file.path),
        content: file.text.into_bytes(),
        group: file.group,
    };
    Ok(files.into_iter().map(entry).collect())
}

fn pack(manifest: &Manifest, entries: &[Entry]) -> Result<Vec<u8>, BuildError> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    text.push(b'\n');
    let mut archive = tar::Builder::new(Vec::new());
    append(&mut archive, MANIFEST, &text)?;
    for entry in entries {
        append(&mut archive, &entry.path, &entry.content)?;
    }
    Ok(archive.into_inner()?)
}

fn append(archive: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    archive.append(&header, content)
}
