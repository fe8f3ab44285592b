//! Putting layers and units on a host.

use super::layers::{self, AddError, Checked, ReadError};
use super::record::{BadRecord, Record};
use super::units::{self, Content, Item};
use crate::atomic::{self, WriteError};
use crate::boot::{self, Mode};
use crate::host::{CommandError, Host};
use crate::layers::HOST_DIR;
use dtnforge_profiles::digest::Digest;
use serde::Serialize;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for systemd to read all units again.
pub(super) const RELOAD: Duration = Duration::from_secs(60);

/// This program, at a place from which systemd may start it on every boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(String);

impl Program {
    /// The program that runs.
    ///
    /// # Errors
    /// When it does not lie below `/usr`: other places may not be mounted when the early unit starts, or may not allow
    /// programs.
    pub fn running() -> Result<Self, InstallError> {
        let path = std::env::current_exe().map_err(InstallError::Program)?;
        Self::at(&path.to_string_lossy())
    }

    /// A program at `path`.
    ///
    /// # Errors
    /// As [`Program::running`]; also for a path that a line of a unit file does not hold as one word.
    pub fn at(path: &str) -> Result<Self, InstallError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if path.starts_with("/usr/") && path.chars().all(plain) {
            return Ok(Self(path.to_owned()));
        }
        Err(InstallError::Place(path.to_owned()))
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.0
    }
}

/// What was installed.
#[derive(Debug, Serialize)]
pub struct Installed {
    /// Layers, by profile.
    pub layers: Vec<InstalledLayer>,
    /// Files and links that were placed, layers apart.
    pub files: Vec<String>,
    /// What the admin should know or do next, one sentence each.
    pub notes: Vec<String>,
}

/// A layer that was installed.
#[derive(Debug, Serialize)]
pub struct InstalledLayer {
    /// Name of its profile.
    pub profile: String,
    /// Its digest.
    pub digest: Digest,
}

/// Why nothing, or not all, was installed. Running it again goes on; `remove-layer` takes out what there is.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// An image of ours has its own layers.
    #[error(
        "this node is an image of dtnforge and has the layers of its image\nhint: build the image with other profiles"
    )]
    Image,
    /// Nobody knows where this program is.
    #[error("cannot find this program: {0}")]
    Program(io::Error),
    /// The program lies where no unit should start it.
    #[error(
        "this program is {0}, and units start it on every boot: expected a path below /usr\nhint: install -m 755 {0} /usr/local/bin/dtn-firstboot, and start that one"
    )]
    Place(String),
    /// A file is no layer.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The record of an earlier installation cannot be used.
    #[error(transparent)]
    Record(#[from] BadRecord),
    /// A file of somebody else.
    #[error(
        "{0} is there already and was not installed by this program\nhint: move it away, or remove the package that has it"
    )]
    Foreign(String),
    /// The layers cannot be put in.
    #[error(transparent)]
    Layers(#[from] AddError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A link or a mode cannot be set.
    #[error("cannot place {path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// systemd does not read the units.
    #[error("all is placed, and systemd cannot be told of it: {0}\nhint: systemctl daemon-reload")]
    Reload(CommandError),
}

/// Checks all of `files`, then places layers and units. No unit is started, no value is changed.
///
/// # Errors
/// [`InstallError`].
pub fn install(host: &Host, program: &Program, files: &[PathBuf]) -> Result<Installed, InstallError> {
    if boot::words(host).mode != Mode::Foreign {
        return Err(InstallError::Image);
    }
    let mut checked: Vec<Checked> = Vec::new();
    for file in files {
        checked.extend(layers::read(file)?);
    }
    let mut items = units::units(host, program);
    let profiles = checked.iter().map(|layer| layer.open.manifest.profile.as_str());
    items.extend(profiles.filter_map(|profile| units::tuned_link(host, profile)));
    let mut record = Record::load(host)?.unwrap_or_default();
    if let Some(foreign) = items.iter().find(|item| is_foreign(host, &record, item)) {
        return Err(InstallError::Foreign(foreign.path.clone()));
    }
    record.note(host, &format!("{HOST_DIR}/index.json"));
    items.iter().for_each(|item| record.note(host, &item.path));
    record.store(host)?;
    layers::add(host, &checked)?;
    for item in &items {
        place(host, item)?;
    }
    reload(host).map_err(InstallError::Reload)?;
    Ok(Installed {
        layers: checked.into_iter().map(described).collect(),
        files: items.into_iter().map(|item| item.path).collect(),
        notes: notes(host),
    })
}

fn described(layer: Checked) -> InstalledLayer {
    InstalledLayer {
        profile: layer.open.manifest.profile,
        digest: layer.open.digest,
    }
}

fn is_foreign(host: &Host, record: &Record, item: &Item) -> bool {
    !record.files.contains(&item.path) && fs::symlink_metadata(host.path(&item.path)).is_ok()
}

fn place(host: &Host, item: &Item) -> Result<(), InstallError> {
    let path = host.path(&item.path);
    let failed = |source| InstallError::Io {
        path: item.path.clone(),
        source,
    };
    match &item.content {
        Content::File(text, mode) => {
            atomic::write(&path, text.as_bytes(), *mode)?;
            // Readable for all whatever the umask.
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).map_err(failed)
        }
        Content::Link(target) => link(target, &path).map_err(failed),
    }
}

fn link(target: &str, path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(target, path)
}

/// Has systemd read its units again, where it runs.
pub(super) fn reload(host: &Host) -> Result<(), CommandError> {
    if !host.path("/run/systemd/system").is_dir() {
        return Ok(());
    }
    host.run("systemctl", &["daemon-reload"], RELOAD).map(drop)
}

fn notes(host: &Host) -> Vec<String> {
    let mut notes = Vec::new();
    if !host.path(crate::siteconf::NODE_PATH).exists() {
        notes.push("say what this host is for: `role = \"dtn\"` in /etc/dtnforge/site.toml".to_owned());
    }
    notes.push("`dtn-firstboot plan` shows what would change".to_owned());
    notes.push("`dtn-firstboot try` tries it in a maintenance window; nothing is tried by itself".to_owned());
    notes
}
