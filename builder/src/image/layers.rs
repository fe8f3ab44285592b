//! Stage `layers`: what an image knows about tuning, in a partition of its own, so that a change of a profile or of
//! the site's wishes rebuilds neither the root nor the initrd.

use super::{Context, root, tree, uuid};
use crate::fsx;
use crate::spec::Spec;
use crate::stage::{Failed, Inputs, Made, Pipeline, StageError, Work};
use dtnforge_profiles::digest::Digest;
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

/// What `spec` says that a node must know: `site.toml`.
///
/// # Errors
/// The site's values have no TOML form.
pub fn site_file(spec: &Spec) -> Result<Vec<u8>, toml::ser::Error> {
    let mut site = spec.site.clone();
    site.schema = Some(dtnforge_profiles::site::SITE_SCHEMA);
    Ok(toml::to_string(&site)?.into_bytes())
}
