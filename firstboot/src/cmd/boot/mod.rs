//! `dtn-firstboot boot`: what the units of a boot say and ask, at its end and in between. Nobody types these.

mod arm;
mod ended;
mod entries;
mod failed;
mod good;
mod services;
#[cfg(test)]
mod testing;
mod verdict;

use crate::events::{self, About};
use crate::host::Host;
use crate::notify;
use clap::{Args as ClapArgs, Subcommand};
use dtnforge_profiles::envelope::Exit;
use log::Level;

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
    /// Wait until this boot can be judged, and record the judgement.
    #[command(after_help = "Called by dtn-good-boot.service.\nExample: dtn-firstboot boot good")]
    Good,
    /// Give this boot up: store why, then reboot where the boot loader counts, and stay up elsewhere.
    Failed(failed::Args),
    /// Arm the boot counter when a commit waits for a counted boot to prove it.
    #[command(after_help = "Called after the blessing.\nExample: dtn-firstboot boot arm")]
    Arm,
    /// Give the firmware a boot entry for the boot loader and one for stock, where it has none.
    #[command(after_help = "Called by dtn-firmware-entries.service.\nExample: dtn-firstboot boot entries")]
    Entries,
    Services(services::Args),
    /// Wait for the agent's end, or stop it at the deadline of the site's services.
    #[command(after_help = "Called by dtn-verdict.service.\nExample: dtn-firstboot boot verdict")]
    Verdict,
}

/// Does what the unit asked.
///
/// # Errors
/// What failed, for one line at the edge.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Ended => ended::run(host),
        Command::Good => good::run(host),
        Command::Failed(args) => failed::run(host, args),
        Command::Arm => arm::run(host),
        Command::Entries => entries::run(host),
        Command::Services(args) => services::run(host, args),
        Command::Verdict => verdict::run(host),
    }
}

/// Says a sentence about this boot in the journal and on the console.
fn say(host: &Host, level: Level, boot_id: &str, sentence: &str) {
    let about = About {
        reason: sentence,
        boot_id,
        ..About::default()
    };
    events::tell(level, events::BOOT_RECORDED, about, sentence);
    notify::console(host, sentence);
}
