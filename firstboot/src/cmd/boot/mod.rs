//! `dtn-firstboot boot`: what the units of a boot say and ask, at its end and in between. Nobody types these.

mod ended;

use crate::host::Host;
use clap::{Args as ClapArgs, Subcommand};
use dtnforge_profiles::envelope::Exit;

/// What the units of this boot call.
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Note that this userspace is being shut down in order.
    #[command(after_help = "Called when the early unit is stopped.\nExample: dtn-firstboot boot ended")]
    Ended,
}

/// Does what the unit asked.
///
/// # Errors
/// What failed, for one line at the edge.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    match args.command {
        Command::Ended => ended::run(host),
    }
}
