//! Which profiles an image carries, as layers: the project's catalog, the spec's own over it, and the names that the
//! spec includes. Everything wrong in them is found before anything is written.

use super::layers::{Files, site_file};
use super::manifest;
use crate::spec::{Spec, SpecError};
use dtnforge_profiles::catalog::{Catalog, CatalogError, Profile};
use dtnforge_profiles::layer::{self, Index, Layer};
use dtnforge_profiles::site::Site;

/// The whole catalog.
const ALL: &str = "*";
/// Names of files in the layers partition.
const INDEX: &str = "index.json";
const SITE: &str = "site.toml";

/// Why an image has no layers.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// A profile is wrong, or a directory of profiles cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The spec names what is not there.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A profile cannot be made into a layer.
    #[error(transparent)]
    Build(#[from] layer::BuildError),
    /// The site's values are out of range.
    #[error(transparent)]
    Site(#[from] dtnforge_profiles::site::OutOfRange),
    /// The site's values have no TOML form.
    #[error("cannot write {SITE}")]
    SiteText(#[from] toml::ser::Error),
    /// The index has no JSON form.
    #[error("cannot write {INDEX}")]
    IndexText(#[from] serde_json::Error),
}

/// What goes into the layers partition.
#[derive(Debug)]
pub struct Content {
    /// Files by name.
    pub files: Files,
    /// The profiles, for the manifest.
    pub profiles: Vec<manifest::Profile>,
}

/// Builds the layers of `spec`.
///
/// # Errors
/// A profile is wrong or missing.
pub fn content(spec: &Spec) -> Result<Content, LayersError> {
    let site: Site = spec.site.clone().check()?;
    let catalog = catalog(spec)?;
    check_site_profile(spec, &catalog)?;
    let mut layers = Vec::new();
    for profile in chosen(spec, &catalog)? {
        layers.push(layer::build(profile, &site)?);
    }
    let mut files = Files::from([
        (SITE.to_owned(), site_file(spec)?),
        (INDEX.to_owned(), Index::of(&layers).to_text()?.into_bytes()),
    ]);
    let profiles = layers.iter().map(described).collect();
    files.extend(layers.into_iter().map(|layer| (layer.file_name(), layer.bytes)));
    Ok(Content { files, profiles })
}

fn described(layer: &Layer) -> manifest::Profile {
    manifest::Profile {
        name: layer.manifest.profile.clone(),
        digest: layer.digest.clone(),
    }
}

/// The project's catalog as it is on disk, so that an edit of a profile needs no new program; the one that is built
/// in where the project has none.
fn catalog(spec: &Spec) -> Result<Catalog, LayersError> {
    let own = spec.project.join("profiles/catalog");
    let mut catalog = if own.is_dir() {
        Catalog::load(&own)?
    } else {
        Catalog::embedded().map_err(CatalogError::Invalid)?
    };
    for directory in &spec.extra_catalogs {
        catalog = catalog.with_directory(directory)?;
    }
    Ok(catalog)
}

fn chosen<'a>(spec: &Spec, catalog: &'a Catalog) -> Result<Vec<&'a Profile>, SpecError> {
    if spec.profiles.iter().any(|name| name == ALL) {
        return Ok(catalog.profiles().collect());
    }
    spec.profiles
        .iter()
        .map(|name| found(spec, catalog, name, "profiles.include"))
        .collect()
}

/// A profile that the site insists on must be in the image.
fn check_site_profile(spec: &Spec, catalog: &Catalog) -> Result<(), SpecError> {
    let Some(name) = &spec.site.profile else {
        return Ok(());
    };
    found(spec, catalog, name, "site.profile")?;
    if spec
        .profiles
        .iter()
        .any(|included| included == name || included == ALL)
    {
        return Ok(());
    }
    let message = format!("{name:?} is not among the included profiles");
    Err(SpecError::of_file(&spec.file, "site.profile", message).hint("add it to profiles.include"))
}

fn found<'a>(spec: &Spec, catalog: &'a Catalog, name: &str, key: &str) -> Result<&'a Profile, SpecError> {
    catalog.get(name).ok_or_else(|| {
        let known: Vec<&str> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
        SpecError::of_file(&spec.file, key, format!("there is no profile {name:?}"))
            .hint(format!("known are {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fsx, spec};
    use std::path::Path;

    /// A project with the real catalog and one spec.
    fn project(text: &str) -> (tempfile::TempDir, Spec) {
        let home = tempfile::tempdir().unwrap();
        for overlay in ["common", "agent", "initrd"] {
            fsx::create_dir_all(&home.path().join("overlays").join(overlay)).unwrap();
        }
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiles/catalog");
        fsx::create_dir_all(&home.path().join("profiles/catalog")).unwrap();
        for path in fsx::list(&own).unwrap() {
            let target = home
                .path()
                .join("profiles/catalog")
                .join(path.file_name().unwrap());
            std::fs::copy(path, target).unwrap();
        }
        let path = home.path().join("x.toml");
        fsx::write(&path, format!("schema = 1\nname = \"x\"\n{text}").as_bytes()).unwrap();
        let spec = spec::load(&path).unwrap();
        (home, spec)
    }

    #[test]
    fn every_included_profile_is_one_layer_and_the_index_names_it() {
        let (_home, spec) =
            project("[profiles]\ninclude = [\"stock\", \"dtn-vm\"]\n[site]\nrole = \"dtn\"\n");
        let content = content(&spec).unwrap();
        let names: Vec<&str> = content
            .profiles
            .iter()
            .map(|profile| profile.name.as_str())
            .collect();
        assert_eq!(names, ["stock", "dtn-vm"]);
        let index = String::from_utf8(content.files[INDEX].clone()).unwrap();
        for profile in &content.profiles {
            let file = format!("{}-{}.tar.zst", profile.name, profile.digest.short());
            assert!(
                index.contains(&file) && content.files.contains_key(&file),
                "{file}: {index}"
            );
        }
        assert_eq!(content.files[SITE], b"schema = 1\nrole = \"dtn\"\n");
        assert_eq!(content.files.len(), 4);
    }

    #[test]
    fn the_same_spec_gives_the_same_bytes() {
        let (_one, one) = project("");
        let (_other, other) = project("");
        assert_eq!(content(&one).unwrap().files, content(&other).unwrap().files);
    }

    #[test]
    fn a_profile_that_is_not_there_is_named_with_the_known_ones() {
        let (_home, spec) = project("[profiles]\ninclude = [\"dtn-400g\"]\n");
        let error = content(&spec).unwrap_err().to_string();
        assert!(
            error.contains(
                "x.toml:4: key `profiles.include`: there is no profile \"dtn-400g\"\nhint: known are "
            ),
            "{error}"
        );
    }

    #[test]
    fn a_site_cannot_insist_on_a_profile_that_the_image_does_not_carry() {
        let (_home, spec) = project("[profiles]\ninclude = [\"stock\"]\n[site]\nprofile = \"dtn-vm\"\n");
        let error = content(&spec).unwrap_err().to_string();
        assert!(
            error.contains("x.toml:6: key `site.profile`: \"dtn-vm\" is not among the included profiles"),
            "{error}"
        );
    }

    #[test]
    fn a_mistake_in_a_profile_names_file_line_and_key() {
        let (home, spec) = project("");
        let file = home.path().join("profiles/catalog/stock.toml");
        let text = fsx::read_text(&file).unwrap();
        fsx::write(&file, text.replace("title", "tittle").as_bytes()).unwrap();
        let error = content(&spec).unwrap_err().to_string();
        assert!(
            error.contains("profiles/catalog/stock.toml:") && error.contains("tittle"),
            "{error}"
        );
    }
}
