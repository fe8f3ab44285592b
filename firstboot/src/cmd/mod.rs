//! The subcommands, one file each.

pub mod audit;
pub mod boot;
pub mod boots;
pub mod delete;
pub mod detect;
pub mod diff;
pub mod early;
pub mod evaluate;
pub mod hold;
pub mod install_layer;
pub mod metrics;
pub mod plan;
pub mod recover;
pub mod remove_layer;
pub mod report;
pub mod restore;
pub mod retry;
pub mod run;
pub mod save;
pub mod selftest;
pub mod states;
pub mod status;
pub mod try_out;
pub mod window;

use crate::goodboot;
use crate::host::Host;
use crate::statefs;
use anyhow::Context as _;
use std::io::{self, IsTerminal, Write};

/// Asks for a reboot; the state on disk says why, so the next boot does not come here again. Where the state is kept
/// in memory it would: then the node stays up, and says so.
///
/// # Errors
/// When nobody takes the wish.
fn reboot(host: &Host) -> anyhow::Result<()> {
    if let Some(fault) = statefs::fault(host) {
        log::error!("no reboot, because the next boot would not know why: {fault}");
        return Ok(());
    }
    goodboot::ask_for_reboot(host)
        .map_err(anyhow::Error::msg)
        .context("the node was to be rebooted, and does not do it")
}

/// Whether standard output is a terminal that may have colours.
fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Whether nobody reads any more: `| head`, or a terminal that hung up.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(nix::libc::EIO)
}

/// Prints to standard output. A reader that went away is no failure of ours.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(()),
    }
}
