//! The directory of layers on an installed host.

use crate::atomic::{self, WriteError};
use crate::host::Host;
use crate::layers::{self as known, HOST_DIR, INDEX, LayersError};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::layer::{self, INDEX_SCHEMA, Index, IndexEntry, LayerError, OpenLayer};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A layer that was read and checked, and not installed yet.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) open: OpenLayer,
    bytes: Vec<u8>,
}

/// A file that is no layer.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is damaged, or something else.
    #[error("{}: {source}\nhint: `dtnforge layer PROFILE --format layer` makes one", path.display())]
    Layer {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: LayerError,
    },
    /// Its name says another digest.
    #[error("{}: the digest is {found}, and the name says {said}\nhint: was it damaged or renamed?", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// The digest in the name.
        said: String,
        /// The digest of the content.
        found: String,
    },
    /// The index beside the layers cannot be used.
    #[error("{}: {why}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Checked {
    fn file_name(&self) -> String {
        let (profile, digest) = (&self.open.manifest.profile, &self.open.digest);
        format!("{profile}-{}.tar.zst", digest.short())
    }

    fn entry(&self) -> IndexEntry {
        IndexEntry {
            profile: self.open.manifest.profile.clone(),
            file: self.file_name(),
            digest: self.open.digest.clone(),
        }
    }
}

/// Reads what an admin names: a layer, or a directory of layers with its index.
pub(super) fn read(path: &Path) -> Result<Vec<Checked>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![read_file(path, None)?]);
    }
    let index = path.join(INDEX);
    let text = read_to_bytes(&index)?;
    let parsed = Index::parse(&String::from_utf8_lossy(&text)).map_err(|error| ReadError::Index {
        path: index,
        why: error.to_string(),
    })?;
    let layers = parsed.layers.iter();
    layers
        .map(|entry| read_file(&path.join(&entry.file), Some(&entry.digest)))
        .collect()
}

fn read_to_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|source| ReadError::Read {
        path: path.to_owned(),
        source,
    })
}

fn read_file(path: &Path, digest: Option<&Digest>) -> Result<Checked, ReadError> {
    let bytes = read_to_bytes(path)?;
    let open = layer::open(&bytes, digest).map_err(|source| ReadError::Layer {
        path: path.to_owned(),
        source,
    })?;
    let checked = Checked { open, bytes };
    if let Some(said) = digest_in_name(path).filter(|said| said != checked.open.digest.short()) {
        return Err(ReadError::Name {
            path: path.to_owned(),
            said,
            found: checked.open.digest.short().to_owned(),
        });
    }
    Ok(checked)
}

/// `0123456789ab` of `NAME-0123456789ab.tar.zst`; `None` for another form of name.
fn digest_in_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".tar.zst")?;
    let (_, digest) = name.rsplit_once('-')?;
    let is_digest = digest.len() == 12 && digest.chars().all(|c| c.is_ascii_hexdigit());
    is_digest.then(|| digest.to_owned())
}

/// The installed layers.
pub(super) fn installed(host: &Host) -> Result<Vec<IndexEntry>, LayersError> {
    Ok(known::index_of(host, HOST_DIR)?
        .map(|index| index.layers)
        .unwrap_or_default())
}

/// Puts layers into the directory; each replaces the one of the same profile. The index is the last thing written, so a
/// crash leaves the old layers or the new ones.
pub(super) fn add(host: &Host, layers: &[Checked]) -> Result<(), AddError> {
    let mut entries = installed(host)?;
    for layer in layers {
        let path = host.path(&format!("{HOST_DIR}/{}", layer.file_name()));
        atomic::write(&path, &layer.bytes, 0o644)?;
        entries.retain(|entry| entry.profile != layer.open.manifest.profile);
        entries.push(layer.entry());
    }
    store(host, entries)
}

/// Takes the layers of `profiles` out.
pub(super) fn take_out(host: &Host, profiles: &[String]) -> Result<(), AddError> {
    let mut entries = installed(host)?;
    entries.retain(|entry| !profiles.contains(&entry.profile));
    store(host, entries)
}

/// Layers that could not be put in or taken out.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The present ones cannot be read.
    #[error(transparent)]
    Layers(#[from] LayersError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The index has no JSON form.
    #[error("cannot write {HOST_DIR}/{INDEX}: {0}")]
    Index(#[from] serde_json::Error),
    /// A layer that is not in use any more cannot be removed.
    #[error("cannot remove an old layer in {HOST_DIR}: {0}")]
    Old(io::Error),
}

fn store(host: &Host, mut layers: Vec<IndexEntry>) -> Result<(), AddError> {
    layers.sort_by(|a, b| a.profile.cmp(&b.profile));
    let index = Index {
        schema: INDEX_SCHEMA,
        layers,
    };
    let path = host.path(&format!("{HOST_DIR}/{INDEX}"));
    atomic::write(&path, index.to_text()?.as_bytes(), 0o644)?;
    for file in fs::read_dir(host.path(HOST_DIR)).map_err(AddError::Old)? {
        let file = file.map_err(AddError::Old)?;
        let name = file.file_name();
        let is_known = name == INDEX || index.layers.iter().any(|entry| name == entry.file.as_str());
        if !is_known {
            fs::remove_file(file.path()).map_err(AddError::Old)?;
        }
    }
    Ok(())
}
