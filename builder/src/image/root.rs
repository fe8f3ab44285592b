//! Stages `erofs` and `verity`: the read-only root, and the tree of hashes that guards every block of it.

use super::{Context, uuid};
use crate::fsx;
use crate::stage::{Failed, Inputs, Made, Pipeline, StageError, Work};
use crate::tools::ToolsTree;
use dtnforge_profiles::digest::Digest;
use std::path::Path;

const CODE: u32 = 1;
/// Block size of file system and hashes. Fixed: tools take the build host's page size by default.
const BLOCK: &str = "4096";
/// lz4hc reads fastest on a node and packs well enough.
const COMPRESSION: &str = "-zlz4hc";

/// Runs the stage `erofs`. Its output holds `root.erofs`.
///
/// # Errors
/// mkfs.erofs fails.
pub fn erofs_stage(pipeline: &mut Pipeline<'_>, context: &Context, tree: &Made) -> Result<Made, Failed> {
    let inputs = Inputs::of_code(CODE)
        .with("tree", &tree.key)
        .with("tools", context.tools.key())
        .with("compression", COMPRESSION)
        .with("time", context.epoch);
    let key = inputs.key();
    pipeline.stage("erofs", &inputs, |work| {
        make_erofs(
            work,
            context,
            &tree.path("tree"),
            "root",
            &uuid::of("root", &key),
            &[COMPRESSION, "--mkfs-time"],
        )
    })
}

/// Runs the stage `verity`. Its output holds `root.verity` and `root.hash`.
///
/// # Errors
/// veritysetup fails.
pub fn verity_stage(pipeline: &mut Pipeline<'_>, context: &Context, erofs: &Made) -> Result<Made, Failed> {
    let inputs = Inputs::of_code(CODE)
        .with("erofs", &erofs.key)
        .with("tools", context.tools.key());
    let key = inputs.key();
    pipeline.stage("verity", &inputs, |work| {
        make_verity(work, &context.tools, &erofs.path("root.erofs"), "root", &key)
    })
}

/// Makes `NAME.erofs` of `tree`.
///
/// # Errors
/// mkfs.erofs fails.
pub fn make_erofs(
    work: &Work<'_>,
    context: &Context,
    tree: &Path,
    name: &str,
    uuid: &str,
    options: &[&str],
) -> Result<(), StageError> {
    let program = context.tools.inside("mkfs.erofs");
    program
        .bind(work.directory, "out")
        .bind(tree, "tree")
        .args([
            "--quiet",
            "-b",
            BLOCK,
            "-T",
            &context.epoch.to_string(),
            "-U",
            uuid,
        ])
        .args(options)
        .args([&format!("/mnt/out/{name}.erofs"), "/mnt/tree"])
        .run(&work.log)?;
    Ok(())
}

/// Makes `NAME.verity` and `NAME.hash` of the file `data`; salt and identifier follow from `key`.
///
/// # Errors
/// veritysetup fails.
pub fn make_verity(
    work: &Work<'_>,
    tools: &ToolsTree,
    data: &Path,
    name: &str,
    key: &Digest,
) -> Result<(), StageError> {
    tools
        .inside("veritysetup")
        .bind(work.directory, "out")
        .bind(data, "data")
        .args(["format", "--data-block-size", BLOCK, "--hash-block-size", BLOCK])
        .args([
            "--salt",
            Digest::of(format!("{name} salt {key}").as_bytes()).as_str(),
        ])
        .args(["--uuid", &uuid::of(name, key)])
        .args(["--root-hash-file", &format!("/mnt/out/{name}.hash")])
        .args(["/mnt/data", &format!("/mnt/out/{name}.verity")])
        .run(&work.log)?;
    Ok(())
}

/// The root hash that a verity stage wrote.
///
/// # Errors
/// It cannot be read, or is no SHA-256.
pub fn root_hash(path: &Path) -> Result<String, StageError> {
    let hash = fsx::read_text(path)?.trim().to_owned();
    if uuid::of_root_hash(&hash).is_none() {
        return Err(StageError::Wrong(format!(
            "{}: {hash:?} is no root hash",
            path.display()
        )));
    }
    Ok(hash)
}
