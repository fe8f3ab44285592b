//! What can be wrong with the EFI system partition.

use dtnforge_profiles::bootcount::{ENTRY_DIR, TUNED_ENTRY};
use std::io;

/// The EFI system partition could not be used.
#[derive(Debug, thiserror::Error)]
pub enum EspError {
    /// No systemd-boot, so no counter.
    #[error("the boot loader does not say which partition it came from (no LoaderDevicePartUUID)")]
    NoLoader,
    /// Its partition is not there.
    #[error("the EFI system partition {uuid} is not there: {source}")]
    NoDevice {
        /// Partition UUID.
        uuid: String,
        /// The cause.
        source: io::Error,
    },
    /// It is mounted, and not for writing.
    #[error(
        "the EFI system partition is mounted read-only on {at}\nhint: mount -o remount,rw {at}, or see the kernel log for why it became read-only"
    )]
    ReadOnly {
        /// Mount point.
        at: String,
    },
    /// It cannot be mounted.
    #[error("the EFI system partition {device} cannot be mounted: {source}")]
    Mount {
        /// Block device.
        device: String,
        /// The cause.
        source: io::Error,
    },
    /// The directory of entries cannot be read.
    #[error("{ENTRY_DIR} on the EFI system partition cannot be read: {0}")]
    List(io::Error),
    /// The tuned entry is gone.
    #[error("{ENTRY_DIR} on the EFI system partition has no {TUNED_ENTRY}*.efi")]
    NoEntry,
    /// More than one file is the tuned entry.
    #[error(
        "{ENTRY_DIR} on the EFI system partition has more than one tuned entry: {}\nhint: remove all but one",
        .0.join(", ")
    )]
    Several(Vec<String>),
    /// A rename failed.
    #[error("cannot rename {from} to {to} on the EFI system partition: {source}")]
    Rename {
        /// Old name.
        from: String,
        /// New name.
        to: String,
        /// The cause.
        source: io::Error,
    },
    /// A rename reported success and did not happen.
    #[error("{from} was renamed to {to} on the EFI system partition, and reading it back finds {found}")]
    NotRenamed {
        /// Old name.
        from: String,
        /// New name.
        to: String,
        /// What is there.
        found: String,
    },
    /// It does not take writes.
    #[error("a file cannot be written: {0}")]
    Probe(io::Error),
}
