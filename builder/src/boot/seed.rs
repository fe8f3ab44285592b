//! A NoCloud seed for the guest: an ISO image as it is, or a directory packed into a small FAT disk.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::error::BootError;
use super::machine::SeedDrive;
use super::qemu::QemuTree;
use super::utf8;

/// Name of the FAT image in the throw-away directory.
const FILE: &str = "seed.img";
/// The files that cloud-init looks for; the first two must be there.
const NAMES: &[&str] = &["meta-data", "user-data", "network-config", "vendor-data"];
const REQUIRED: usize = 2;

/// Makes the drive for `seed`, in `workdir` when one has to be made.
///
/// # Errors
/// When `seed` is neither, lacks a file, or does not fit.
pub fn drive(tree: &QemuTree, seed: &Path, workdir: &Path) -> Result<SeedDrive, BootError> {
    let seed = seed
        .canonicalize()
        .map_err(BootError::file("open the seed", seed))?;
    if !seed.is_dir() {
        return Ok(SeedDrive::Cdrom(utf8(&seed)?.to_owned()));
    }
    let files = files_of(&seed)?;
    let image = workdir.join(FILE);
    // Room for the files, for the tables of the file system, and never below what FAT needs.
    let mut bytes: u64 = 2 << 20;
    for file in &files {
        bytes += 2 * std::fs::metadata(file)
            .map_err(BootError::file("look at", file))?
            .len();
    }
    File::create(&image)
        .and_then(|file| file.set_len(bytes.next_multiple_of(1 << 20)))
        .map_err(BootError::file("create", &image))?;
    let image = utf8(&image)?;
    tree.mkfs_vfat(&["-n", "CIDATA", "-i", "d7f0e9ed", image])?;
    let mut args = vec!["-i", image];
    for file in &files {
        args.push(utf8(file)?);
    }
    args.push("::/");
    tree.mcopy(&args)?;
    Ok(SeedDrive::Disk(FILE.to_owned()))
}

fn files_of(seed: &Path) -> Result<Vec<PathBuf>, BootError> {
    let mut files = Vec::new();
    for (index, name) in NAMES.iter().enumerate() {
        let file = seed.join(name);
        if file.is_file() {
            files.push(file);
        } else if index < REQUIRED {
            return Err(BootError::Options(format!(
                "the seed {} has no file {name}; NoCloud needs {}",
                seed.display(),
                NAMES[..REQUIRED].join(" and ")
            )));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_directory_without_meta_data_names_it() {
        let seed = tempfile::tempdir().unwrap();
        std::fs::write(seed.path().join("user-data"), "#cloud-config\n").unwrap();
        let error = drive(&QemuTree::new(Path::new("/none")), seed.path(), seed.path())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("has no file meta-data; NoCloud needs meta-data and user-data"),
            "{error}"
        );
    }

    #[test]
    fn only_the_files_that_cloud_init_reads_are_packed() {
        let seed = tempfile::tempdir().unwrap();
        for name in ["user-data", "meta-data", "network-config", "notes.txt"] {
            std::fs::write(seed.path().join(name), "").unwrap();
        }
        let files = files_of(seed.path()).unwrap();
        let names: Vec<_> = files
            .iter()
            .filter_map(|file| file.file_name()?.to_str())
            .collect();
        assert_eq!(names, ["meta-data", "user-data", "network-config"]);
    }

    #[test]
    fn a_file_is_taken_as_an_iso_image() {
        let iso = tempfile::NamedTempFile::new().unwrap();
        let drive = drive(&QemuTree::new(Path::new("/none")), iso.path(), Path::new("/none")).unwrap();
        assert!(matches!(drive, SeedDrive::Cdrom(path) if path.starts_with('/')));
    }
}
