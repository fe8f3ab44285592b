//! Files that are named on the command line. A pipe will do, as of `<(sysctl -a)`; what has no end will not.

use super::{Failure, bad};
use anyhow::{Context as _, anyhow};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The largest file that is read, byte: a report of a large host has 50 kB, all of `sysctl -a` 40 kB.
const LARGEST: u64 = 16 << 20;

/// The bytes of a file.
///
/// # Errors
/// It cannot be read, or is larger than any file of settings.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(failed).map_err(Failure::BadInput)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(failed)
        .map_err(Failure::BadInput)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= LARGEST => Ok(bytes),
        _ => Err(bad(anyhow!(
            "{} has more than {} MiB\nhint: no file of settings is that large",
            path.display(),
            LARGEST >> 20
        ))),
    }
}

/// The text of a file.
///
/// # Errors
/// As for [`bytes`], and when it is no UTF-8.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        bad(anyhow!("{} is no text: byte {at} is no UTF-8", path.display()))
    })
}
