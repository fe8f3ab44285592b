//! Stage `initrd`: a generic initrd by the image's own dracut, and the kernel that it belongs to.

use super::Context;
use crate::fsx;
use crate::inside::Inside;
use crate::stage::{Failed, Inputs, Made, Pipeline, StageError, Work};
use std::path::Path;

const CODE: u32 = 2;
/// What the chain from the firmware to the root needs, beside what dracut adds for disks in general. The last three make
/// the devices of the watchdogs in the usual chipsets; the drivers of watchdogs themselves are in there anyway.
const MODULES: &str = "systemd-veritysetup";
const DRIVERS: &str = "erofs overlay ext4 vfat dm-verity loop i2c-i801 lpc_ich i2c-piix4";
/// Programs that the units in `overlays/initrd` call, beside those that dracut brings.
const PROGRAMS: &str = "losetup sync";
/// What a node never has between its firmware and its root, or what would only cost time.
const OMITTED: &str = "biosdevname bluetooth btrfs busybox convertfs crypt dbus dbus-daemon dmraid drm fido2 i18n lvm \
                       lvmmerge lvmthinpool-monitor mdraid memstrack multipath network numlock nvdimm pcsc pkcs11 \
                       plymouth qemu-net resume rngd systemd-repart tpm2-tss virtfs virtiofs";

/// Runs the stage. Its output holds `initrd`, `vmlinuz` and `uname`.
///
/// # Errors
/// dracut fails, or the packages brought no kernel.
pub fn stage(pipeline: &mut Pipeline<'_>, context: &Context, packages: &Made) -> Result<Made, Failed> {
    let inputs = Inputs::of_code(CODE)
        .with("packages", &packages.key)
        .with("time", context.epoch)
        .with("modules", MODULES)
        .with("drivers", DRIVERS)
        .with("programs", PROGRAMS)
        .with("omitted", OMITTED);
    pipeline.stage("initrd", &inputs, |work| {
        make(work, context, &packages.path("tree"))
    })
}

fn make(work: &Work<'_>, context: &Context, tree: &Path) -> Result<(), StageError> {
    let version = kernel_version(tree)?;
    fsx::link_or_copy(
        &tree.join(format!("boot/vmlinuz-{version}")),
        &work.path("vmlinuz"),
    )?;
    fsx::write(&work.path("uname"), version.as_bytes())?;
    // Processor microcode goes first, where a package brings it.
    let microcode = if has_microcode(tree) {
        "--early-microcode"
    } else {
        "--no-early-microcode"
    };
    Inside::new(tree, "dracut")
        .read_only()
        .bind(work.directory, "out")
        .args([
            "--no-hostonly",
            "--no-hostonly-cmdline",
            "--reproducible",
            "--zstd",
            "--nostrip",
            "--force",
            microcode,
        ])
        .args([
            "--kver",
            &version,
            "--add",
            MODULES,
            "--add-drivers",
            DRIVERS,
            "--install",
            PROGRAMS,
            "--omit",
            OMITTED,
        ])
        .arg("/mnt/out/initrd")
        .env("SOURCE_DATE_EPOCH", context.epoch.to_string())
        .run(&work.log)?;
    Ok(())
}

fn has_microcode(tree: &Path) -> bool {
    ["intel-ucode", "amd-ucode"]
        .iter()
        .any(|name| tree.join("usr/lib/firmware").join(name).is_dir())
}

/// The one kernel of the tree.
fn kernel_version(tree: &Path) -> Result<String, StageError> {
    let modules = fsx::list(&tree.join("usr/lib/modules"))?;
    match modules.as_slice() {
        [one] => Ok(one.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        other => Err(StageError::Wrong(format!(
            "expected one kernel in the tree, found {}",
            other.len()
        ))),
    }
}
