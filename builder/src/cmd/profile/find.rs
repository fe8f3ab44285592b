//! Profiles by name, with the names that there are when it is none of them.

use super::{Failure, bad};
use anyhow::anyhow;
use dtnforge_profiles::catalog::{Catalog, Profile};
use dtnforge_profiles::suggest::nearest;

/// The profile with this name.
///
/// # Errors
/// There is none: the message lists those that there are.
pub(in crate::cmd) fn profile<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Profile, Failure> {
    catalog.get(name).ok_or_else(|| {
        let near = nearest(name, catalog.profiles().map(|profile| profile.name.as_str()));
        let near = near.map(|near| format!("\nhint: did you mean {near}?"));
        let names = names(catalog);
        let near = near.unwrap_or_default();
        bad(anyhow!(
            "no profile {name:?} in the catalog, which has {names}{near}"
        ))
    })
}

/// All names of a catalog, for messages.
pub(super) fn names(catalog: &Catalog) -> String {
    let names: Vec<_> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
    names.join(", ")
}
