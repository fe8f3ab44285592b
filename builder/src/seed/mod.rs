//! `dtnforge seed`: what cloud-init's NoCloud data source reads on a node, out of a small table of nodes.
//!
//! The table is read as [`written`], and becomes nodes that are [`valid`]: every value is checked, and checked against
//! the other nodes, before anything is written. [`cloud`] and [`netplan`] say what a node is told; both are JSON, which
//! is YAML, so no value is ever quoted by hand. [`output`] writes it as a directory, an ISO image ([`iso`]) or a tree for
//! a web server. The same table gives the same bytes.

mod address;
pub mod cloud;
pub mod iso;
pub mod netplan;
mod network;
mod nodes;
pub mod output;
mod place;
#[cfg(test)]
mod tests;
pub mod valid;
pub mod written;

pub use cloud::Seed;
pub use output::{Format, Made, OutputError};
pub use valid::Node;

use crate::spec::SpecError;
use place::Place;
use std::path::Path;
use written::Written;

/// Form of a table of nodes.
pub const SEED_SCHEMA: u32 = 1;

/// The nodes of the table at `path`.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn load(path: &Path) -> Result<Vec<Node>, SpecError> {
    let text = std::fs::read_to_string(path).map_err(|error| SpecError::unreadable(path, &error))?;
    parse(path, &text)
}

/// The nodes of a table with the content `text`; `path` is only named in messages.
///
/// # Errors
/// As [`load`].
pub fn parse(path: &Path, text: &str) -> Result<Vec<Node>, SpecError> {
    let written: Written = toml::from_str(text).map_err(|error| SpecError::of_toml(path, text, &error))?;
    nodes::build(Place { path, text }, written)
}
