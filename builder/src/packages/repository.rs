//! A small local archive that holds the locked packages and nothing else. mmdebstrap installs from it, so a version
//! that is not in the lock cannot get into an image, and no network is used.

use super::lock::Package;
use super::pool::Pool;
use crate::fsx::{self, FileError};
use crate::run::{Program, RunError};
use std::fmt::Write as _;
use std::path::Path;

/// Why the archive could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// A package's control data could not be read.
    #[error("cannot read the control data of {name}")]
    Control {
        /// Package.
        name: String,
        /// Reason.
        source: RunError,
    },
    /// Files of ours.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Makes the archive in `directory`: the files, and an index made from their own control data.
///
/// # Errors
/// A file cannot be linked or read.
pub fn make(directory: &Path, pool: &Pool, packages: &[Package], log: &Path) -> Result<(), RepositoryError> {
    let mut index = String::new();
    for package in packages {
        let name = format!("{}.deb", package.sha256);
        fsx::link_or_copy(&pool.file(package), &directory.join(&name))?;
        let control = control(pool, package, log)?;
        let fields = format!(
            "Filename: ./{name}\nSize: {}\nSHA256: {}\n",
            package.size, package.sha256
        );
        // Writing to a String cannot fail.
        let _ = writeln!(index, "{}\n{fields}", control.trim_end());
    }
    Ok(fsx::write(&directory.join("Packages"), index.as_bytes())?)
}

/// The control data of a package, kept beside its file.
fn control(pool: &Pool, package: &Package, log: &Path) -> Result<String, RepositoryError> {
    let kept = pool.file(package).with_extension("control");
    if let Ok(text) = fsx::read_text(&kept) {
        return Ok(text);
    }
    let text = Program::new("dpkg-deb")
        .arg("--field")
        .arg(pool.file(package))
        .output(log)
        .map_err(|source| RepositoryError::Control {
            name: package.name.clone(),
            source,
        })?;
    fsx::write_atomically(&kept, text.as_bytes())?;
    Ok(text)
}

/// The line of `sources.list` for the archive in `directory`. `copy:` because the tree that is being made cannot
/// see the host's directories.
pub fn source_line(directory: &Path) -> String {
    let mut path = String::new();
    for byte in directory.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                path.push(char::from(*byte))
            }
            other => {
                let _ = write!(path, "%{other:02x}");
            }
        }
    }
    format!("deb [trusted=yes] copy:{path} ./")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_stays_one_word() {
        assert_eq!(
            source_line(Path::new("/tmp/my cache/repo")),
            "deb [trusted=yes] copy:/tmp/my%20cache/repo ./"
        );
    }
}
