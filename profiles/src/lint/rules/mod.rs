//! The lints, by theme.

mod budget;
mod buffers;
mod catalog;
mod congestion;
mod default_qdisc;
mod files;
mod host;
mod ip;
mod kernel;
mod nic;
mod owners;
mod queues;
mod tcp;
mod vm;

use super::definition::Lint;

/// All of them, each theme in the order of the reference page.
pub(super) const ALL: &[&[Lint]] = &[
    files::LINTS,
    kernel::LINTS,
    tcp::LINTS,
    congestion::LINTS,
    buffers::LINTS,
    budget::LINTS,
    queues::LINTS,
    default_qdisc::LINTS,
    nic::LINTS,
    ip::LINTS,
    vm::LINTS,
    host::LINTS,
    owners::LINTS,
    catalog::LINTS,
];
