//! Stage `tree`: the root as a node sees it: packages, scrubbed, with the project's overlays and the agent, units
//! switched on and off by preset, time stamps bounded.

use super::overlay::{self, Variables};
use super::{Context, access, scrub};
use crate::fsx::{self, FileError};
use crate::inside::Inside;
use crate::run::Program;
use crate::spec::Spec;
use crate::stage::{Failed, Inputs, Made, Pipeline, StageError, Work};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const CODE: u32 = 6;
/// Places that a node mounts something on.
const MOUNT_POINTS: [&str; 2] = ["state", "usr/lib/dtnforge/layers"];
/// Files with a fixed content: the machine's name is given on first boot, and a preset file ends in `disable *`,
/// so systemd's first boot switches on what the image has and no more.
const FIXED: [(&str, &str); 5] = [
    ("etc/machine-id", "uninitialized\n"),
    (
        "etc/hosts",
        "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
    ),
    ("usr/lib/clock-epoch", ""),
    // The loader's cache, users and the catalog were made by the build: no need to make them on first boot.
    ("etc/.updated", ""),
    ("var/.updated", ""),
];

/// Runs the stage. Its output holds `tree`.
///
/// # Errors
/// Copying, an overlay or a preset fails.
pub fn stage(
    pipeline: &mut Pipeline<'_>,
    context: &Context,
    spec: &Spec,
    packages: &Made,
    agent: &Path,
) -> Result<Made, anyhow::Error> {
    let mut inputs = Inputs::of_code(CODE)
        .with("packages", &packages.key)
        .with("time", context.epoch)
        .with("hostname", &spec.hostname)
        .with("suite", &spec.suite)
        .with("access", access::digest(&spec.access))
        .with_file("agent", agent)?;
    for (index, overlay) in spec.overlays.iter().enumerate() {
        inputs = inputs.with(&format!("overlay {index}"), &overlay.name);
        inputs = inputs.with_tree(&format!("overlays/{}", overlay.name), &overlay.path)?;
    }
    let made: Result<Made, Failed> = pipeline.stage("tree", &inputs, |work| {
        assemble(work, context, spec, packages, agent)
    });
    Ok(made?)
}

fn assemble(
    work: &Work<'_>,
    context: &Context,
    spec: &Spec,
    packages: &Made,
    agent: &Path,
) -> Result<(), StageError> {
    let tree = work.path("tree");
    Program::new("cp")
        .args(["--archive", "--reflink=auto"])
        .arg(packages.path("tree"))
        .arg(&tree)
        .run(&work.log)?;
    scrub::scrub(&tree)?;
    let variables = Variables {
        hostname: spec.hostname.clone(),
        suite: spec.suite.clone(),
    };
    for overlay in &spec.overlays {
        overlay::lay(&overlay.path, &tree, &variables)
            .map_err(|error| StageError::Wrong(crate::tell::tell(&error)))?;
    }
    install_agent(agent, &tree)?;
    access::install(&spec.access, &tree)?;
    for (path, content) in FIXED {
        fsx::write(&tree.join(path), content.as_bytes())?;
    }
    fsx::write(
        &tree.join("etc/hostname"),
        format!("{}\n", spec.hostname).as_bytes(),
    )?;
    link(
        &tree,
        "etc/resolv.conf",
        "../run/systemd/resolve/stub-resolv.conf",
    )?;
    for place in MOUNT_POINTS {
        fsx::create_dir_all(&tree.join(place))?;
    }
    Inside::new(&tree, "systemctl")
        .args(["preset-all", "--preset-mode=full"])
        .run(&work.log)?;
    // The packages' build made the catalog without the overlays' part, and no node makes it anew (`var/.updated`).
    Inside::new(&tree, "journalctl")
        .args(["--update-catalog"])
        .run(&work.log)?;
    scrub::check_no_keys(&tree)?;
    bound_times(&tree, context.epoch)?;
    Ok(())
}

fn install_agent(agent: &Path, tree: &Path) -> Result<(), FileError> {
    let target = tree.join("usr/bin/dtn-firstboot");
    fsx::write(&target, &fsx::read(agent)?)?;
    overlay::set_mode(&target, 0o755)
}

fn link(tree: &Path, path: &str, target: &str) -> Result<(), FileError> {
    let place = tree.join(path);
    std::os::unix::fs::symlink(target, &place).map_err(|source| FileError::new("link", &place, source))
}

/// Nothing in an image is younger than the image: files keep older times, so that Python's compiled files still fit
/// their sources. Directories and links get the image's time, they are made anew by every build.
fn bound_times(tree: &Path, epoch: u64) -> Result<(), FileError> {
    let image = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch);
    for relative in everything(tree)? {
        let path = tree.join(relative);
        let error = |source| FileError::new("set the time of", &path, source);
        let data = std::fs::symlink_metadata(&path).map_err(error)?;
        if data.is_file() && data.modified().map_err(error)? <= image {
            continue;
        }
        set_time(&path, epoch).map_err(error)?;
    }
    Ok(())
}

/// All of a tree, its own root last: setting times below does not change it any more.
fn everything(tree: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut paths = fsx::walk(tree)?;
    paths.push(PathBuf::new());
    Ok(paths)
}

/// Sets access and modification time of a file, a directory or a link itself.
fn set_time(path: &Path, epoch: u64) -> std::io::Result<()> {
    let seconds = i64::try_from(epoch).map_err(std::io::Error::other)?;
    let time = nix::sys::time::TimeSpec::new(seconds, 0);
    let follow = nix::sys::stat::UtimensatFlags::NoFollowSymlink;
    Ok(nix::sys::stat::utimensat(
        nix::fcntl::AT_FDCWD,
        path,
        &time,
        &time,
        follow,
    )?)
}

/// Gives every entry of a small tree of ours the image's time.
///
/// # Errors
/// As the system says.
pub fn set_times(tree: &Path, epoch: u64) -> Result<(), FileError> {
    for relative in everything(tree)? {
        let path = tree.join(relative);
        set_time(&path, epoch).map_err(|source| FileError::new("set the time of", &path, source))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(path: &Path) -> u64 {
        let time = std::fs::symlink_metadata(path).unwrap().modified().unwrap();
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
    }

    #[test]
    fn old_files_keep_their_time_and_everything_else_gets_the_images() {
        let home = tempfile::tempdir().unwrap();
        let (old, new, link) = (
            home.path().join("old"),
            home.path().join("new"),
            home.path().join("link"),
        );
        fsx::write(&old, b"").unwrap();
        fsx::write(&new, b"").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        set_time(&old, 1000).unwrap();
        bound_times(home.path(), 5000).unwrap();
        assert_eq!((seconds(&old), seconds(&new), seconds(&link)), (1000, 5000, 5000));
        assert_eq!(seconds(home.path()), 5000);
    }
}
