//! `index.json`: which layers lie beside it.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// Form of [`Index`].
pub const INDEX_SCHEMA: u32 = 1;

/// The layers of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// [`INDEX_SCHEMA`].
    pub schema: u32,
    /// One entry for each layer, by profile name.
    pub layers: Vec<IndexEntry>,
}

/// A layer in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexEntry {
    /// Catalog name of its profile.
    pub profile: String,
    /// File name, in the directory of the index.
    pub file: String,
    /// [`super::Layer::digest`].
    pub digest: Digest,
}

/// An index that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadIndex {
    /// No JSON, or other keys.
    #[error("index of layers: cannot be read")]
    Json(#[from] serde_json::Error),
    /// Another form.
    #[error("index of layers: schema {0}, and this version knows {INDEX_SCHEMA}")]
    Schema(u32),
    /// A name with a directory in it, or a profile that stands twice.
    #[error("index of layers: profile {profile:?} in file {file:?}: {why}")]
    Entry {
        /// Profile.
        profile: String,
        /// File.
        file: String,
        /// What is wrong.
        why: &'static str,
    },
}

impl Index {
    /// The index of some layers.
    pub fn of<'a>(layers: impl IntoIterator<Item = &'a super::Layer>) -> Self {
        let entry = |layer: &super::Layer| IndexEntry {
            profile: layer.manifest.profile.clone(),
            file: layer.file_name(),
            digest: layer.digest.clone(),
        };
        let mut layers: Vec<_> = layers.into_iter().map(entry).collect();
        layers.sort_by(|a, b| a.profile.cmp(&b.profile));
        let schema = INDEX_SCHEMA;
        Self { schema, layers }
    }

    /// Reads `index.json`.
    ///
    /// # Errors
    /// [`BadIndex`].
    pub fn parse(text: &str) -> Result<Self, BadIndex> {
        let index: Self = serde_json::from_str(text)?;
        if index.schema != INDEX_SCHEMA {
            return Err(BadIndex::Schema(index.schema));
        }
        for (number, entry) in index.layers.iter().enumerate() {
            let twice = index.layers[..number]
                .iter()
                .any(|other| other.profile == entry.profile);
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let leaves =
                entry.file.starts_with('.') || entry.file.is_empty() || !entry.file.chars().all(plain);
            if twice || leaves {
                return Err(BadIndex::Entry {
                    profile: entry.profile.clone(),
                    file: entry.file.clone(),
                    why: if twice {
                        "the profile stands twice"
                    } else {
                        "the file name has more than letters, digits and `._-`"
                    },
                });
            }
        }
        Ok(index)
    }

    /// The text of `index.json`.
    ///
    /// # Errors
    /// Never in practice: only when a value cannot be serialised.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The layer of a profile.
    pub fn get(&self, profile: &str) -> Option<&IndexEntry> {
        self.layers.iter().find(|entry| entry.profile == profile)
    }
}
