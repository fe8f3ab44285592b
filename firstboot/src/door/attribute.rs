//! One value in one kernel file: `/proc/sys`, `/sys/block/*/queue`, `/sys/class/net/*/mtu`, cpufreq.
//!
//! Two things differ from ordinary files. A write is one system call on a file that exists (a missing file is a
//! missing setting and never made), and what `open` says is told apart from what `write` says: `ENOENT` from `open`
//! means that the setting is gone, `ENOENT` from `write` that the kernel does not know the value.

use super::DoorError;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::value::Value;
use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// More than any attribute holds; what is longer is not one.
const LONGEST: u64 = 64 * 1024;

/// The present value in `path`.
///
/// # Errors
/// When there is a file and it cannot be read.
pub(super) fn read(knob: &KnobId, path: &Path) -> Result<Reading, DoorError> {
    match text(path) {
        Ok(text) => Ok(Reading::Is(Value::new(&text))),
        Err(error) => missing_or_unsupported(error).map_err(|source| io_error(knob, source)),
    }
}

/// What an error of reading says about the setting, when it says something.
fn missing_or_unsupported(error: io::Error) -> Result<Reading, io::Error> {
    match errno_of(&error) {
        Some(Errno::ENOENT | Errno::ENODEV | Errno::ENOTDIR) => Ok(Reading::Absent),
        Some(errno @ (Errno::EOPNOTSUPP | Errno::EISDIR)) => {
            Ok(Reading::Unsupported(errno.desc().to_owned()))
        }
        _ => Err(error),
    }
}

/// The whole text of a small file; bytes that are no UTF-8 are replaced.
pub(super) fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes `value` to the file, which must exist.
///
/// # Errors
/// [`DoorError::Vanished`], [`DoorError::Busy`] or [`DoorError::Refused`] by what the kernel says.
pub(super) fn write(knob: &KnobId, path: &Path, value: &Value) -> Result<(), DoorError> {
    let mut file = match OpenOptions::new().write(true).truncate(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(DoorError::Vanished { knob: knob.clone() });
        }
        Err(error) => return Err(refusal(knob, value, error)),
    };
    file.write_all(format!("{value}\n").as_bytes())
        .map_err(|error| refusal(knob, value, error))
}

/// The error for a write that the kernel did not take.
pub(super) fn refusal(knob: &KnobId, value: &Value, error: io::Error) -> DoorError {
    match errno_of(&error) {
        Some(Errno::ENODEV) => DoorError::Vanished { knob: knob.clone() },
        Some(Errno::EBUSY) => DoorError::Busy {
            knob: knob.clone(),
            why: format!("writing {value:?}"),
        },
        Some(errno) => DoorError::Refused {
            knob: knob.clone(),
            value: value.to_string(),
            errno,
            explanation: None,
        },
        None => io_error(knob, error),
    }
}

/// An error of reading or writing that says nothing about the setting.
pub(super) fn io_error(knob: &KnobId, source: io::Error) -> DoorError {
    DoorError::Io {
        knob: knob.clone(),
        source,
    }
}

fn errno_of(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob() -> KnobId {
        "sysctl:net.ipv4.tcp_rmem".parse().unwrap()
    }

    #[test]
    fn a_missing_file_is_absent_and_is_not_made_by_a_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tcp_rmem");
        assert_eq!(read(&knob(), &path).unwrap(), Reading::Absent);
        let error = write(&knob(), &path, &"1".into()).unwrap_err();
        assert!(matches!(error, DoorError::Vanished { .. }), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_shorter_value_leaves_nothing_of_a_longer_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tcp_rmem");
        std::fs::write(&path, "4096\t131072\t6291456\n").unwrap();
        write(&knob(), &path, &"1 2 3".into()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1 2 3\n");
    }

    #[test]
    fn a_directory_is_no_setting() {
        let dir = tempfile::tempdir().unwrap();
        let reading = read(&knob(), dir.path()).unwrap();
        assert!(matches!(reading, Reading::Unsupported(_)), "{reading:?}");
    }

    #[test]
    fn a_refused_value_is_named_with_its_errno() {
        let error = write(&knob(), Path::new("/dev/full"), &"7 7 7".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sysctl:net.ipv4.tcp_rmem: the kernel refused \"7 7 7\": ENOSPC: No space left on device"
        );
    }
}
