//! `dtnforge tools`: where the tools tree is.

use super::Failure;
use crate::cache::Cache;
use crate::tools::ToolsTree;
use std::path::PathBuf;

/// Arguments of `dtnforge tools`.
#[derive(Debug, clap::Args)]
pub struct ToolsArgs {
    /// Directory of the cache
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Prints the path of the tools tree; makes the tree when there is none.
///
/// # Errors
/// The tree cannot be made.
pub fn run(args: &ToolsArgs) -> Result<(), Failure> {
    let cache = Cache::open(args.cache.as_deref())?;
    println!("{}", ToolsTree::ensure(&cache)?.root().display());
    Ok(())
}
