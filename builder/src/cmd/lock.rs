//! `dtnforge lock SPEC`: which versions an image is made of.

use super::Failure;
use crate::cache::Cache;
use crate::packages::lock::{self, Lock};
use crate::packages::locking;
use crate::spec;
use std::path::PathBuf;

/// Arguments of `dtnforge lock`.
#[derive(Debug, clap::Args)]
pub struct LockArgs {
    /// The image spec
    spec: PathBuf,
    /// Take the versions of today, and print what changes
    #[arg(long)]
    update: bool,
    /// Directory of the cache
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Writes the lock file, or says what is in it.
///
/// # Errors
/// The spec or the lock file is wrong, or the packages cannot be resolved.
pub fn run(args: &LockArgs) -> Result<(), Failure> {
    let spec = spec::load(&args.spec).map_err(|error| Failure::BadInput(error.into()))?;
    let path = &spec.lock_file;
    // A broken file may be what `--update` is called for.
    let old = if args.update {
        Lock::read(path).unwrap_or(None)
    } else {
        Lock::read(path)?
    };
    if let Some(old) = old.as_ref().filter(|_| !args.update) {
        old.check(path, &spec.suite, &spec.packages)?;
        println!(
            "{}: {} packages; --update takes the versions of today",
            path.display(),
            old.packages.len()
        );
        return Ok(());
    }
    let cache = Cache::open(args.cache.as_deref())?;
    let _held = cache.lock(&|line| eprintln!("{line}"))?;
    let mut new = locking::resolve(&cache, &spec)?;
    let changes = old.as_ref().map(|old| changes(old, &new));
    match (&old, &changes) {
        (Some(old), Some(changes)) if changes.is_empty() && old.requested == new.requested => {
            // The time is part of every image: the same packages keep it.
            new.time = old.time;
            println!("{}: nothing changes", path.display());
        }
        (_, Some(changes)) => {
            println!("{}: {} changes", path.display(), changes.len());
            changes.iter().for_each(|line| println!("{line}"));
        }
        (_, None) => println!("{}: {} packages", path.display(), new.packages.len()),
    }
    Ok(new.write(path)?)
}

fn changes(old: &Lock, new: &Lock) -> Vec<String> {
    let tools = lock::difference(&old.tools, &new.tools)
        .into_iter()
        .map(|line| format!("{line} (tools)"));
    lock::difference(&old.packages, &new.packages)
        .into_iter()
        .chain(tools)
        .collect()
}
