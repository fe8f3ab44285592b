//! `dtn-firstboot run`.

use crate::flow::{self, Context};
use crate::host::Host;
use crate::metrics::{self, LastRun};
use dtnforge_profiles::envelope::Exit;

/// Detect, try, prove, and commit or take back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot run    # what the boot does, once more")]
pub struct Args {
    /// We run as the boot's unit: a rollback that could not be verified may reboot the node into stock, once, and a
    /// fallback may reboot it into the tuned entry, once.
    #[arg(long)]
    unit: bool,
}

/// Runs once and prints the last word.
///
/// # Errors
/// When there is no lock, or the state cannot be stored.
pub fn run(host: Host, args: &Args) -> anyhow::Result<Exit> {
    let end = flow::run(host.clone(), args.unit)?;
    note(&host, &end);
    super::print(&format!("{}\n", end.sentence))?;
    if args.unit && end.reboot {
        super::reboot(&host)?;
    }
    Ok(end.exit)
}

/// Remembers the end of this run, for metrics.
fn note(host: &Host, end: &flow::End) {
    let run = LastRun {
        at: Context::now(),
        exit: end.exit as u8,
        sentence: end.sentence.clone(),
    };
    if let Err(error) = metrics::write_last_run(host, &run) {
        // Metrics then lack the time of this run; the run itself is done.
        log::warn!("{error}");
    }
}
