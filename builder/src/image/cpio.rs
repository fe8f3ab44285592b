//! The small archive that is added to the initrd: the `newc` form of cpio, which the kernel unpacks over dracut's.
//! Entries are in order of their names, belong to root, and carry the image's time, so equal trees are equal bytes.

use crate::fsx::{self, FileError};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const TRAILER: &str = "TRAILER!!!";

/// Writes entries one after the other.
#[derive(Debug)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    time: u64,
}

impl Archive {
    /// An empty archive whose entries carry `time`, seconds since 1970.
    pub fn new(time: u64) -> Self {
        Self {
            bytes: Vec::new(),
            entries: 0,
            time,
        }
    }

    /// Adds every directory and file of a tree.
    ///
    /// # Errors
    /// The tree cannot be read.
    pub fn add_tree(&mut self, root: &Path) -> Result<(), FileError> {
        for relative in fsx::walk(root)? {
            let path = root.join(&relative);
            let name = relative.to_string_lossy().into_owned();
            if path.is_dir() {
                self.add_directory(&name);
            } else {
                self.add_file(&name, &fsx::read(&path)?);
            }
        }
        Ok(())
    }

    /// Adds an empty directory.
    pub fn add_directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY, &[]);
    }

    /// Adds a file. Its directories must have been added, or exist in the archive that this one is unpacked over.
    pub fn add_file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, FILE, content);
    }

    /// Writes the whole archive to `target`, with the file `source` as its last entry, which may be large.
    ///
    /// # Errors
    /// A file cannot be read or written; `source` does not fit into this form of archive (4 GiB).
    pub fn finish_with(mut self, name: &str, source: &Path, target: &Path) -> Result<(), FileError> {
        let mut file = fsx::open(source)?;
        let size = file.metadata().map(|data| data.len());
        let size = size.map_err(|cause| FileError::new("look at", source, cause))?;
        if u32::try_from(size).is_err() {
            let cause = io::Error::other(format!(
                "{size} bytes, and a file in this archive has less than 4 GiB"
            ));
            return Err(FileError::new("archive", source, cause));
        }
        self.header(name, FILE, size);
        let copied = File::create(target).and_then(|mut out| {
            out.write_all(&self.bytes)?;
            let copied = io::copy(&mut file, &mut out)?;
            let padding = self.bytes.len() as u64 + copied;
            self.bytes.clear();
            let rest = padding.next_multiple_of(4) - padding;
            out.write_all(&[0; 4][..usize::try_from(rest).unwrap_or_default()])?;
            out.write_all(&self.finish())?;
            if copied == size {
                Ok(())
            } else {
                Err(io::Error::other(format!(
                    "{} changed while it was read",
                    source.display()
                )))
            }
        });
        copied.map_err(|cause| FileError::new("write", target, cause))
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.time = 0;
        self.entry(TRAILER, 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.header(name, mode, content.len() as u64);
        self.bytes.extend(content);
        self.pad();
    }

    fn header(&mut self, name: &str, mode: u32, size: u64) {
        let links = if mode == DIRECTORY { 2 } else { 1 };
        let inode = if mode == 0 { 0 } else { self.entries + 1 };
        self.entries += 1;
        // magic, inode, mode, user, group, links, time, size, device (2), node (2), length of the name, checksum
        let fields = [
            u64::from(inode),
            u64::from(mode),
            0,
            0,
            links,
            self.time,
            size,
            0,
            0,
            0,
            0,
            name.len() as u64 + 1,
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut archive = Archive::new(1_790_000_000);
        archive.entry("etc", DIRECTORY, &[]);
        archive.add_file("etc/veritytab", b"line\n");
        archive.finish()
    }

    #[test]
    fn headers_names_and_contents_are_aligned_and_in_the_newc_form() {
        let bytes = archive();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(bytes.len() % 4, 0);
        assert!(
            text.starts_with("07070100000001000041ed0000000000000000000000026ab13b80"),
            "{text}"
        );
        assert_eq!(text.matches("070701").count(), 3);
        assert!(text.contains("etc/veritytab\0line\n\0\0\0"), "{text:?}");
        assert!(text.trim_end_matches('\0').ends_with(TRAILER));
    }

    #[test]
    fn a_large_file_at_the_end_is_the_same_as_a_small_one_from_memory() {
        let home = tempfile::tempdir().unwrap();
        let (source, target) = (home.path().join("source"), home.path().join("target"));
        for content in [&b"12345"[..], b"", b"1234"] {
            fsx::write(&source, content).unwrap();
            let mut archive = Archive::new(7);
            archive.add_file("a", b"x");
            archive.finish_with("b", &source, &target).unwrap();
            let mut all = Archive::new(7);
            all.add_file("a", b"x");
            all.add_file("b", content);
            assert_eq!(fsx::read(&target).unwrap(), all.finish(), "{content:?}");
        }
    }

    #[test]
    fn the_same_tree_gives_the_same_bytes_whenever_and_wherever_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let bytes: Vec<Vec<u8>> = ["one", "other"]
            .iter()
            .map(|name| {
                let tree = home.path().join(name);
                for file in if *name == "one" {
                    ["b/c", "a"]
                } else {
                    ["a", "b/c"]
                } {
                    fsx::write(&tree.join(file), b"x").unwrap();
                }
                let mut archive = Archive::new(7);
                archive.add_tree(&tree).unwrap();
                archive.finish()
            })
            .collect();
        assert_eq!(bytes[0], bytes[1]);
    }
}
