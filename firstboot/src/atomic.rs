//! Writing a file so that a reader, or a crash, sees the old text or the new one and nothing between.

use crate::failpoint;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that could not be replaced.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {step}: {source}", path.display())]
pub struct WriteError {
    path: PathBuf,
    step: &'static str,
    source: io::Error,
}

impl WriteError {
    /// The errno behind it, when the system gave one: `ENOSPC`, `EROFS`.
    pub fn os_error(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

/// Replaces `path` by `bytes`: writes beside it, syncs, renames, syncs the directory. Makes missing directories.
///
/// # Errors
/// The step that failed; the old file is then unchanged.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), WriteError> {
    let fail = |step| {
        move |source| WriteError {
            path: path.to_owned(),
            step,
            source,
        }
    };
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).map_err(fail("making its directory"))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&beside)
        .map_err(fail("creating a new file beside it"))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    if let Err(source) = written {
        // The half file is of no use; when it cannot be removed either, the next write truncates it.
        let _ = fs::remove_file(&beside);
        return Err(fail("writing beside it")(source));
    }
    failpoint::hit("beside");
    fs::rename(&beside, path).map_err(fail("renaming the new file over it"))?;
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(fail("syncing its directory"))?;
    failpoint::hit("replaced");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_text_replaces_the_old_and_nothing_is_left_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/state.json");
        write(&path, b"one", 0o644).unwrap();
        write(&path, b"two", 0o644).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_is_named_and_keeps_the_old_file() {
        let error = write(Path::new("/dev/full/x"), b"x", 0o644)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot write /dev/full/x: making its directory"),
            "{error}"
        );
    }
}
