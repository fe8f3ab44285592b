//! A tree as a tar, and as one compressed with zstd: the bytes follow from the tree and the time alone.

use super::tree::{Entry, Tree};
use super::{Label, ZSTD_LEVEL};
use std::io;

/// The tree as a tar of the root directory, to be unpacked in `/`: `tar -C / -xf`.
///
/// # Errors
/// A path that no tar can hold.
pub fn tarball(tree: &Tree, label: &Label) -> io::Result<Vec<u8>> {
    compress(&tar(tree, label.time)?)
}

pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL)
}

/// Directories first, then files and links, each sorted.
pub(super) fn tar(tree: &Tree, time: u32) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for directory in tree.directories() {
        let mut header = header(tar::EntryType::Directory, 0o755, time)?;
        archive.append_data(&mut header, format!("{directory}/"), io::empty())?;
    }
    for (path, entry) in tree.entries() {
        match entry {
            Entry::File { bytes, .. } => {
                let mut header = header(tar::EntryType::Regular, entry.mode(), time)?;
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link(target) => {
                let mut header = header(tar::EntryType::Symlink, entry.mode(), time)?;
                archive.append_link(&mut header, path, target)?;
            }
        }
    }
    archive.into_inner()
}

fn header(kind: tar::EntryType, mode: u16, time: u32) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(u32::from(mode));
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root")?;
    header.set_groupname("root")?;
    header.set_size(0);
    header.set_mtime(u64::from(time));
    Ok(header)
}
