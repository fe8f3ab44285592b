//! The lints, by theme.

mod buffers;
mod catalog;
mod files;
mod host;
mod kernel;
mod nic;
mod owners;
mod queues;
mod tcp;

use super::definition::Lint;

/// All of them, each theme in the order of the reference page.
pub(super) const ALL: &[&[Lint]] = &[
    files::LINTS,
    kernel::LINTS,
    tcp::LINTS,
    buffers::LINTS,
    queues::LINTS,
    nic::LINTS,
    host::LINTS,
    owners::LINTS,
    catalog::LINTS,
];
