//! Writes seeds. Each node's output appears whole or not at all, and what somebody else made is left alone.

use super::cloud::{MARK, Seed};
use super::iso;
use crate::fsx::{self, FileError};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde::Serialize;
use std::fs::{DirBuilder, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The files that a directory of ours may hold.
const NAMES: [&str; 4] = ["meta-data", "network-config", "user-data", "vendor-data"];

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// NAME.iso with the label CIDATA, for a virtual or real CD drive
    Iso,
    /// NAME/ with the files, to be copied onto a file system with the label CIDATA
    Dir,
    /// A tree for a web server, such as `dtnforge serve`, with the kernel words that name it
    Http,
}

/// Why nothing, or not all, was written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Something is in the way.
    #[error(
        "{0} is there and was not made by `dtnforge seed`\nhint: move it away, or name another directory with --out"
    )]
    Foreign(PathBuf),
    /// Files of ours.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What was written for one node.
#[derive(Debug, Clone, Serialize)]
pub struct Made {
    /// Host name.
    pub node: String,
    /// What cloud-init tells this seed from others by.
    pub instance_id: String,
    /// The image, or the directory.
    pub path: PathBuf,
    /// Whether it holds a password hash, and so can be read by its owner only.
    pub secret: bool,
    /// Whether the image of the node needs the package netplan.io.
    pub needs_netplan: bool,
    /// For the HTTP form: words for the kernel command line, or for the serial number in SMBIOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_words: Option<String>,
}

/// Writes the seeds below `out`; `url` is where the HTTP form will be served.
///
/// # Errors
/// Something of another maker is in the way: then nothing is written. The system refuses a write.
pub fn write(
    seeds: &[Seed],
    format: Format,
    out: &Path,
    url: Option<&str>,
) -> Result<Vec<Made>, OutputError> {
    let path = |seed: &Seed| match format {
        Format::Iso => out.join(format!("{}.iso", seed.name)),
        Format::Dir => out.join(&seed.name),
        Format::Http => out.join(seed.serial.as_ref().unwrap_or(&seed.name)),
    };
    if let Some(foreign) = seeds.iter().map(path).find(|path| !is_ours(path)) {
        return Err(OutputError::Foreign(foreign));
    }
    fsx::create_dir_all(out)?;
    let mut made = Vec::new();
    for seed in seeds {
        let path = path(seed);
        match format {
            Format::Iso => write_iso(&path, seed)?,
            Format::Dir | Format::Http => write_directory(&path, seed, format)?,
        }
        let directory = path.file_name().unwrap_or_default().to_string_lossy();
        made.push(Made {
            kernel_words: url.map(|url| format!("ds=nocloud;s={}/{directory}/", url.trim_end_matches('/'))),
            node: seed.name.clone(),
            instance_id: seed.instance_id.clone(),
            secret: seed.secret,
            needs_netplan: seed.needs_netplan,
            path,
        });
    }
    Ok(made)
}

/// Whether there is nothing, or something that this program made.
fn is_ours(path: &Path) -> bool {
    match path.symlink_metadata() {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(data) if data.is_dir() => is_our_directory(path),
        Ok(data) => data.is_file() && is_our_image(path),
    }
}

fn is_our_directory(path: &Path) -> bool {
    let Ok(entries) = fsx::list(path) else {
        return false;
    };
    let known = |entry: &PathBuf| NAMES.iter().any(|name| entry.file_name() == Some(name.as_ref()));
    let marked = || {
        let text = std::fs::read_to_string(path.join("user-data")).unwrap_or_default();
        text.lines().nth(1) == Some(MARK)
    };
    entries.iter().all(known) && (entries.is_empty() || marked())
}

fn is_our_image(path: &Path) -> bool {
    let mut found = vec![0; iso::APPLICATION.len()];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(iso::APPLICATION_AT as u64))?;
        file.read_exact(&mut found)
    });
    read.is_ok() && found == iso::APPLICATION.as_bytes()
}

/// A hash is for the owner of the file only.
fn mode(seed: &Seed) -> u32 {
    if seed.secret { 0o600 } else { 0o644 }
}

fn write_iso(path: &Path, seed: &Seed) -> Result<(), FileError> {
    let files: Vec<(&str, &[u8])> = seed
        .files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let beside = fsx::partial(path);
    write_file(&beside, &iso::image(&files), mode(seed))?;
    fsx::rename(&beside, path)
}

fn write_directory(path: &Path, seed: &Seed, format: Format) -> Result<(), FileError> {
    let beside = fsx::partial(path);
    fsx::remove_tree(&beside)?;
    let directory_mode = if seed.secret { 0o700 } else { 0o755 };
    let made = DirBuilder::new().mode(directory_mode).create(&beside);
    made.map_err(|source| FileError::new("create directory", &beside, source))?;
    for (name, text) in &seed.files {
        write_file(&beside.join(name), text.as_bytes(), mode(seed))?;
    }
    if format == Format::Http {
        // Asked for over HTTP in any case, again and again when it is not there.
        write_file(&beside.join("vendor-data"), b"", mode(seed))?;
    }
    if path.symlink_metadata().is_err() {
        return fsx::rename(&beside, path);
    }
    renameat2(AT_FDCWD, &beside, AT_FDCWD, path, RenameFlags::RENAME_EXCHANGE)
        .map_err(|errno| FileError::new("exchange", path, errno.into()))?;
    fsx::remove_tree(&beside)
}

/// A new file, on disk when this returns; whatever was left there before has another mode.
fn write_file(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    fsx::remove_tree(path)?;
    let mut options = File::options();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    let written = opened.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|source| FileError::new("write", path, source))
}
