//! Programs of the tools tree (mtools, debugfs, qemu-img, sfdisk) for tests that look into a disk from outside.
//!
//! They are started by the tree's own dynamic loader, so they need neither root nor the host's libraries.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Trouble;
use crate::programs::{Programs, run};

const LOADER: &str = "usr/lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The tools tree, as `dtnforge tools` names it.
pub(crate) fn tree() -> Result<&'static Path, Trouble> {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    if let Some(tree) = TREE.get() {
        return Ok(tree);
    }
    let output = run(Command::new(&Programs::get()?.dtnforge).arg("tools"))?;
    let tree = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(TREE.get_or_init(|| tree))
}

/// A program of the tree, such as `usr/bin/mtools`, ready for its arguments.
///
/// # Errors
/// When there is no tools tree.
pub fn program(path: &str) -> Result<Command, Trouble> {
    let tree = tree()?;
    let mut command = Command::new(tree.join(LOADER));
    command
        .arg("--library-path")
        .arg(tree.join(LIBRARIES))
        .arg(tree.join(path))
        .env("LC_ALL", "C");
    Ok(command)
}

/// Runs a program of the tree to its end; what it printed.
///
/// # Errors
/// When it fails, with what it said.
pub fn output<A: AsRef<OsStr>>(path: &str, args: impl IntoIterator<Item = A>) -> Result<String, Trouble> {
    let output = run(program(path)?.args(args))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
