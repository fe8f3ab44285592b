//! Where facts are read from: bounded reads of small files, lists of directories, targets of links.
//!
//! The narrowest door of all: nothing here can write, wait or start a program. Detection goes through the trait and
//! not through `std::fs`, because the kernel answers in ways that plain files cannot imitate (a read that fails with
//! `EINVAL` is how a NIC says that it is down), and a test has to be able to answer so.

use crate::host::Host;
use nix::errno::Errno;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Largest text of a file that holds one value, in byte: sysfs gives at most one page.
pub const ONE_VALUE: usize = 4096;
/// Largest text of a file that holds a table, in byte: routes, mounts and their like.
pub const ONE_TABLE: usize = 4 << 20;
/// Most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 65_536;

/// Why a file did not give what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such file: a fact that does not exist here, no failure.
    #[error("does not exist")]
    Missing,
    /// The kernel refused, for instance with `EINVAL` (shown by name: that is what people search for).
    #[error("{0:?}")]
    Os(Errno),
    /// The bytes are no UTF-8.
    #[error("is no UTF-8 text")]
    NotText,
    /// The file goes on after the most that was to be read.
    #[error("is larger than {limit} byte")]
    TooLarge {
        /// The most that was to be read, in byte.
        limit: usize,
    },
    /// The text is not of the form that the kernel documents.
    #[error("holds {found:?}, expected {expected}")]
    Odd {
        /// The text, cut.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl ReadError {
    /// An unexpected text, cut to a length that fits a report.
    pub fn odd(found: &str, expected: &'static str) -> Self {
        Self::Odd {
            found: found.chars().take(60).collect(),
            expected,
        }
    }
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes, at most as many as were asked for.
    pub bytes: Vec<u8>,
    /// Whether the file goes on.
    pub cut: bool,
}

/// A place that facts are read from. Paths are absolute as the host sees them.
pub trait Source {
    /// The first `limit` bytes of a file.
    ///
    /// # Errors
    /// When the file does not exist or cannot be read.
    fn content(&self, path: &str, limit: usize) -> Result<Content, ReadError>;

    /// The names in a directory, sorted. Names that are no UTF-8 are left out.
    ///
    /// # Errors
    /// When the directory does not exist or cannot be read.
    fn list(&self, directory: &str) -> Result<Vec<String>, ReadError>;

    /// The last part of a link's target: `virtio0` of `../../../virtio0`. `None` when it is no link.
    fn link_name(&self, path: &str) -> Option<String>;

    /// The path without links, as the host sees it; `None` when it does not exist.
    fn resolved(&self, path: &str) -> Option<String>;

    /// Whether there is anything under this path.
    fn exists(&self, path: &str) -> bool;

    /// The text of a file of at most `limit` bytes.
    ///
    /// # Errors
    /// When the file does not exist, cannot be read, is larger, or is no text.
    fn text(&self, path: &str, limit: usize) -> Result<String, ReadError> {
        let content = self.content(path, limit)?;
        if content.cut {
            return Err(ReadError::TooLarge { limit });
        }
        String::from_utf8(content.bytes).map_err(|_| ReadError::NotText)
    }

    /// One trimmed value; `None` when the file is missing, empty or unreadable: for signs whose absence is the usual.
    fn sign(&self, path: &str) -> Option<String> {
        let text = self.text(path, ONE_VALUE).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl Source for Host {
    fn content(&self, path: &str, limit: usize) -> Result<Content, ReadError> {
        // Not blocking: a fifo in the place of a file must not hold the boot up.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_CLOEXEC)
            .open(self.path(path))
            .map_err(of_io)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(of_io)?;
        let cut = bytes.len() > limit;
        bytes.truncate(limit);
        Ok(Content { bytes, cut })
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, ReadError> {
        let entries = fs::read_dir(self.path(directory)).map_err(of_io)?;
        let mut names: Vec<String> = entries
            .take(MOST_ENTRIES)
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    fn resolved(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.path(path)).ok()?;
        if self.is_live() {
            return real.to_str().map(str::to_owned);
        }
        let root = fs::canonicalize(self.path("/")).ok()?;
        let inside = real.strip_prefix(root).ok()?;
        Path::new("/").join(inside).to_str().map(str::to_owned)
    }

    fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

fn of_io(error: std::io::Error) -> ReadError {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ReadError::Missing,
        _ => ReadError::Os(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        (dir, host)
    }

    #[test]
    fn a_huge_file_is_read_to_its_limit_only() {
        let (dir, host) = host();
        fs::write(dir.path().join("big"), vec![b'x'; 10_000]).unwrap();
        let content = host.content("/big", ONE_VALUE).unwrap();
        assert_eq!((content.bytes.len(), content.cut), (ONE_VALUE, true));
        let error = host.text("/big", ONE_VALUE).unwrap_err();
        assert_eq!(error.to_string(), "is larger than 4096 byte");
        assert_eq!(host.text("/big", 10_000).unwrap().len(), 10_000);
    }

    #[test]
    fn a_directory_or_bytes_in_the_place_of_text_are_named_errors() {
        let (dir, host) = host();
        fs::create_dir(dir.path().join("directory")).unwrap();
        fs::write(dir.path().join("bytes"), [0xff, 0xfe]).unwrap();
        let text = |path| host.text(path, ONE_VALUE).unwrap_err().to_string();
        assert_eq!(text("/directory"), "EISDIR");
        assert_eq!(text("/bytes"), "is no UTF-8 text");
        assert_eq!(text("/nothing"), "does not exist");
        assert_eq!(text("/bytes/below"), "does not exist");
    }

    #[test]
    fn a_fifo_does_not_block() {
        let (dir, host) = host();
        nix::unistd::mkfifo(&dir.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(host.text("/fifo", ONE_VALUE), Ok(String::new()));
    }

    #[test]
    fn resolved_paths_are_those_of_the_host() {
        let (dir, host) = host();
        fs::create_dir_all(dir.path().join("sys/devices/x")).unwrap();
        fs::create_dir_all(dir.path().join("sys/class")).unwrap();
        std::os::unix::fs::symlink("../devices/x", dir.path().join("sys/class/x")).unwrap();
        assert_eq!(host.resolved("/sys/class/x").as_deref(), Some("/sys/devices/x"));
        assert_eq!(host.link_name("/sys/class/x").as_deref(), Some("x"));
        assert_eq!(host.link_name("/sys/class"), None);
    }
}
