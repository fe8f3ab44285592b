//! The small archive that is added to the initrd: the `newc` form of cpio, which the kernel unpacks over dracut's.
//! Entries are in order of their names, belong to root, and carry the image's time, so equal trees are equal bytes.

use crate::fsx::{self, FileError};
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
                self.entry(&name, DIRECTORY, &[]);
            } else {
                self.add_file(&name, &fsx::read(&path)?);
            }
        }
        Ok(())
    }

    /// Adds a file. Its directories must have been added, or exist in the archive that this one is unpacked over.
    pub fn add_file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, FILE, content);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.time = 0;
        self.entry(TRAILER, 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
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
            content.len() as u64,
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
        self.bytes.extend(content);
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
