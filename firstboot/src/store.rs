//! Where the state is kept: `/etc/dtnforge/state.json`, read and written as a whole, under a lock.
//!
//! `/etc` and not `/var`: the early unit needs it before any mount that the initrd did not make.

use crate::atomic::{self, WriteError};
use crate::host::Host;
use dtnforge_profiles::state::{self, StateFile};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The state file.
pub const STATE_PATH: &str = "/etc/dtnforge/state.json";
const LOCK_PATH: &str = "/run/dtnforge/lock";
/// Held while the state file is read, changed and replaced, which takes milliseconds.
const WRITE_LOCK_PATH: &str = "/run/dtnforge/state.lock";
/// How long a writer waits for another one: far longer than a write takes, and short for one that must reboot.
const WRITE_LOCK_LIMIT: Duration = Duration::from_secs(5);

/// What reading the state gave.
#[derive(Debug)]
pub struct Loaded {
    /// The state; stock when the file is missing or unusable.
    pub file: StateFile,
    /// Why the file was not usable, when it was there and was not.
    pub damage: Option<String>,
}

/// Reads the state. A missing file is a fresh node; a damaged one is stock with the reason. Never fails.
pub fn load(host: &Host) -> Loaded {
    let damaged = |why: String| Loaded {
        file: StateFile::stock(&why),
        damage: Some(why),
    };
    match read_trusted(&host.path(STATE_PATH)) {
        Ok(bytes) => match state::parse(&bytes) {
            Ok(file) => Loaded { file, damage: None },
            Err(error) => damaged(format!("{STATE_PATH}: {error}")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Loaded {
            file: StateFile::default(),
            damage: None,
        },
        Err(error) => damaged(format!("{STATE_PATH}: cannot be read: {error}")),
    }
}

/// The bytes of a file that only root, or the user that we run as, can have written: a state says what is written to
/// the kernel at the next boot.
fn read_trusted(path: &Path) -> io::Result<Vec<u8>> {
    // Looked at before it is opened: opening a pipe would wait for a writer.
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if about.uid() != 0 && about.uid() != geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "it belongs to user {}, expected root",
            about.uid()
        )));
    }
    let ours = [0, getegid().as_raw()].contains(&about.gid());
    if about.mode() & 0o002 != 0 || (about.mode() & 0o020 != 0 && !ours) {
        let mode = about.mode() & 0o7777;
        return Err(io::Error::other(format!(
            "others than its owner may write it (mode {mode:04o}, expected 0644)"
        )));
    }
    fs::read(path)
}

/// Why the state was not stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file could not be replaced.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The state could not be put into JSON.
    #[error("the state cannot be written as JSON: {0}")]
    Serialise(#[from] serde_json::Error),
    /// Another process is writing it, and does not end.
    #[error("the state cannot be written: another dtn-firstboot has held {WRITE_LOCK_PATH} for {} s", WRITE_LOCK_LIMIT.as_secs())]
    Busy,
    /// The lock cannot be made.
    #[error("cannot make the lock {WRITE_LOCK_PATH}: {0}")]
    Lock(io::Error),
}

/// Reads the state, lets `edit` change it, and stores it; returns what was stored. Writers of different parts (the
/// agent its state, the boot's units their records) never overwrite each other: each edits what is on disk.
///
/// A damaged file is replaced by a stock state that names the damage.
///
/// # Errors
/// [`StoreError`]; the old file is then unchanged.
pub fn change(host: &Host, edit: impl FnOnce(&mut StateFile)) -> Result<StateFile, StoreError> {
    let _lock = write_lock(host)?;
    let mut file = load(host).file;
    edit(&mut file);
    save(host, &file)?;
    Ok(file)
}

fn write_lock(host: &Host) -> Result<Lock, StoreError> {
    let deadline = Instant::now() + WRITE_LOCK_LIMIT;
    loop {
        match take(host, WRITE_LOCK_PATH) {
            Ok(lock) => return Ok(lock),
            Err(LockError::Taken) if Instant::now() >= deadline => return Err(StoreError::Busy),
            Err(LockError::Taken) => std::thread::sleep(Duration::from_millis(10)),
            Err(LockError::Io(error)) => return Err(StoreError::Lock(error)),
        }
    }
}

/// Replaces the state file.
fn save(host: &Host, file: &StateFile) -> Result<(), StoreError> {
    Ok(atomic::write(
        &host.path(STATE_PATH),
        file.to_text()?.as_bytes(),
        0o644,
    )?)
}

/// Another agent process is at work, or the lock cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody holds it.
    #[error(
        "another dtn-firstboot is at work (it holds {LOCK_PATH})\nhint: wait, or see `systemctl status dtn-firstboot`"
    )]
    Taken,
    /// The file cannot be made.
    #[error("cannot make the lock {LOCK_PATH}: {0}")]
    Io(#[from] io::Error),
}

/// The lock that every changing command takes before it reads what it will change. Held until dropped; the kernel
/// drops it when the process dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its Drop")] Flock<File>);

/// Takes the lock without waiting.
///
/// # Errors
/// [`LockError`].
pub fn lock(host: &Host) -> Result<Lock, LockError> {
    take(host, LOCK_PATH)
}

fn take(host: &Host, path: &str) -> Result<Lock, LockError> {
    let path = host.path(path);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Lock(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Err(LockError::Taken),
        Err((_, errno)) => Err(LockError::Io(errno.into())),
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
    fn a_missing_file_is_a_fresh_node() {
        let (_dir, host) = host();
        let loaded = load(&host);
        assert_eq!((loaded.file, loaded.damage), (StateFile::default(), None));
    }

    #[test]
    fn damage_means_stock_and_is_named() {
        let (_dir, host) = host();
        for (bytes, part) in [
            (&b""[..], "is empty"),
            (b"{\"schema\": 1,", "cannot be read as schema 1"),
            (b"{\"schema\": 99}", "newer than 1"),
            (b"\xff\xfe\x00random", "cannot be read as schema 1"),
        ] {
            atomic::write(&host.path(STATE_PATH), bytes, 0o644).unwrap();
            let loaded = load(&host);
            assert_eq!(loaded.file.state.name(), "stock");
            assert!(
                loaded.damage.as_ref().unwrap().contains(part),
                "{:?}",
                loaded.damage
            );
        }
    }

    #[test]
    fn a_directory_in_its_place_means_stock() {
        let (_dir, host) = host();
        fs::create_dir_all(host.path(STATE_PATH)).unwrap();
        assert!(load(&host).damage.unwrap().contains("cannot be read"));
    }

    #[test]
    fn writers_of_different_parts_do_not_overwrite_each_other() {
        let (_dir, host) = host();
        let stale = load(&host).file;
        change(&host, |file| file.counting.retried = 1).unwrap();
        let stored = change(&host, |file| file.attempts = stale.attempts).unwrap();
        assert_eq!(stored.counting.retried, 1);
        assert_eq!(load(&host).file, stored);
    }

    #[test]
    fn many_writers_at_once_lose_nothing() {
        let (_dir, host) = host();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        change(&host, |file| file.counting.retried += 1).unwrap();
                    }
                });
            }
        });
        assert_eq!(load(&host).file.counting.retried, 20);
    }

    #[test]
    fn a_second_agent_is_turned_away() {
        let (_dir, host) = host();
        let first = lock(&host).unwrap();
        assert!(matches!(lock(&host), Err(LockError::Taken)));
        drop(first);
        assert!(lock(&host).is_ok());
    }
}
