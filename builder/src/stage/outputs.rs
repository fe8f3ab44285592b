//! What is known about the files in an output directory: from which inputs they were made, and their digests, valid
//! as long as size, time of change and inode are as they were.

use crate::cache::Cache;
use crate::digest;
use crate::fsx::{self, FileError};
use dtnforge_profiles::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What identifies a file that nobody wrote to since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    size: u64,
    mtime_ns: i128,
    inode: u64,
}

/// One file that a build made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    key: Digest,
    identity: Identity,
    sha256: Digest,
}

/// A file with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artefact {
    /// Name in the output directory.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Digest.
    pub sha256: Digest,
}

/// The files of one output directory.
#[derive(Debug)]
pub struct Outputs {
    directory: PathBuf,
    record: PathBuf,
    known: BTreeMap<String, Known>,
}

impl Outputs {
    /// Opens what is known about `directory`, which is made when it is not there.
    ///
    /// # Errors
    /// The directory cannot be made. A record that cannot be read is none.
    pub fn open(cache: &Cache, directory: &Path) -> Result<Self, FileError> {
        fsx::create_dir_all(directory)?;
        let directory = fsx::canonicalize(directory)?;
        let name = Digest::of(directory.as_os_str().as_encoded_bytes());
        let record = cache.path("outputs").join(format!("{}.json", name.short()));
        let known = fsx::read(&record)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Ok(Self {
            directory,
            record,
            known,
        })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file `name`, when it was made from the inputs with this key and nobody wrote to it since.
    pub fn unchanged(&self, name: &str, key: &Digest) -> Option<Artefact> {
        let known = self.known.get(name).filter(|known| known.key == *key)?;
        let now = identity(&self.directory.join(name)).ok()?;
        (now == known.identity).then(|| artefact(name, known))
    }

    /// Takes in the file `name` that was just made from the inputs with this key.
    ///
    /// # Errors
    /// It cannot be read, or the record cannot be written.
    pub fn record(&mut self, name: &str, key: &Digest) -> Result<Artefact, FileError> {
        let path = self.directory.join(name);
        let sha256 = digest::of_file(&path)?;
        let known = Known {
            key: key.clone(),
            identity: identity(&path)?,
            sha256,
        };
        let artefact = artefact(name, &known);
        self.known.insert(name.to_owned(), known);
        fsx::write_json(&self.record, &self.known)?;
        Ok(artefact)
    }

    /// Reads the file `name` again and says whether it still has the digest that was recorded.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn verify(&self, name: &str) -> Result<bool, FileError> {
        let found = digest::of_file(&self.directory.join(name))?;
        Ok(self.known.get(name).is_some_and(|known| known.sha256 == found))
    }
}

fn artefact(name: &str, known: &Known) -> Artefact {
    Artefact {
        path: name.to_owned(),
        size: known.identity.size,
        sha256: known.sha256.clone(),
    }
}

fn identity(path: &Path) -> Result<Identity, FileError> {
    let data = std::fs::metadata(path).map_err(|source| FileError::new("look at", path, source))?;
    let mtime_ns = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
    Ok(Identity {
        size: data.size(),
        mtime_ns,
        inode: data.ino(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_until_its_key_or_its_content_changes() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&home.path().join("cache"))).unwrap();
        let out = home.path().join("out");
        let (key, other) = (Digest::of(b"a"), Digest::of(b"b"));
        let mut outputs = Outputs::open(&cache, &out).unwrap();
        std::fs::write(out.join("dtn.raw"), "disk").unwrap();
        let made = outputs.record("dtn.raw", &key).unwrap();
        assert_eq!(made.sha256, Digest::of(b"disk"));

        let again = Outputs::open(&cache, &out).unwrap();
        assert_eq!(again.unchanged("dtn.raw", &key), Some(made));
        assert_eq!(again.unchanged("dtn.raw", &other), None);
        assert!(again.verify("dtn.raw").unwrap());

        std::fs::write(out.join("dtn.raw"), "longer disk").unwrap();
        assert_eq!(again.unchanged("dtn.raw", &key), None);
        assert!(!again.verify("dtn.raw").unwrap());
    }
}
