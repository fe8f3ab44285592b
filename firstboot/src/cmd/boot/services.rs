//! `dtn-firstboot boot services`: orders the site's services behind the verdict.

use crate::host::Host;
use crate::siteunits::order;
use dtnforge_profiles::envelope::Exit;
use std::path::PathBuf;

/// Order the services of the site behind the verdict.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Called by a generator of systemd with its directory, and by dtn-services.service without one, after a \
seed may have named services.\nExample: dtn-firstboot boot services /run/systemd/generator"
)]
pub(super) struct Args {
    /// Where the drop-ins go; without it systemd is told to read its units again when some are missing.
    directory: Option<PathBuf>,
}

/// Writes the drop-ins, or has them written.
///
/// # Errors
/// When the site's settings cannot be used, or the drop-ins cannot be made.
pub(super) fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    match &args.directory {
        Some(directory) => drop(order::generate(host, directory)?),
        None => {
            let late = order::catch_up(host)?;
            if !late.is_empty() {
                super::super::print(&format!("wait for the verdict: {}\n", late.join(", ")))?;
            }
        }
    }
    Ok(Exit::Ok)
}
