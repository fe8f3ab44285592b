//! Stage `layers`: what an image knows about tuning, in a partition of its own, so that a change of a profile or of
//! the site's wishes rebuilds neither the root nor the initrd.

use super::manifest::Profile;
use super::{Context, root, tree, uuid};
use crate::fsx;
use crate::spec::Spec;
use crate::stage::{Inputs, Made, Pipeline, StageError, Work, pipeline::Failed};
use dtnforge_profiles::catalog::{Catalog, CatalogError, Problems, Profile as CatalogProfile};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::layer::{self, Index};
use dtnforge_profiles::site::{OutOfRange, SITE_SCHEMA};
use std::collections::BTreeMap;

const CODE: u32 = 1;

/// The files of the partition, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Runs the stage. Its output holds `layers.erofs`, `layers.verity` and `layers.hash`.
///
/// # Errors
/// The tools fail.
pub fn stage(pipeline: &mut Pipeline<'_>, context: &Context, files: &Files) -> Result<Made, Failed> {
    let mut inputs = Inputs::of_code(CODE)
        .with("tools", context.tools.key())
        .with("time", context.epoch);
    for (name, content) in files {
        inputs = inputs.with(&format!("file {name}"), Digest::of(content));
    }
    let key = inputs.key();
    pipeline.stage("layers", &inputs, |work| make(work, context, files, &key))
}

fn make(work: &Work<'_>, context: &Context, files: &Files, key: &Digest) -> Result<(), StageError> {
    let content = work.path("content");
    fsx::create_dir_all(&content)?;
    for (name, bytes) in files {
        fsx::write(&content.join(name), bytes)?;
    }
    tree::set_times(&content, context.epoch)?;
    root::make_erofs(work, context, &content, "layers", &uuid::of("layers", key), &[])?;
    root::make_verity(work, &context.tools, &work.path("layers.erofs"), "layers", key)
}

/// What a node must know: its layers with their index, and what the site said.
#[derive(Debug)]
pub struct Content {
    /// The files of the partition.
    pub files: Files,
    /// The profiles, for the manifest.
    pub profiles: Vec<Profile>,
}

/// Why there are no layers for a spec.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// A profile that a spec asks for is in no catalog.
    #[error(
        "{}: profiles.include: there is no profile {name:?}\nhint: there are {known}; more by profiles.extra_catalogs",
        spec.display()
    )]
    NoProfile {
        /// The spec.
        spec: std::path::PathBuf,
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// An extra catalog is wrong.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The catalog that is built in is wrong.
    #[error(transparent)]
    Embedded(#[from] Problems),
    /// A layer cannot be built.
    #[error(transparent)]
    Layer(#[from] layer::BuildError),
    /// The site's values are out of range.
    #[error("{}: site: {source}", spec.display())]
    Site {
        /// The spec.
        spec: std::path::PathBuf,
        /// What is out of range.
        source: OutOfRange,
    },
    /// The site's values have no TOML form.
    #[error("site.toml: {0}")]
    Toml(#[from] toml::ser::Error),
    /// The index has no JSON form.
    #[error("index.json: {0}")]
    Json(#[from] serde_json::Error),
}

/// The content of the partition for `spec`: pure but for the reading of extra catalogs.
///
/// # Errors
/// [`LayersError`], before anything is written.
pub fn content(spec: &Spec) -> Result<Content, LayersError> {
    let mut site_file = spec.site.clone();
    site_file.schema = Some(SITE_SCHEMA);
    let site_error = |source| LayersError::Site {
        spec: spec.file.clone(),
        source,
    };
    let site = site_file.clone().check().map_err(site_error)?;
    let mut layers = Vec::new();
    for profile in wanted(spec, &catalog(spec)?)? {
        layers.push(layer::build(&profile, &site)?);
    }
    let index = Index::of(&layers);
    let profiles = index.layers.iter();
    let profiles = profiles.map(|entry| Profile {
        name: entry.profile.clone(),
        digest: entry.digest.clone(),
    });
    let profiles = profiles.collect();
    let mut files = Files::from([
        ("site.toml".to_owned(), toml::to_string(&site_file)?.into_bytes()),
        ("index.json".to_owned(), index.to_text()?.into_bytes()),
    ]);
    files.extend(layers.into_iter().map(|layer| (layer.file_name(), layer.bytes)));
    Ok(Content { files, profiles })
}

/// The catalog of this program with the spec's own ones laid over it.
fn catalog(spec: &Spec) -> Result<Catalog, LayersError> {
    let mut catalog = builtin(spec)?;
    for directory in &spec.extra_catalogs {
        catalog = catalog.overlaid_by(Catalog::load(directory)?);
    }
    Ok(catalog)
}

/// The project's catalog as it is in the checkout, so that an edit of a profile needs no new program; the embedded
/// one where the spec lies outside a checkout.
fn builtin(spec: &Spec) -> Result<Catalog, LayersError> {
    let directory = spec.project.join("profiles/catalog");
    if directory.is_dir() {
        Ok(Catalog::load(&directory)?)
    } else {
        Ok(Catalog::embedded()?)
    }
}

fn wanted(spec: &Spec, catalog: &Catalog) -> Result<Vec<CatalogProfile>, LayersError> {
    let mut profiles = Vec::new();
    for name in &spec.profiles {
        if name == "*" {
            return Ok(catalog.profiles().cloned().collect());
        }
        let missing = || LayersError::NoProfile {
            spec: spec.file.clone(),
            name: name.clone(),
            known: catalog
                .profiles()
                .map(|profile| profile.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        };
        profiles.push(catalog.get(name).cloned().ok_or_else(missing)?);
    }
    Ok(profiles)
}
