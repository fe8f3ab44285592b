//! A tree as a system extension (systemd-sysext(8)): one erofs file system with `/usr`.
//!
//! systemd merges extensions after udev and sysctl have read their files, so a commit is put in place late on such a
//! host, and the agent says so.

use super::tree::{Entry, Tree};
use super::{Label, NAME};
use crate::cache::Cache;
use crate::fsx::{self, FileError};
use crate::image::{overlay, tree as image_tree, uuid};
use crate::run::RunError;
use crate::tools::{ToolsError, ToolsTree};
use dtnforge_profiles::digest::Digest;
use std::path::Path;

/// Not more than what mkfs does by default on these machines, and the same on all.
const BLOCK: &str = "4096";

/// An extension that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SysextError {
    /// There is no tools tree.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A link cannot be made.
    #[error("cannot link {path}: {source}")]
    Link {
        /// Path in the tree.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// mkfs.erofs fails.
    #[error("cannot make the file system of the extension")]
    Mkfs(#[from] RunError),
}

/// Writes the extension to `target`.
///
/// # Errors
/// [`SysextError`].
pub fn sysext(cache: &Cache, tree: &Tree, label: &Label, target: &Path) -> Result<(), SysextError> {
    let tools = ToolsTree::ensure(cache)?;
    let scratch = cache.scratch("sysext")?;
    let content = scratch.path().join("tree");
    lay(&with_release(tree), &content)?;
    image_tree::set_times(&content, u64::from(label.time))?;
    let key = Digest::of(format!("{tree:?}").as_bytes());
    tools
        .inside("mkfs.erofs")
        .bind(scratch.path(), "out")
        .args(["--quiet", "-b", BLOCK, "-T", &label.time.to_string()])
        .args(["-U", &uuid::of("sysext", &key)])
        .args(["--all-root", "/mnt/out/image", "/mnt/out/tree"])
        .run(&scratch.path().join("log"))?;
    fsx::write_atomically(target, &fsx::read(&scratch.path().join("image"))?)?;
    Ok(())
}

/// By this file systemd knows an extension; ours is static and fits any system of its architecture.
fn with_release(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.add(
        format!("usr/lib/extension-release.d/extension-release.{NAME}"),
        Entry::file("ID=_any\nARCHITECTURE=x86-64\n"),
    );
    tree
}

fn lay(tree: &Tree, root: &Path) -> Result<(), SysextError> {
    for (path, entry) in tree.entries() {
        let place = root.join(path);
        match entry {
            Entry::File { bytes, .. } => {
                fsx::write(&place, bytes)?;
                overlay::set_mode(&place, u32::from(entry.mode()))?;
            }
            Entry::Link(to) => {
                if let Some(directory) = place.parent() {
                    fsx::create_dir_all(directory)?;
                }
                std::os::unix::fs::symlink(to, &place).map_err(|source| SysextError::Link {
                    path: path.to_owned(),
                    source,
                })?;
            }
        }
    }
    for directory in tree.directories() {
        overlay::set_mode(&root.join(directory), 0o755)?;
    }
    Ok(())
}
