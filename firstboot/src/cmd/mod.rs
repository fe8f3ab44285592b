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

use std::io::{self, IsTerminal, Write};

/// Reboots the node. The state on disk says why already, so the next boot does not come here again.
fn reboot() -> io::Result<()> {
    std::process::Command::new("systemctl")
        .args(["--no-block", "reboot"])
        .status()
        .map(drop)
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
