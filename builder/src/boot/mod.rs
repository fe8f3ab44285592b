//! `dtnforge boot`: a guest in QEMU, driven through goals and thrown away.
//!
//! The story of one boot: a [`request`] says what is wanted. [`prepare`] lays out the files of the machine in a
//! throw-away [`workdir`] (or [`snapshot`] copies those of a saved one), and [`args`] turns the [`machine`] into QEMU's
//! arguments. A [`process`] is QEMU with its three channels: console, shell, control. A [`session`] hears them, and
//! [`drive`] takes the guest through its goals: a console line, devices plugged in ([`hotplug`]), a script in its root
//! [`shell`], files fetched, a snapshot, the end. The [`outcome`] says how it went.
//!
//! Nothing here needs root, nothing is left running, and an image is never written to.

pub mod accel;
pub mod args;
pub mod disk;
pub mod drive;
pub mod error;
pub mod fields;
pub mod firmware;
pub mod frames;
pub mod hotplug;
pub mod image;
pub mod mac;
pub mod machine;
pub mod net;
pub mod nic;
pub mod outcome;
pub mod overlay;
pub mod prepare;
pub mod process;
pub mod qemu;
pub mod qmp;
pub mod request;
pub mod seed;
pub mod serial;
pub mod session;
pub mod shell;
pub mod size;
pub mod smbios;
pub mod snapshot;
pub mod workdir;

use std::path::Path;

use drive::{Drive, Progress};
use error::BootError;
use outcome::{Outcome, Reason};
use prepare::Prepared;
use process::Process;
use qemu::QemuTree;
use request::{BootRequest, Source};
use session::{Console, Session, Stop, Stream};
use workdir::Workdir;

/// Boots what `request` asks for and stays until it is over.
///
/// # Errors
/// What kept the guest from being driven. A guest that did not do as hoped is an [`Outcome`], not an error.
pub fn boot(tree: &QemuTree, request: &BootRequest) -> Result<Outcome, BootError> {
    check(request)?;
    let prepared = lay_out(tree, request)?;
    let drive = Drive {
        tree,
        request,
        prepared: &prepared,
    };
    drive.check()?;
    note(&format!("{}: {}", prepared.accel.accel, prepared.accel.reason));
    let (say, hear) = std::sync::mpsc::channel();
    let process = Process::start(tree, &launch_args(&prepared), prepared.workdir.path(), &say)?;
    // Only the channels' readers may keep the stream of events open.
    drop(say);
    let mut session = Session::new(process, hear, console(request)?);
    let mut progress = Progress::default();
    let driven = Drive {
        tree,
        request,
        prepared: &prepared,
    }
    .run(&mut session, &mut progress);
    let reason = reason(driven, &progress)?;
    let outcome = Outcome {
        accel: prepared.accel.clone(),
        reason,
        had_goal: !request.goals.only_watch(),
        until: session.until_seen(),
        shell: progress.shell,
        total: session.elapsed(),
        ssh_port: progress.ssh_port,
        resets: session.resets(),
        console_tail: session.console_tail(),
        run: progress.run,
    };
    // QEMU must be gone before its files get another name.
    drop(session);
    if let Some(dir) = request.goals.save_snapshot.as_deref().filter(|_| progress.saved) {
        prepared.workdir.keep_as(dir)?;
        note(&format!("saved as {}", dir.display()));
    }
    Ok(outcome)
}

/// Refuses before anything is written what cannot work.
fn check(request: &BootRequest) -> Result<(), BootError> {
    hotplug::check_room(&request.goals.hotplug)?;
    request
        .goals
        .save_snapshot
        .as_deref()
        .map_or(Ok(()), snapshot::check_free)
}

fn lay_out(tree: &QemuTree, request: &BootRequest) -> Result<Prepared, BootError> {
    match &request.source {
        Source::Cold(hardware) => prepare::cold(
            tree,
            hardware,
            &request.goals,
            Workdir::create(&workdir_parent(request)?)?,
        ),
        Source::Snapshot(dir) => snapshot::load(tree, dir, Workdir::create(&workdir_parent(request)?)?),
    }
}

/// A snapshot is laid out beside its final place, because it gets there by a rename.
fn workdir_parent(request: &BootRequest) -> Result<std::path::PathBuf, BootError> {
    let Some(dir) = &request.goals.save_snapshot else {
        return Ok(workdir::scratch_parent());
    };
    let dir = absolute(dir)?;
    let parent = dir.parent().unwrap_or(Path::new("/")).to_owned();
    std::fs::create_dir_all(&parent).map_err(BootError::file("create", &parent))?;
    Ok(parent)
}

/// QEMU starts stopped: links and forwarded ports are set before the first instruction.
fn launch_args(prepared: &Prepared) -> Vec<String> {
    let mut args = prepared.args.clone();
    args.push("-S".to_owned());
    args
}

fn console(request: &BootRequest) -> Result<Console, BootError> {
    let watch = &request.watch;
    let stream = if watch.json { Stream::Err } else { Stream::Out };
    Ok(Console {
        log: watch.serial.as_deref().map(Session::open_log).transpose()?,
        show: watch.show_serial.then_some(stream),
        until: request.goals.until.clone(),
        kill_when: request.goals.kill_when.clone(),
    })
}

/// Why it ended: an error, or the reason in an outcome.
fn reason(driven: Result<(), Stop>, progress: &Progress) -> Result<Reason, BootError> {
    match driven {
        Err(_) if progress.script_timed_out => Ok(Reason::ScriptTimedOut),
        Err(stop) => Reason::of(stop),
        Ok(()) if progress.run.as_ref().is_some_and(|run| run.code != Some(0)) => Ok(Reason::ScriptFailed),
        Ok(()) => Ok(Reason::Done),
    }
}

/// Tells the user one line of progress, on standard error.
pub(crate) fn note(text: &str) {
    Stream::Err.write(format!("boot: {text}\n").as_bytes());
}

/// A path as text, for QEMU's options.
pub(crate) fn utf8(path: &Path) -> Result<&str, BootError> {
    path.to_str().ok_or_else(|| BootError::NotUtf8(path.to_owned()))
}

/// A path that does not depend on where we are.
pub(crate) fn absolute(path: &Path) -> Result<std::path::PathBuf, BootError> {
    std::path::absolute(path).map_err(BootError::file("find", path))
}
