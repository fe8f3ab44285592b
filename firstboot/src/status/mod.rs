//! `status`: where the node is, why, and whether the values that were committed are the ones that are live.

mod build;
mod history;
mod text;

pub use build::{active, build, reason};
pub use history::{boot_line, moments, rfc3339};
pub use text::render;
