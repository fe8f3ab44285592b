//! A host that is known by its report, and what follows from it.

use super::read;
use super::{Failure, bad};
use anyhow::Context as _;
use dtnforge_profiles::catalog::Profile;
use dtnforge_profiles::conclude::{Conclusions, conclude};
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::layer;
use dtnforge_profiles::plan::{Plan, make, offline_target};
use dtnforge_profiles::site::Site;
use std::path::Path;

/// Facts, what the site says, and the conclusions.
pub(super) struct Report {
    pub(super) facts: Facts,
    pub(super) site: Site,
    pub(super) seen: Conclusions,
}

impl Report {
    /// Reads the facts at `path`, TOML or JSON.
    ///
    /// # Errors
    /// The file cannot be read, or is no report.
    pub(super) fn load(path: &Path, site: Site) -> Result<Self, Failure> {
        let facts = Facts::read(&read::text(path)?)
            .with_context(|| path.display().to_string())
            .map_err(Failure::BadInput)?;
        let seen = conclude(&facts, &site);
        Ok(Self { facts, site, seen })
    }

    /// What a profile means for the host, as far as its report tells.
    ///
    /// # Errors
    /// The profile cannot be packed into a layer.
    pub(super) fn plan(&self, profile: &Profile) -> Result<Plan, Failure> {
        let digest = layer::build(profile, &self.site).map_err(bad)?.digest;
        let target = offline_target(&self.facts);
        Ok(make(
            profile,
            &digest,
            &self.facts,
            &self.seen,
            &self.site,
            &target,
        ))
    }
}
