//! The watcher of a window: a process of its own that takes a trial back when the command that applied it has died, or
//! when nobody confirms in time.
//!
//! It must not go with the admin's session. Under systemd it is a unit of its own, which systemd starts again should
//! somebody kill it; elsewhere it is a process in a session of its own. It holds nothing and remembers nothing: each
//! look reads the state and the record anew, and what it does, it does under the agent's lock.

use super::{Ended, record, record_of, take_back};
use crate::flow::context::Context;
use crate::host::Host;
use crate::store::{self, LockError};
use anyhow::Context as _;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::window::{Phase, Window};
use std::process::Stdio;
use std::time::Duration;

/// The time between two looks.
const STEP: Duration = Duration::from_millis(500);
/// Time for systemd to start a unit.
const START: Duration = Duration::from_secs(20);

/// Starts the watcher and returns once it runs.
///
/// # Errors
/// When it cannot be started: then nothing may be written.
pub(super) fn start(host: &Host) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("our own program cannot be found")?;
    let root = host.path("/");
    if host.is_live() && host.path("/run/systemd/system").is_dir() {
        return start_as_unit(host, &program.to_string_lossy());
    }
    let mut command = host.command(&program.to_string_lossy());
    command.arg("--root").arg(root).arg("watch");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("the watcher cannot be started")?;
    Ok(())
}

fn start_as_unit(host: &Host, program: &str) -> anyhow::Result<()> {
    let unit = format!("--unit=dtn-firstboot-watch-{}", std::process::id());
    let args = [
        &unit,
        "--description=dtnforge: takes an admin's trial back unless it is confirmed",
        "--service-type=exec",
        "--collect",
        "--quiet",
        "--no-ask-password",
        "--property=Restart=on-failure",
        "--property=RestartSec=1",
        "--",
        program,
        "watch",
    ];
    host.run("systemd-run", &args, START)
        .context("the watcher cannot be started")?;
    Ok(())
}

/// What a look says is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    /// The window is closed, or stays without a limit.
    End,
    /// Look again later.
    Wait,
    /// Take it back, for this reason, if it is still so under the lock.
    TakeBack(String),
}

/// Watches the window of this boot to its end; the end of the rollback where there was one.
///
/// # Errors
/// When the trial could not be taken back: systemd starts us again.
pub fn watch(host: &Host) -> anyhow::Result<Option<Ended>> {
    // A session of our own: no terminal can hang up on us. As a unit we have one already.
    let _ = nix::unistd::setsid();
    loop {
        match next(&look(host), record::since_start()) {
            Next::End => return Ok(None),
            Next::Wait => {}
            Next::TakeBack(_) => match store::lock(host) {
                Ok(_lock) => {
                    let mut context = Context::open(host.clone());
                    // Under the lock nobody confirms, commits or applies any more.
                    if let Next::TakeBack(why) = next(&look(host), record::since_start()) {
                        return take_back::by_journal(&mut context, &why, Exit::Ok).map(Some);
                    }
                }
                Err(LockError::Taken) => {}
                Err(error) => return Err(error.into()),
            },
        }
        std::thread::sleep(STEP);
    }
}

fn look(host: &Host) -> Option<Window> {
    let context = Context::open(host.clone());
    record_of(host, &context.file.state, &context.boot_id)
}

fn next(window: &Option<Window>, now: u64) -> Next {
    let Some(window) = window else { return Next::End };
    match window.phase {
        // Whoever writes holds the lock, so this comes true only when that process is gone.
        Phase::Applying => Next::TakeBack("the command that applied it died".to_owned()),
        Phase::TakingBack => Next::TakeBack("the command that took it back died".to_owned()),
        Phase::Live if window.is_over(now) => Next::TakeBack("nobody confirmed it in time".to_owned()),
        Phase::Live if window.until.is_some() => Next::Wait,
        Phase::Live => Next::End,
    }
}
