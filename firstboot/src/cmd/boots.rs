//! `dtn-firstboot boots`.

use crate::host::Host;
use crate::{boot, status, store};
use anyhow::bail;
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::timeline::{self, BootLine};
use serde::Serialize;

/// Form of the answer.
const SCHEMA: u32 = 1;

/// List the boots of this node, oldest first, and what became of them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: dtn-firstboot boots --json | jq -r '.data.boots[] | select(.outcome == \"failed\") | .reason'"
)]
pub struct Args {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Boots {
    boots: Vec<BootLine>,
}

/// Prints the boots.
///
/// # Errors
/// When the state file is damaged, or standard output cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let loaded = store::load(host);
    if let Some(damage) = loaded.damage {
        bail!("no boots: {damage}");
    }
    let boots = timeline::boots(&loaded.file, &boot::boot_id(host));
    let text = if args.json {
        Envelope::new(SCHEMA, Boots { boots }).to_text()?
    } else if boots.is_empty() {
        "no boot was recorded yet\n".to_owned()
    } else {
        boots.iter().map(|boot| status::boot_line(boot) + "\n").collect()
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}
