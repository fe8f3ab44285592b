//! The image spec: TOML as [`written`], laid over what it extends, then [`valid`]: checked, with every default in
//! place. Only the last form is passed on. Everything is refused here, before anything is written.

pub mod access;
mod check;
pub mod error;
mod locate;
#[cfg(test)]
mod tests;
pub mod valid;
pub mod written;

pub use access::Access;
pub use error::SpecError;
pub use valid::{Output, Spec};

use std::path::Path;
use written::Written;

/// Form of an image spec.
pub const SPEC_SCHEMA: u32 = 1;
/// How deep specs may extend each other.
const MAX_DEPTH: usize = 8;

/// Reads, merges and checks the spec at `path`.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn load(path: &Path) -> Result<Spec, SpecError> {
    let merged = load_written(path, 0)?;
    valid::build(path, merged)
}

fn load_written(path: &Path, depth: usize) -> Result<Written, SpecError> {
    let text = std::fs::read_to_string(path).map_err(|error| SpecError::unreadable(path, &error))?;
    let written = parse(path, &text)?;
    let Some(below) = &written.extends else {
        return Ok(written);
    };
    if depth == MAX_DEPTH {
        return Err(SpecError::at(
            path,
            &text,
            "extends",
            format!("more than {MAX_DEPTH} specs extend each other"),
        ));
    }
    let below = beside(path, below);
    if !below.is_file() {
        return Err(SpecError::at(
            path,
            &text,
            "extends",
            format!("there is no file {}", below.display()),
        ));
    }
    Ok(load_written(&below, depth + 1)?.overlaid_by(written))
}

/// One file: its form, and each value by itself.
fn parse(path: &Path, text: &str) -> Result<Written, SpecError> {
    let mut written: Written =
        toml::from_str(text).map_err(|error| SpecError::of_toml(path, text, &error))?;
    check::values(path, text, &written)?;
    written.resolve_paths(path);
    Ok(written)
}

/// A path in a spec is relative to the spec.
fn beside(spec: &Path, path: &Path) -> std::path::PathBuf {
    spec.parent().unwrap_or(Path::new("")).join(path)
}
