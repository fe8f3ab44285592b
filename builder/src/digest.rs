//! SHA-256 of files and trees.

use crate::fsx::{self, FileError};
use dtnforge_profiles::digest::Digest;
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const BUFFER: usize = 1 << 20;

/// The digest of a file's content.
///
/// # Errors
/// The file cannot be read.
pub fn of_file(path: &Path) -> Result<Digest, FileError> {
    let mut file = fsx::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = file
            .read(&mut buffer)
            .map_err(|source| FileError::new("read", path, source))?;
        if count == 0 {
            return Ok(Digest::from_bytes(&hasher.finalize()));
        }
        hasher.update(&buffer[..count]);
    }
}

/// What identifies one file of a source tree: `LINK target`, `DIR`, or its digest and whether it can be run.
///
/// # Errors
/// The file cannot be read.
pub fn of_entry(path: &Path) -> Result<String, FileError> {
    let data = std::fs::symlink_metadata(path).map_err(|source| FileError::new("look at", path, source))?;
    if data.is_symlink() {
        let target = std::fs::read_link(path).map_err(|source| FileError::new("read link", path, source))?;
        return Ok(format!("LINK {}", target.display()));
    }
    if data.is_dir() {
        return Ok("DIR".into());
    }
    let mode = if data.permissions().mode() & 0o111 == 0 {
        ""
    } else {
        " executable"
    };
    Ok(format!("{}{mode}", of_file(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_digest_is_that_of_its_bytes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_file(&path).unwrap().as_str(), expected);
        assert_eq!(of_entry(&path).unwrap(), expected);
    }

    #[test]
    fn links_and_the_right_to_run_count() {
        let home = tempfile::tempdir().unwrap();
        let (file, link) = (home.path().join("file"), home.path().join("link"));
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("/elsewhere", &link).unwrap();
        assert!(of_entry(&file).unwrap().ends_with(" executable"));
        assert_eq!(of_entry(&link).unwrap(), "LINK /elsewhere");
    }
}
