//! The spec that the program uses: merged, checked, nothing optional by accident.

use super::written::Written;
use super::{Access, SpecError, written};
use dtnforge_profiles::site::SiteFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What every image needs, beside the spec's own packages: kernel, init, boot chain, and what the agent calls.
pub const REQUIRED_PACKAGES: [&str; 22] = [
    "dbus",
    "dracut",
    "e2fsprogs",
    // The firmware's own entry for stock.
    "efibootmgr",
    "ethtool",
    "iperf3",
    "iproute2",
    "kmod",
    "linux-image-amd64",
    // Without it no console lets anybody in.
    "login",
    "openssh-server",
    "passwd",
    "systemd",
    "systemd-boot",
    // dm-verity: dracut takes its verity module from here.
    "systemd-cryptsetup",
    "systemd-repart",
    "systemd-resolved",
    "systemd-sysv",
    "tuned",
    "udev",
    "util-linux",
    "zstd",
];
/// The tree that carries the agent's units; every image has it.
const AGENT_OVERLAY: &str = "agent";

/// A form of the finished disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// The disk as it is.
    Raw,
    /// For virtual machines.
    Qcow2,
    /// What a node boots from the network.
    Netboot,
}

/// A tree that is laid over the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// A spec without doubt.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its file.
    pub file: PathBuf,
    /// The directory that holds `overlays/` and `profiles/`.
    pub project: PathBuf,
    /// Name of the image.
    pub name: String,
    /// Debian suite.
    pub suite: String,
    /// Lock file.
    pub lock_file: PathBuf,
    /// Archive, where the spec names one.
    pub mirror: Option<String>,
    /// All packages to ask for, sorted.
    pub packages: Vec<String>,
    /// Names of profiles to carry; `*` is the whole catalog.
    pub profiles: Vec<String>,
    /// Directories of more profiles.
    pub extra_catalogs: Vec<PathBuf>,
    /// What the site says.
    pub site: SiteFile,
    /// How an administrator gets in when nothing else works.
    pub access: Access,
    /// Host name.
    pub hostname: String,
    /// Consoles.
    pub console: Vec<String>,
    /// More words for the kernel command line of both entries.
    pub cmdline_extra: Vec<String>,
    /// More words for that of the entry that tunes.
    pub tuned_cmdline_extra: Vec<String>,
    /// Size of the EFI system partition, MiB.
    pub esp_mib: u32,
    /// Size of the state partition in the image, MiB.
    pub state_mib: u32,
    /// Forms of the disk to make.
    pub outputs: BTreeSet<Output>,
    /// Trees to lay over the root, in order.
    pub overlays: Vec<Overlay>,
    /// The tree that is added to the initrd.
    pub initrd_overlay: PathBuf,
}

pub(super) fn build(path: &Path, merged: Written) -> Result<Spec, SpecError> {
    let missing = |key| SpecError::of_file(path, key, "is missing");
    let project = project_of(path)?;
    let image = merged.image;
    let overlays = overlays(path, &project, image.overlays)?;
    let initrd_overlay = overlay(path, &project, "initrd")?.path;
    check_catalogs(path, &merged.profiles)?;
    let chosen = merged
        .base
        .packages
        .into_iter()
        .chain(merged.base.extra_packages)
        .flatten();
    let packages: BTreeSet<String> = REQUIRED_PACKAGES
        .map(str::to_owned)
        .into_iter()
        .chain(chosen)
        .collect();
    Ok(Spec {
        file: path.to_owned(),
        project,
        name: merged.name.ok_or_else(|| missing("name"))?,
        suite: merged
            .base
            .suite
            .unwrap_or_else(|| crate::tools::SUITE.to_owned()),
        lock_file: merged.lock.unwrap_or_else(|| path.with_extension("lock")),
        mirror: merged.base.mirror,
        packages: packages.into_iter().collect(),
        profiles: merged.profiles.include.unwrap_or_else(|| vec!["*".into()]),
        extra_catalogs: merged.profiles.extra_catalogs.unwrap_or_default(),
        site: merged.site,
        access: merged.access.into(),
        hostname: image.hostname.unwrap_or_else(|| "dtn".into()),
        console: image
            .console
            .unwrap_or_else(|| vec!["tty0".into(), "ttyS0,115200".into()]),
        cmdline_extra: image.cmdline_extra.unwrap_or_default(),
        tuned_cmdline_extra: image.tuned_cmdline_extra.unwrap_or_default(),
        esp_mib: image.esp_mib.unwrap_or(512),
        state_mib: image.state_mib.unwrap_or(256),
        outputs: outputs(image.outputs),
        overlays,
        initrd_overlay,
    })
}

fn outputs(written: Option<Vec<String>>) -> BTreeSet<Output> {
    let Some(names) = written else {
        return BTreeSet::from([Output::Raw, Output::Qcow2]);
    };
    let form = |name: &String| match name.as_str() {
        "qcow2" => Output::Qcow2,
        "netboot" => Output::Netboot,
        _ => Output::Raw,
    };
    // The raw disk is what everything else is made of.
    names.iter().map(form).chain([Output::Raw]).collect()
}

/// The directory above the spec that holds our overlays.
fn project_of(path: &Path) -> Result<PathBuf, SpecError> {
    let absolute = path
        .canonicalize()
        .map_err(|error| SpecError::unreadable(path, &error))?;
    let found = absolute
        .ancestors()
        .skip(1)
        .find(|directory| directory.join("overlays/common").is_dir());
    found.map(Path::to_owned).ok_or_else(|| {
        SpecError::of_file(path, "", "no directory above it holds overlays/common")
            .hint("keep specs inside the project, for example in image-specs/")
    })
}

fn overlays(path: &Path, project: &Path, names: Option<Vec<String>>) -> Result<Vec<Overlay>, SpecError> {
    let mut names = names.unwrap_or_else(|| vec!["common".into()]);
    if !names.iter().any(|name| name == AGENT_OVERLAY) {
        names.push(AGENT_OVERLAY.into());
    }
    names.iter().map(|name| overlay(path, project, name)).collect()
}

fn overlay(path: &Path, project: &Path, name: &str) -> Result<Overlay, SpecError> {
    let place = project.join("overlays").join(name);
    if place.is_dir() {
        return Ok(Overlay {
            name: name.to_owned(),
            path: place,
        });
    }
    Err(SpecError::of_file(
        path,
        "image.overlays",
        format!("there is no directory {}", place.display()),
    ))
}

fn check_catalogs(path: &Path, profiles: &written::Profiles) -> Result<(), SpecError> {
    let missing = profiles
        .extra_catalogs
        .iter()
        .flatten()
        .find(|catalog| !catalog.is_dir());
    match missing {
        Some(catalog) => {
            let message = format!("there is no directory {}", catalog.display());
            Err(SpecError::of_file(path, "profiles.extra_catalogs", message)
                .hint("paths are relative to the spec"))
        }
        None => Ok(()),
    }
}
