//! Profiles by name, with the names that there are when it is none of them.

use super::{Failure, bad};
use anyhow::anyhow;
use dtnforge_profiles::catalog::{Catalog, Profile};

/// The profile with this name.
///
/// # Errors
/// There is none: the message lists those that there are.
pub(in crate::cmd) fn profile<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Profile, Failure> {
    catalog.get(name).ok_or_else(|| {
        let names = names(catalog);
        bad(anyhow!("no profile {name:?} in the catalog, which has {names}"))
    })
}

/// All names of a catalog, for messages.
pub(super) fn names(catalog: &Catalog) -> String {
    let names: Vec<_> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
    names.join(", ")
}
