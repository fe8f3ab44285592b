//! `dtnforge boot`: a guest in QEMU, driven through goals and thrown away.
//!
//! The story of one boot: a [`request`] says what is wanted. [`prepare`] lays out the files of the machine in a
//! throw-away [`workdir`] (or [`snapshot`] copies those of a saved one), and [`args`] turns the [`machine`] into QEMU's
//! arguments. A [`process`] is QEMU with its three channels: console, shell, control; [`power`] starts it, again after
//! a power cut. A [`session`] hears them, notes each of the guest's [`boots`] and when it could be [`reach`]ed, and lets
//! each [`incident`] happen. [`drive`] takes the guest through its goals: a console line, devices plugged in
//! ([`hotplug`]), a script in its root [`shell`], more boots, files fetched, a snapshot, the end. The [`outcome`] says
//! how it went.
//!
//! Nothing here needs root, nothing is left running, and an image is never written to.

pub mod accel;
pub mod args;
pub mod boots;
pub mod console;
pub mod disk;
pub mod drive;
pub mod error;
pub mod fields;
pub mod firmware;
pub mod frames;
pub mod hotplug;
pub mod image;
pub mod incident;
pub mod mac;
pub mod machine;
pub mod net;
pub mod nic;
pub mod outcome;
pub mod overlay;
pub mod power;
pub mod prepare;
pub mod process;
pub mod qemu;
pub mod qmp;
pub mod reach;
pub mod request;
pub mod seed;
pub mod serial;
pub mod session;
pub mod shell;
pub mod size;
pub mod smbios;
pub mod snapshot;
pub mod when;
pub mod workdir;

use std::path::Path;

use console::{Console, Stream};
use drive::{Drive, Progress};
use error::BootError;
use incident::Incidents;
use outcome::{Outcome, Reason};
use power::{Power, Wiring};
use prepare::Prepared;
use qemu::QemuTree;
use request::{BootRequest, Source};
use session::{Session, Stop};
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
    let power = Power {
        tree: tree.clone(),
        args: launch_args(&prepared),
        directory: prepared.workdir.path().to_owned(),
    };
    let wiring = Wiring::new(&prepared.cables_out, drive.forward()?);
    let mut session = Session::start(
        power,
        wiring,
        console(request)?,
        Incidents::new(request.incidents.clone()),
    )?;
    let mut progress = Progress::default();
    let driven = drive.run(&mut session, &mut progress);
    let reason = reason(driven, &progress)?;
    let outcome = Outcome {
        accel: prepared.accel.clone(),
        reason,
        had_goal: !request.goals.only_watch(),
        until: session.until_seen(),
        shell: progress.shell,
        total: session.elapsed(),
        ssh_port: session.forwarded_port(),
        boots: session.boots().clone(),
        console_tail: session.console_tail(),
        runs: progress.runs,
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
    let (watch, goals) = (&request.watch, &request.goals);
    let mut console = Console::new(goals.until.clone(), goals.kill_when.clone());
    if let Some(path) = &watch.serial {
        console = console.log_to(path)?;
    }
    let stream = if watch.json { Stream::Err } else { Stream::Out };
    Ok(if watch.show_serial {
        console.show_on(stream)
    } else {
        console
    })
}

/// Why it ended: an error, or the reason in an outcome.
fn reason(driven: Result<(), Stop>, progress: &Progress) -> Result<Reason, BootError> {
    match driven {
        Err(_) if progress.script_timed_out => Ok(Reason::ScriptTimedOut),
        // It was told to end once it was saved; whether that is seen before its last answer is chance.
        Err(Stop::GuestEnded(_)) if progress.saved => Ok(Reason::Done),
        Err(stop) => Reason::of(stop),
        Ok(()) if progress.script_failed() => Ok(Reason::ScriptFailed),
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
