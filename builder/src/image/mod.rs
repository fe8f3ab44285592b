//! The stages of an image, in the order of a build: [`packages`], [`tree`], [`initrd`], [`root`] (erofs and its
//! dm-verity hashes), [`layers`], [`uki`], [`disk`], [`netboot`], and the [`manifest`]. [`build`] strings them together.

pub mod access;
pub mod agent;
pub mod build;
pub mod catalog;
pub mod cpio;
pub mod disk;
pub mod esp;
pub mod initrd;
pub mod layers;
pub mod manifest;
pub mod netboot;
pub mod overlay;
pub mod packages;
pub mod root;
pub mod scrub;
pub mod tree;
pub mod uki;
pub mod uuid;

pub use build::{BuildOptions, Built, build};

use crate::tools::ToolsTree;

/// What every stage of one build has in common.
#[derive(Debug, Clone)]
pub struct Context {
    /// The tools.
    pub tools: ToolsTree,
    /// `SOURCE_DATE_EPOCH`: all time stamps of the image, seconds since 1970.
    pub epoch: u64,
}
