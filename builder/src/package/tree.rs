//! Files and links of a package, by their paths.

use std::collections::{BTreeMap, BTreeSet};

/// Something in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File {
        /// Content.
        bytes: Vec<u8>,
        /// Whether it is a program.
        executable: bool,
    },
    /// A link to this place.
    Link(String),
}

impl Entry {
    /// A plain file.
    pub fn file(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File {
            bytes: bytes.into(),
            executable: false,
        }
    }

    /// A program.
    pub fn program(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File {
            bytes: bytes.into(),
            executable: true,
        }
    }

    /// Permissions of a file, or those that a link has by custom.
    pub fn mode(&self) -> u16 {
        match self {
            Self::File { executable: true, .. } => 0o755,
            Self::File { .. } => 0o644,
            Self::Link(_) => 0o777,
        }
    }
}

/// Entries by path, without the first slash, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds an entry, or replaces one.
    pub fn add(&mut self, path: impl Into<String>, entry: Entry) {
        self.0.insert(path.into(), entry);
    }

    /// Paths and entries.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Every directory above an entry, an outer one before those in it.
    pub fn directories(&self) -> BTreeSet<&str> {
        self.0.keys().flat_map(|path| above(path)).collect()
    }

    /// Size of all files, byte.
    pub fn bytes(&self) -> u64 {
        let size = |entry: &Entry| match entry {
            Entry::File { bytes, .. } => bytes.len() as u64,
            Entry::Link(target) => target.len() as u64,
        };
        self.0.values().map(size).sum()
    }
}

fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}
