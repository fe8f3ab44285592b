//! The layers on a node: the image's partition, mounted in the initrd, or plain directories on an installed host: one
//! of a package, and one of `dtn-firstboot install-layer`, whose layers win. Each layer is checked against its digest.

use crate::host::Host;
use dtnforge_profiles::catalog::{Catalog, Profile};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::layer::{self, INDEX_SCHEMA, Index, IndexEntry};
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// The image's layers: a read-only partition with dm-verity; on an installed host those of a package.
pub const IMAGE_DIR: &str = "/usr/lib/dtnforge/layers";
/// The layers that an admin installed on a host that is no image of ours.
pub const HOST_DIR: &str = "/etc/dtnforge/layers";
/// The list of layers in each of them.
pub const INDEX: &str = "index.json";

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
    /// No index: the partition is not mounted, or nothing was installed.
    #[error(
        "no layers: {path}: {source}\nhint: on an image of dtnforge, was the layers partition damaged? see `journalctl -b -u systemd-veritysetup@dtn\\x2dlayers`; on another host: dtn-firstboot install-layer FILE"
    )]
    NoIndex {
        /// The index file.
        path: String,
        /// The cause.
        source: io::Error,
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

/// A layer and where it lies.
struct Located {
    directory: &'static str,
    entry: IndexEntry,
}

/// The list of layers, of all places.
///
/// # Errors
/// When there is none, or one is damaged.
pub fn index(host: &Host) -> Result<Index, LayersError> {
    let layers = located(host)?.into_iter().map(|layer| layer.entry).collect();
    Ok(Index {
        schema: INDEX_SCHEMA,
        layers,
    })
}

fn located(host: &Host) -> Result<Vec<Located>, LayersError> {
    let own = index_of(host, HOST_DIR)?;
    let shipped = match (index_of(host, IMAGE_DIR)?, &own) {
        (Ok(index), _) => index.layers,
        (Err(_), Ok(_)) => Vec::new(),
        (Err(source), Err(_)) => {
            let path = format!("{IMAGE_DIR}/{INDEX}");
            return Err(LayersError::NoIndex { path, source });
        }
    };
    let own = own.map(|index| index.layers).unwrap_or_default();
    let is_replaced = |entry: &IndexEntry| own.iter().any(|other| other.profile == entry.profile);
    let mut all: Vec<Located> = shipped
        .into_iter()
        .filter(|entry| !is_replaced(entry))
        .map(|entry| Located {
            directory: IMAGE_DIR,
            entry,
        })
        .collect();
    all.extend(own.into_iter().map(|entry| Located {
        directory: HOST_DIR,
        entry,
    }));
    all.sort_by(|a, b| a.entry.profile.cmp(&b.entry.profile));
    Ok(all)
}

/// The index of one place; the inner error says that there is none.
pub(crate) fn index_of(host: &Host, directory: &str) -> Result<io::Result<Index>, LayersError> {
    let path = format!("{directory}/{INDEX}");
    match fs::read_to_string(host.path(&path)) {
        Err(error) => Ok(Err(error)),
        Ok(text) => Index::parse(&text).map(Ok).map_err(|error| LayersError::Damaged {
            file: path,
            why: error.to_string(),
        }),
    }
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
    let mut profiles: Vec<Profile> = Vec::new();
    let mut digests = BTreeMap::new();
    for Located { directory, entry } in located(host)? {
        let path = host.path(&format!("{directory}/{}", entry.file));
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
