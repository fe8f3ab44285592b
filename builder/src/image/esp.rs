//! The EFI system partition: what is on it, whether it is large enough, and whether what was written can be read.

use super::uki::ENTRIES;
use super::{Context, tree};
use crate::digest;
use crate::fsx::{self, FileError};
use crate::spec::Spec;
use crate::stage::{Made, StageError, Work};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const MIB: u64 = 1 << 20;
/// An update holds an old, a new and a fallback UKI at a time.
const UKIS_ON_ESP: u64 = 3;
/// Boot loader, its files, the file system itself.
const ESP_MARGIN: u64 = 16 * MIB;
const BOOT_LOADER: &str = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";
/// No `default`: it would defeat boot counting. No waiting: nobody sits before a node.
const LOADER_CONF: &str = "timeout 0\n";
/// A firmware that finds no bootable file falls into its shell; this makes it try again, so that it is counted.
const STARTUP: &str = "reset\r\n";
/// Names of the UKIs. Three tries for the one that tunes; the other one is not counted.
const NAMES: [(&str, &str); 2] = [
    ("dtnforge.efi", "EFI/Linux/dtnforge+3.efi"),
    ("stock.efi", "EFI/Linux/stock.efi"),
];

/// Refuses UKIs that do not fit three times: an update needs old, new and fallback side by side.
///
/// # Errors
/// They do not fit; the size that would do.
pub fn check_size(spec: &Spec, uki: &Made) -> Result<(), StageError> {
    let mut largest = 0;
    for (file, ..) in ENTRIES {
        largest = largest.max(uki.file(file)?.size);
    }
    budget(spec.esp_mib, largest).map_err(StageError::Wrong)
}

fn budget(esp_mib: u32, uki: u64) -> Result<(), String> {
    let needed = UKIS_ON_ESP * uki + ESP_MARGIN;
    if u64::from(esp_mib) * MIB >= needed {
        return Ok(());
    }
    Err(format!(
        "key `image.esp_mib`: {esp_mib} MiB are too small, {UKIS_ON_ESP} UKIs of {} MiB and a margin need {} MiB\n\
         hint: set image.esp_mib = {} or more in the spec",
        uki.div_ceil(MIB),
        needed.div_ceil(MIB),
        needed.div_ceil(MIB),
    ))
}

/// Lays the content of the partition out in the directory `esp` of `work`.
///
/// # Errors
/// A file cannot be copied.
pub fn lay_out(work: &Work<'_>, context: &Context, uki: &Made) -> Result<(), StageError> {
    let esp = work.path("esp");
    let loader = context.tools.root().join(BOOT_LOADER.trim_start_matches('/'));
    let loaders = ["EFI/BOOT/BOOTX64.EFI", "EFI/systemd/systemd-bootx64.efi"].map(|to| (loader.clone(), to));
    // Copies and not links: they get times of their own.
    for (from, to) in NAMES
        .map(|(file, to)| (uki.path(file), to))
        .into_iter()
        .chain(loaders)
    {
        fsx::write(&esp.join(to), &fsx::read(&from)?)?;
    }
    fsx::write(&esp.join("loader/loader.conf"), LOADER_CONF.as_bytes())?;
    fsx::write(&esp.join("startup.nsh"), STARTUP.as_bytes())?;
    Ok(tree::set_times(&esp, context.epoch)?)
}

/// Reads each UKI back from the partition on `disk`: bytes flipped inside one hang a machine, and nothing counts that.
///
/// # Errors
/// A UKI on the disk is not the one that was built.
pub fn read_back(work: &Work<'_>, context: &Context, uki: &Made, disk: &Path) -> Result<(), StageError> {
    let start = first_partition(disk)?;
    for (file, on_esp) in NAMES {
        let built = uki.file(file)?.sha256;
        let copy = work.path("read-back");
        fsx::remove_tree(&copy)?;
        context
            .tools
            .inside("mcopy")
            .bind(disk, "disk")
            .bind(work.directory, "out")
            .args([
                "-i",
                &format!("/mnt/disk@@{start}"),
                &format!("::/{on_esp}"),
                "/mnt/out/read-back",
            ])
            .run(&work.log)?;
        if digest::of_file(&copy)? != built {
            return Err(StageError::Wrong(format!(
                "{on_esp} on the disk is not what was built"
            )));
        }
    }
    Ok(())
}

/// Where the first partition of a GPT disk with sectors of 512 bytes starts, in bytes.
fn first_partition(disk: &Path) -> Result<u64, StageError> {
    const TABLE: u64 = 2 * 512;
    let mut entry = [0; 128];
    fsx::open(disk)?
        .read_exact_at(&mut entry, TABLE)
        .map_err(|source| FileError::new("read the partition table of", disk, source))?;
    let mut start = [0; 8];
    start.copy_from_slice(&entry[32..40]);
    Ok(u64::from_le_bytes(start) * 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ukis_that_do_not_fit_three_times_are_refused_with_the_size_that_would_do() {
        budget(264, 50 * MIB).unwrap();
        assert_eq!(
            budget(264, 100 * MIB - 5).unwrap_err(),
            "key `image.esp_mib`: 264 MiB are too small, 3 UKIs of 100 MiB and a margin need 316 MiB\n\
             hint: set image.esp_mib = 316 or more in the spec"
        );
    }

    #[test]
    fn the_first_partition_is_found_in_the_table() {
        let home = tempfile::tempdir().unwrap();
        let disk = home.path().join("disk");
        let mut bytes = vec![0; 4096];
        bytes[1024 + 32..1024 + 40].copy_from_slice(&2048_u64.to_le_bytes());
        fsx::write(&disk, &bytes).unwrap();
        assert_eq!(first_partition(&disk).unwrap(), MIB);
        fsx::write(&disk, &[0; 1000]).unwrap();
        assert!(
            first_partition(&disk)
                .unwrap_err()
                .to_string()
                .starts_with("cannot read the partition table of ")
        );
    }
}
