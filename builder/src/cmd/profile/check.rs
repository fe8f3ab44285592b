//! `dtnforge profile check`: all mistakes of profiles at once, before an image carries them.

use super::{Failure, bad, read};
use dtnforge_profiles::catalog::{Catalog, CatalogError};
use dtnforge_profiles::layer;
use dtnforge_profiles::site::SiteFile;
use std::path::PathBuf;

/// Arguments of `dtnforge profile check`.
#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// A profile, or a directory of profiles; the built-in catalog when there is none
    path: Option<PathBuf>,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let invalid = |problems| bad(CatalogError::Invalid(problems));
    let built_in = Catalog::embedded().map_err(invalid)?;
    let catalog = match &args.path {
        None => built_in,
        // A site's own profile may extend a base of ours.
        Some(path) if path.is_dir() => built_in.bases_only().with_directory(path).map_err(bad)?,
        Some(path) => built_in
            .bases_only()
            .with_files(&[(path.display().to_string(), read(path)?)])
            .map_err(invalid)?,
    };
    let site = SiteFile::default().check().map_err(bad)?;
    for profile in catalog.profiles() {
        // A profile that cannot be packed would fail the build only much later.
        let layer = layer::build(profile, &site).map_err(bad)?;
        println!(
            "{}: {} values, layer {}",
            profile.name,
            profile.knobs.len(),
            layer.digest.short()
        );
    }
    Ok(())
}
