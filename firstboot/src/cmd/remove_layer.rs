//! `dtn-firstboot remove-layer`.

use crate::host::Host;
use crate::install;
use crate::store;
use dtnforge_profiles::envelope::{Envelope, Exit};

/// Form of the JSON answer.
const SCHEMA: u32 = 1;

/// Take profiles and the units of the agent off a host, so that nothing of them is left.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What is live has to be taken back before: `dtn-firstboot rollback`. Kept are the program itself and what \
an admin wrote (/etc/dtnforge/site.toml).\nExample: dtn-firstboot remove-layer"
)]
pub struct Args {
    /// Only the layers of these profiles; without one all layers, the units, the state and the labels.
    #[arg(value_name = "PROFILE")]
    profiles: Vec<String>,
    /// What was removed, as JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Removes.
///
/// # Errors
/// When another agent is at work, values of ours are live, or something cannot be removed.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let _lock = store::lock(host)?;
    let removed = install::remove(host, &args.profiles)?;
    let text = if args.json {
        Envelope::new(SCHEMA, &removed).to_text()?
    } else {
        let gone = removed.removed.iter().map(|path| format!("removed {path}\n"));
        let kept = removed
            .kept
            .iter()
            .map(|path| format!("kept    {path}, which was written by hand\n"));
        gone.chain(kept).collect()
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}
