//! The directory that is served, and which file a path in a request means.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is a file.
    #[error("{0}: not a directory\nhint: give the output directory of a build")]
    NoDirectory(PathBuf),
}

/// A directory of files.
#[derive(Debug, Clone)]
pub struct Set {
    directory: PathBuf,
}

impl Set {
    /// The netboot set in the output directory `out` of a build; `out` itself where it has none.
    ///
    /// # Errors
    /// It is no directory, or cannot be read.
    pub fn open(out: &Path) -> Result<Self, SetError> {
        let inner = out.join(crate::image::netboot::DIRECTORY);
        let chosen = if inner.is_dir() { &inner } else { out };
        let directory = chosen.canonicalize().map_err(|source| SetError::Read {
            path: chosen.to_owned(),
            source,
        })?;
        if directory.is_dir() {
            Ok(Self { directory })
        } else {
            Err(SetError::NoDirectory(directory))
        }
    }

    /// The directory, absolute and without links.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether there is a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).is_some()
    }

    /// The file that the path of a request means, percent-encoded as in a URL. `None` for what is no file in here:
    /// directories, paths that climb, links that lead out.
    pub fn file(&self, request: &str) -> Option<PathBuf> {
        let path = request.split(['?', '#']).next().unwrap_or_default();
        let name = decoded(path.trim_start_matches('/'))?;
        let relative = Path::new(&name);
        let plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let path = self.directory.join(relative).canonicalize().ok()?;
        (plain && !name.is_empty() && path.starts_with(&self.directory) && path.is_file()).then_some(path)
    }
}

/// `%41` is `A`. `None` where that is no text, or holds a NUL.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let value = digit(high)? * 16 + digit(low)?;
                (u8::try_from(value).ok()?, after)
            }
            (b'%', _) => return None,
            (byte, after) => (*byte, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_files_below_the_directory_are_found() {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        let inner = out.join("netboot");
        std::fs::create_dir_all(inner.join("sub")).unwrap();
        for path in [
            "secret",
            "out/outer",
            "out/netboot/boot.ipxe",
            "out/netboot/sub/a b",
        ] {
            std::fs::write(home.path().join(path), "x").unwrap();
        }
        symlink("../../secret", inner.join("leads-out")).unwrap();
        symlink("boot.ipxe", inner.join("leads-in")).unwrap();
        let set = Set::open(&out).unwrap();
        for good in [
            "/boot.ipxe",
            "boot.ipxe?mac=1",
            "/sub/a%20b",
            "/%62oot.ipxe",
            "/leads-in",
        ] {
            assert!(set.has(good), "{good}");
        }
        for bad in [
            "/",
            "",
            "/sub",
            "/../outer",
            "/..%2fouter",
            "/%2e%2e/outer",
            "/sub/../../outer",
            "/leads-out",
            "/none",
            "//etc/passwd",
            "/%2fetc%2fpasswd",
            "/boot.ipxe%00",
            "/%zz",
            "/%",
            "/%ff",
        ] {
            assert!(!set.has(bad), "{bad}");
        }
        let plain = Set::open(&inner).unwrap();
        assert!(
            plain.has("/boot.ipxe"),
            "a directory without a set in it is served itself"
        );
    }

    #[test]
    fn what_is_no_directory_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = Set::open(&file).unwrap_err().to_string();
        assert!(
            error.contains("file: not a directory\nhint: give the output directory"),
            "{error}"
        );
        let error = Set::open(&home.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none: No such file"), "{error}");
    }
}
