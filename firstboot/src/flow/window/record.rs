//! The record of a window, `/run/dtnforge/window.json`, and the clock by which it counts.

use crate::atomic::{self, WriteError};
use crate::host::Host;
use dtnforge_profiles::window::{BadWindow, Phase, Window};
use nix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;

/// The record.
pub const PATH: &str = "/run/dtnforge/window.json";

/// A record that was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("{PATH}: cannot be read: {0}")]
    Read(io::Error),
    /// It makes no sense.
    #[error("{PATH}: {0}")]
    Bad(#[from] BadWindow),
    /// It cannot be replaced.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It cannot be put into JSON.
    #[error("{PATH}: cannot be written as JSON: {0}")]
    Serialise(#[from] serde_json::Error),
    /// It cannot be removed.
    #[error("{PATH}: cannot be removed: {0}")]
    Remove(io::Error),
}

/// The record; `None` when there is none.
///
/// # Errors
/// [`RecordError::Read`] or [`RecordError::Bad`].
pub fn read(host: &Host) -> Result<Option<Window>, RecordError> {
    match fs::read(host.path(PATH)) {
        Ok(bytes) => Ok(Some(Window::parse(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::Read(error)),
    }
}

/// Replaces the record.
///
/// # Errors
/// [`RecordError`]; the old record is then unchanged.
pub fn write(host: &Host, window: &Window) -> Result<(), RecordError> {
    let text = window.to_text()?;
    Ok(atomic::write(&host.path(PATH), text.as_bytes(), 0o600)?)
}

/// Replaces the record by one in another phase.
///
/// # Errors
/// [`RecordError`].
pub fn enter(host: &Host, window: &Window, phase: Phase) -> Result<(), RecordError> {
    let window = Window {
        phase,
        ..window.clone()
    };
    write(host, &window)
}

/// Removes the record: its window is closed.
///
/// # Errors
/// [`RecordError::Remove`].
pub fn remove(host: &Host) -> Result<(), RecordError> {
    match fs::remove_file(host.path(PATH)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RecordError::Remove(error)),
        _ => Ok(()),
    }
}

/// Seconds since the kernel started, time in suspend included. No step of the wall clock moves it.
pub fn since_start() -> u64 {
    // The clock is there since Linux 2.6.39; should a sandbox refuse it, no window with a limit would ever be over,
    // so then every one is.
    clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map_or(u64::MAX, |time| u64::try_from(time.tv_sec()).unwrap_or(u64::MAX))
}
