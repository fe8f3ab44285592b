//! End-to-end tests of dtnforge: the harness that they share. `tests/README.md` names the rungs.
//!
//! A test of the VM rung builds a real image with the real `dtnforge build` ([`image`]), boots it with the real
//! `dtnforge boot` ([`vm`]), and asks the running node questions ([`probe`]); [`snapshot`] saves the
//! boot where a test does not look at it. Both rungs that change more than files
//! run only when they are asked for ([`rung`]).

#[cfg(test)]
mod ci_list;
pub mod committed;
pub mod debian12;
pub mod disk;
pub mod dump;
pub mod fallback;
pub mod image;
pub mod netboot;
pub mod node;
pub mod probe;
pub mod programs;
pub mod rung;
pub mod snapshot;
pub mod tools;
pub mod trouble;
pub mod units;
pub mod vm;

pub use disk::Disk;
pub use image::Image;
pub use probe::{Answers, Probes};
pub use trouble::Trouble;
pub use vm::{Report, Vm};

use std::path::PathBuf;

/// The project's directory.
pub fn project() -> PathBuf {
    let crate_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().map_or(crate_dir.clone(), PathBuf::from)
}
