//! File operations whose errors say what was tried on which path.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What could not be done to which file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {}{}", path.display(), hint(source))]
pub struct FileError {
    verb: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// `verb` as in "cannot VERB PATH".
    pub fn new(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            verb,
            path: path.to_owned(),
            source,
        }
    }

    /// The reason of the system.
    pub fn source_kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull => "\nhint: free some space, or name another place with --cache and --out",
        _ => "",
    }
}

type Result<T> = std::result::Result<T, FileError>;

fn at<T>(verb: &'static str, path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|source| FileError::new(verb, path, source))
}

/// Makes a directory and its parents.
///
/// # Errors
/// As the system says.
pub fn create_dir_all(path: &Path) -> Result<()> {
    at("create directory", path, fs::create_dir_all(path))
}

/// Opens a file for writing, without cutting it.
///
/// # Errors
/// As the system says.
pub fn create(path: &Path) -> Result<File> {
    at(
        "open",
        path,
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path),
    )
}

/// Opens a file for reading.
///
/// # Errors
/// As the system says.
pub fn open(path: &Path) -> Result<File> {
    at("open", path, File::open(path))
}

/// The absolute path without links.
///
/// # Errors
/// As the system says.
pub fn canonicalize(path: &Path) -> Result<PathBuf> {
    at("find", path, fs::canonicalize(path))
}

/// A whole file as text.
///
/// # Errors
/// As the system says; text that is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    at("read", path, fs::read_to_string(path))
}

/// A whole file.
///
/// # Errors
/// As the system says.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    at("read", path, fs::read(path))
}

/// Writes a file that nothing else can see yet.
///
/// # Errors
/// As the system says.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        create_dir_all(parent)?;
    }
    at("write", path, fs::write(path, bytes))
}

/// Writes a file beside its place, syncs it and renames it: readers see the old or the new, never a half.
///
/// # Errors
/// As the system says; the old file is then untouched.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        create_dir_all(parent)?;
    }
    let beside = partial(path);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    at("write", &beside, written)?;
    rename(&beside, path)
}

/// Writes a value as JSON, as [`write_atomically`] does.
///
/// # Errors
/// As the system says; a value without a JSON form.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = at(
        "write",
        path,
        serde_json::to_vec_pretty(value).map_err(io::Error::other),
    )?;
    write_atomically(path, &text)
}

/// The name under which a file is made before it gets its own: hidden, in the same directory.
pub fn partial(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    path.with_file_name(format!(".{name}.partial"))
}

/// Waits until all that was written to the file system of the directory `path` is on its disk.
///
/// # Errors
/// As the system says.
pub fn sync_file_system(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|directory| Ok(nix::unistd::syncfs(directory)?));
    at("sync the file system of", path, synced)
}

/// Renames.
///
/// # Errors
/// As the system says.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    at("rename", from, fs::rename(from, to))
}

/// Removes a file, link or directory with all that it holds; nothing there is no error.
///
/// # Errors
/// As the system says.
pub fn remove_tree(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => at("remove", path, other),
    }
}

/// Hard-links a file, or copies it where links are not possible.
///
/// # Errors
/// As the system says.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    at("copy", from, fs::copy(from, to).map(|_| ()))
}

/// The entries of a directory, sorted by name.
///
/// # Errors
/// As the system says.
pub fn list(path: &Path) -> Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<PathBuf>> =
        fs::read_dir(path).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut entries = at("list", path, entries)?;
    entries.sort();
    Ok(entries)
}

/// Everything under `root`, directories before their content, as sorted paths relative to `root`.
///
/// # Errors
/// As the system says.
pub fn walk(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk_into(root, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

fn walk_into(root: &Path, below: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for path in list(&root.join(below))? {
        let relative = below.join(path.file_name().unwrap_or_default());
        found.push(relative.clone());
        if at("look at", &path, fs::symlink_metadata(&path))?.is_dir() {
            walk_into(root, &relative, found)?;
        }
    }
    Ok(())
}

/// Free bytes for this user on the file system of `path`.
///
/// # Errors
/// As the system says.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let stat = nix::sys::statvfs::statvfs(path)
        .map_err(|errno| FileError::new("ask for free space on", path, errno.into()))?;
    Ok(stat.blocks_available().saturating_mul(stat.fragment_size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_a_way_out() {
        let error = at("write", Path::new("/out/dtn.raw"), fs::write("/dev/full", "x")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot write /out/dtn.raw\nhint: free some space, or name another place with --cache and --out"
        );
        assert_eq!(error.source_kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        write_atomically(&path, b"old").unwrap();
        fs::create_dir(partial(&path)).unwrap();
        assert!(write_atomically(&path, b"new").is_err());
        assert_eq!(read(&path).unwrap(), b"old");
    }
}
