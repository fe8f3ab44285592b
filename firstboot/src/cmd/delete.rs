//! `dtn-firstboot delete`.

use crate::host::Host;
use crate::labels::store as labels_store;
use crate::store;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::label::Label;

/// Remove a label.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot delete before-tuning")]
pub struct Args {
    /// The label.
    label: Label,
}

/// Removes the label's file. No value of the host is changed.
///
/// # Errors
/// When another agent is at work, or there is no such label.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let _lock = store::lock(host)?;
    labels_store::remove(host, &args.label)?;
    super::print(&format!("removed {}\n", args.label))?;
    Ok(Exit::Ok)
}
