//! Stages `disk` and `qcow2`: the GPT disk by systemd-repart, and its form for virtual machines. They write into the
//! output directory, beside the final name, and rename.

use super::uki::Parts;
use super::{Context, esp, root, uuid};
use crate::fsx;
use crate::spec::Spec;
use crate::stage::outputs::{Artefact, Outputs};
use crate::stage::{Inputs, Made, Pipeline, StageError, Work};
use dtnforge_profiles::digest::Digest;
use std::fmt::Write as _;
use std::path::Path;

const CODE: u32 = 3;

/// Runs the stage `disk`. Its output is `NAME.raw` in the output directory.
///
/// # Errors
/// The UKIs do not fit on the EFI system partition three times; systemd-repart fails.
pub fn stage(
    pipeline: &mut Pipeline<'_>,
    context: &Context,
    spec: &Spec,
    outputs: &mut Outputs,
    parts: Parts<'_>,
    erofs: &Made,
    uki: &Made,
) -> Result<(Artefact, Digest), anyhow::Error> {
    let inputs = Inputs::of_code(CODE)
        .with("tools", context.tools.key())
        .with("time", context.epoch)
        .with("root", &erofs.key)
        .with("root hashes", &parts.verity.key)
        .with("layers", &parts.layers.key)
        .with("uki", &uki.key)
        .with("esp_mib", spec.esp_mib)
        .with("state_mib", spec.state_mib);
    esp::check_size(spec, uki)?;
    let seed = uuid::of("disk", &inputs.key());
    let name = format!("{}.raw", spec.name);
    let made = pipeline.artefact("disk", &inputs, outputs, &name, |target, work| {
        esp::lay_out(work, context, uki)?;
        make_state(work, context, spec)?;
        for (file, text) in definitions(spec, parts)? {
            fsx::write(&work.path("repart.d").join(file), text.as_bytes())?;
        }
        partition(work, context, parts, erofs, &seed, target)?;
        esp::read_back(work, context, uki, target)
    });
    Ok(made?)
}

/// Runs the stage `qcow2`. Its output is `NAME.qcow2` in the output directory.
///
/// # Errors
/// qemu-img fails.
pub fn qcow2_stage(
    pipeline: &mut Pipeline<'_>,
    context: &Context,
    spec: &Spec,
    outputs: &mut Outputs,
    disk: &Digest,
) -> Result<Artefact, anyhow::Error> {
    let inputs = Inputs::of_code(CODE)
        .with("tools", context.tools.key())
        .with("disk", disk);
    let raw = outputs.directory().join(format!("{}.raw", spec.name));
    let name = format!("{}.qcow2", spec.name);
    let made = pipeline.artefact("qcow2", &inputs, outputs, &name, |target, work| {
        // Not compressed: nearly all of the disk is a compressed file system already.
        let (directory, inside) = seen_inside(target)?;
        context
            .tools
            .inside("qemu-img")
            .bind(&raw, "raw")
            .bind(directory, "dest")
            .args(["convert", "-f", "raw", "-O", "qcow2", "/mnt/raw", &inside])
            .run(&work.log)?;
        Ok(())
    });
    Ok(made?.0)
}

/// The empty state file system. Made here and not by systemd-repart, which leaves the seed of directory hashes to
/// chance. Its identity is the same in all copies of an image; the node's own identity is what it writes into it.
fn make_state(work: &Work<'_>, context: &Context, spec: &Spec) -> Result<(), StageError> {
    let key = Digest::of(spec.name.as_bytes());
    let seed = uuid::of("state hash seed", &key);
    context
        .tools
        .inside("mkfs.ext4")
        .bind(work.directory, "out")
        .args([
            "-q",
            "-F",
            "-b",
            "4096",
            "-I",
            "256",
            "-m",
            "0",
            "-L",
            "dtn-state",
            "-U",
            &uuid::of("state", &key),
        ])
        .args([
            "-E",
            &format!("hash_seed={seed},nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
        ])
        .args(["/mnt/out/state.ext4", &format!("{}M", spec.state_mib)])
        .env("SOURCE_DATE_EPOCH", context.epoch.to_string())
        .run(&work.log)?;
    Ok(())
}

/// The partitions, as files for systemd-repart. The state partition is the last one, so that it can grow.
fn definitions(spec: &Spec, parts: Parts<'_>) -> Result<Vec<(&'static str, String)>, StageError> {
    let esp = format!("Format=vfat\nCopyFiles=/mnt/out/esp:/\n{}", sizes(spec.esp_mib));
    let mut all = vec![("10-esp.conf", definition("esp", "esp", &esp))];
    all.extend(read_only_partitions(parts)?);
    let state = "CopyBlocks=/mnt/out/state.ext4\n";
    all.push(("40-state.conf", definition(uuid::STATE_TYPE, "dtn-state", state)));
    Ok(all)
}

/// The partitions that a node only reads: root, layers, and the hashes of both.
pub(super) fn read_only_partitions(parts: Parts<'_>) -> Result<Vec<(&'static str, String)>, StageError> {
    let ids = |made: &Made, file: &str| -> Result<(String, String), StageError> {
        let hash = root::root_hash(&made.path(file))?;
        uuid::of_root_hash(&hash).ok_or_else(|| StageError::Wrong(format!("{hash:?} is no root hash")))
    };
    let (root, root_hashes) = ids(parts.verity, "root.hash")?;
    let (layers, layers_hashes) = ids(parts.layers, "layers.hash")?;
    let verity = |kind, label, uuid: String, file| {
        definition(kind, label, &format!("UUID={uuid}\nCopyBlocks=/mnt/{file}\n"))
    };
    Ok(vec![
        (
            "20-root.conf",
            verity("root-x86-64", "dtn-root", root, "root.erofs"),
        ),
        (
            "21-root-verity.conf",
            verity(
                "root-x86-64-verity",
                "dtn-root-verity",
                root_hashes,
                "root.verity",
            ),
        ),
        (
            "30-layers.conf",
            verity("linux-generic", "dtn-layers", layers, "layers.erofs"),
        ),
        (
            "31-layers-verity.conf",
            verity(
                "linux-generic",
                "dtn-layers-verity",
                layers_hashes,
                "layers.verity",
            ),
        ),
    ])
}

fn definition(kind: &str, label: &str, rest: &str) -> String {
    format!("[Partition]\nType={kind}\nLabel={label}\n{rest}")
}

fn sizes(mib: u32) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "SizeMinBytes={mib}M\nSizeMaxBytes={mib}M\n");
    text
}

/// Makes the disk `target` of the definitions in `repart.d` of `work`.
///
/// # Errors
/// systemd-repart fails.
pub(super) fn partition(
    work: &Work<'_>,
    context: &Context,
    parts: Parts<'_>,
    erofs: &Made,
    seed: &str,
    target: &Path,
) -> Result<(), StageError> {
    let scratch = work.path("tmp");
    fsx::create_dir_all(&scratch)?;
    let (directory, inside) = seen_inside(target)?;
    context
        .tools
        .inside("systemd-repart")
        .bind(work.directory, "out")
        .bind(directory, "dest")
        .bind(&erofs.path("root.erofs"), "root.erofs")
        .bind(&parts.verity.path("root.verity"), "root.verity")
        .bind(&parts.layers.path("layers.erofs"), "layers.erofs")
        .bind(&parts.layers.path("layers.verity"), "layers.verity")
        .scratch(&scratch)
        .args([
            "--offline=yes",
            "--empty=create",
            "--size=auto",
            "--dry-run=no",
            "--no-pager",
            "--sector-size=512",
        ])
        .args([
            &format!("--seed={seed}"),
            "--definitions=/mnt/out/repart.d",
            &inside,
        ])
        .env("SOURCE_DATE_EPOCH", context.epoch.to_string())
        .run(&work.log)?;
    Ok(())
}

/// The file `target` as a tool sees it that has its directory bound as `/mnt/dest`.
pub(super) fn seen_inside(target: &Path) -> Result<(&Path, String), StageError> {
    match (target.parent(), target.file_name()) {
        (Some(directory), Some(name)) => Ok((directory, format!("/mnt/dest/{}", name.to_string_lossy()))),
        _ => Err(StageError::Wrong(format!(
            "{} has no directory",
            target.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_one_section() {
        let text = definition("esp", "esp", &format!("Format=vfat\n{}", sizes(512)));
        assert_eq!(
            text,
            "[Partition]\nType=esp\nLabel=esp\nFormat=vfat\nSizeMinBytes=512M\nSizeMaxBytes=512M\n"
        );
    }
}
