//! Work inside a network namespace, without a process of its own.
//!
//! A thread enters the namespace, does the work and ends. The rest of the agent stays where it is. `/proc/sys/net` and
//! `/proc/thread-self/net` show the namespace of the thread that opens them.

use crate::host::Host;
use crate::measure::MeasureError;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Runs `work` in a thread inside `namespace`.
///
/// Children must not be started by `work`: their parent-death signal would come when this thread ends.
pub(super) fn inside<T: Send>(
    host: &Host,
    namespace: &'static str,
    work: impl FnOnce() -> Result<T, MeasureError> + Send,
) -> Result<T, MeasureError> {
    let fail = |why: String| MeasureError::Enter { namespace, why };
    let path = host.path("/run/netns").join(namespace);
    let file = File::open(&path).map_err(|error| fail(format!("{}: {error}", path.display())))?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setns(&file, CloneFlags::CLONE_NEWNET).map_err(|errno| fail(errno.to_string()))?;
            work()
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(fail("the work inside it panicked".to_owned())))
    })
}

/// Reads a file of `/proc` or `/sys`, its end trimmed.
pub(super) fn read(path: &Path) -> Result<String, MeasureError> {
    let text = std::fs::read_to_string(path).map_err(|source| file_error(path, source))?;
    Ok(text.trim_end().to_owned())
}

/// Writes a file of `/proc`.
pub(super) fn write(path: &Path, text: &str) -> Result<(), MeasureError> {
    std::fs::write(path, text).map_err(|source| file_error(path, source))
}

/// Makes an error of an I/O error on `path`.
pub(super) fn file_error(path: &Path, source: std::io::Error) -> MeasureError {
    MeasureError::File {
        path: PathBuf::from(path),
        source,
    }
}
