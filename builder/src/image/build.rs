//! The whole build, stage by stage.

use super::catalog::Content;
use super::manifest::Manifest;
use super::uki::Parts;
use super::{Context, disk, initrd, layers, netboot, packages, root, tree, uki};
use crate::cache::Cache;
use crate::fsx;
use crate::packages::lock::Lock;
use crate::packages::locking;
use crate::spec::{Output, Spec};
use crate::stage::Pipeline;
use crate::stage::outputs::{Artefact, Outputs};
use crate::stage::report::StageReport;
use crate::stage::space::Space;
use crate::tools::ToolsTree;
use anyhow::bail;
use serde::Serialize;
use std::path::PathBuf;

/// How to build.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Output directory.
    pub out: PathBuf,
    /// The agent's binary.
    pub agent: PathBuf,
    /// Never use the network.
    pub offline: bool,
    /// Hash every finished file again.
    pub verify: bool,
}

/// What a build did.
#[derive(Debug, Serialize)]
pub struct Built {
    /// Output directory.
    pub out: PathBuf,
    /// Stages.
    pub stages: Vec<StageReport>,
    /// Files.
    pub artefacts: Vec<Artefact>,
}

/// Builds the image of `spec` with `content` in its layers partition; progress is told through `tell`, a line at a time.
///
/// # Errors
/// A refusal before anything is written, or the stage that failed.
pub fn build(
    cache: &Cache,
    spec: &Spec,
    content: &Content,
    options: &BuildOptions,
    tell: &dyn Fn(&str),
) -> anyhow::Result<Built> {
    if !nix::unistd::geteuid().is_root() {
        bail!("building needs root, to give files of the image their owners\nhint: run it with sudo");
    }
    let _lock = cache.lock(tell)?;
    let lock = locked_packages(cache, spec, options, tell)?;
    let tools = tools(cache, &lock, tell)?;
    let context = Context {
        tools,
        epoch: lock.time,
    };
    let space = Space {
        cache: cache.root().to_owned(),
        out: options.out.clone(),
    };
    let mut pipeline = Pipeline::new(cache, &fsx::canonicalize(&spec.file)?, tell).with_space(space);

    let packages = packages::stage(&mut pipeline, cache, &context, &lock)?;
    let initrd = initrd::stage(&mut pipeline, &context, &packages)?;
    let tree = tree::stage(&mut pipeline, &context, spec, &packages, &options.agent)?;
    let erofs = root::erofs_stage(&mut pipeline, &context, &tree)?;
    let verity = root::verity_stage(&mut pipeline, &context, &erofs)?;
    let layers = layers::stage(&mut pipeline, &context, &content.files)?;
    let parts = Parts {
        initrd: &initrd,
        verity: &verity,
        layers: &layers,
        tree: &tree,
    };
    let uki = uki::stage(&mut pipeline, &context, spec, parts)?;

    let mut outputs = Outputs::open(cache, &options.out)?;
    let (raw, disk) = disk::stage(&mut pipeline, &context, spec, &mut outputs, parts, &erofs, &uki)?;
    let mut artefacts = vec![raw];
    if spec.outputs.contains(&Output::Qcow2) {
        artefacts.push(disk::qcow2_stage(
            &mut pipeline,
            &context,
            spec,
            &mut outputs,
            &disk,
        )?);
    }
    if spec.outputs.contains(&Output::Netboot) {
        artefacts.extend(netboot::stages(
            &mut pipeline,
            &context,
            spec,
            &mut outputs,
            parts,
            &erofs,
        )?);
    }
    if options.verify {
        verify(&outputs, &artefacts)?;
    }
    let mut manifest = Manifest::of(&spec.name, &lock);
    manifest.artefacts.clone_from(&artefacts);
    manifest.root_hash = root::root_hash(&verity.path("root.hash"))?;
    manifest.kernel = fsx::read_text(&initrd.path("uname"))?;
    for (made, name) in [
        (&erofs, "root.erofs"),
        (&verity, "root.verity"),
        (&layers, "layers.erofs"),
        (&layers, "layers.verity"),
        (&initrd, "vmlinuz"),
        (&initrd, "initrd"),
        (&uki, "dtnforge.efi"),
        (&uki, "stock.efi"),
    ] {
        manifest.parts.push(made.file(name)?);
    }
    manifest.profiles.clone_from(&content.profiles);
    manifest.write(outputs.directory())?;
    pipeline.prune()?;
    Ok(Built {
        out: outputs.directory().to_owned(),
        stages: pipeline.reports().to_vec(),
        artefacts,
    })
}

fn locked_packages(
    cache: &Cache,
    spec: &Spec,
    options: &BuildOptions,
    tell: &dyn Fn(&str),
) -> anyhow::Result<Lock> {
    let (lock, made) = locking::lock_of(cache, spec, options.offline)?;
    if made {
        tell(&format!(
            "wrote {}: {} packages at their versions of today",
            spec.lock_file.display(),
            lock.packages.len()
        ));
    }
    let fetched = locking::fetch(cache, spec, &lock, options.offline)?;
    if fetched > 0 {
        tell(&format!("fetched {fetched} packages"));
    }
    Ok(lock)
}

fn tools(cache: &Cache, lock: &Lock, tell: &dyn Fn(&str)) -> anyhow::Result<ToolsTree> {
    if !ToolsTree::is_cached(cache, &lock.tools) {
        tell("unpacking the tools tree");
    }
    Ok(ToolsTree::of_packages(cache, &lock.tools)?)
}

fn verify(outputs: &Outputs, artefacts: &[Artefact]) -> anyhow::Result<()> {
    for artefact in artefacts {
        if !outputs.verify(&artefact.path)? {
            let path = outputs.directory().join(&artefact.path);
            bail!(
                "{}: its content is not what was built\nhint: remove it and build again",
                path.display()
            );
        }
    }
    Ok(())
}
