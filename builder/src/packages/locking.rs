//! From a spec to a lock: resolves the packages of the image and of the tools tree.

use super::apt::{Apt, AptError};
use super::host::{self, HostError};
use super::lock::{LOCK_SCHEMA, Lock, LockError};
use super::pool::{Pool, PoolError};
use crate::cache::Cache;
use crate::spec::Spec;
use crate::tools;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Why there is no lock, or no packages for it.
#[derive(Debug, thiserror::Error)]
pub enum LockingError {
    /// No archive is known.
    #[error(transparent)]
    Host(#[from] HostError),
    /// apt.
    #[error("stage `resolve`")]
    Apt(#[from] AptError),
    /// Fetching.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The lock file.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no lock file, and one cannot be made without the network.
    #[error(
        "there is no lock file {0}, and --offline forbids to make one\nhint: run `dtnforge lock SPEC` once"
    )]
    Offline(String),
}

/// The private apt for the archives of `spec`.
///
/// # Errors
/// No archive is known.
pub fn apt(cache: &Cache, spec: &Spec) -> Result<Apt, LockingError> {
    let archives = host::archives(Path::new("/"), cache, spec.mirror.as_deref(), &spec.suite)?;
    Ok(Apt::open(cache, &archives)?)
}

/// Resolves `spec` with the versions of today.
///
/// # Errors
/// The lists cannot be fetched, a package is unknown.
pub fn resolve(cache: &Cache, spec: &Spec) -> Result<Lock, LockingError> {
    let apt = apt(cache, spec)?;
    apt.update()?;
    let tools = tools::PACKAGES.map(str::to_owned);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Lock {
        schema: LOCK_SCHEMA,
        suite: spec.suite.clone(),
        time: now.as_secs(),
        requested: spec.packages.clone(),
        packages: apt.resolve(&spec.packages, true)?,
        tools: apt.resolve(&tools, false)?,
    })
}

/// The lock of `spec`: the file beside it, or one that is made now. Says whether it was made.
///
/// # Errors
/// The file is broken or was made for another request; there is none and none can be made.
pub fn lock_of(cache: &Cache, spec: &Spec, offline: bool) -> Result<(Lock, bool), LockingError> {
    let path = &spec.lock_file;
    if let Some(lock) = Lock::read(path)? {
        lock.check(path, &spec.suite, &spec.packages)?;
        return Ok((lock, false));
    }
    if offline {
        return Err(LockingError::Offline(path.display().to_string()));
    }
    let lock = resolve(cache, spec)?;
    lock.write(path).map_err(LockError::from)?;
    Ok((lock, true))
}

/// Makes sure that the files of all packages of `lock` are in the pool. Says how many were fetched.
///
/// # Errors
/// They cannot be had.
pub fn fetch(cache: &Cache, spec: &Spec, lock: &Lock, offline: bool) -> Result<usize, LockingError> {
    let pool = Pool::of(cache);
    let all: Vec<_> = lock.packages.iter().chain(&lock.tools).cloned().collect();
    if pool.missing(&all).is_empty() {
        return Ok(0);
    }
    let apt = if offline { None } else { Some(apt(cache, spec)?) };
    Ok(pool.ensure(cache, apt.as_ref(), &all)?)
}
