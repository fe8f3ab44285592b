//! `dtn-firstboot audit`.

use crate::audit;
use crate::door::Doors;
use crate::host::Host;
use crate::store;
use dtnforge_profiles::audit::AUDIT_SCHEMA;
use dtnforge_profiles::envelope::{Envelope, Exit};

/// Show what differs from the committed profile, or from the one that matches, and who set it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ends with 0 when all is as expected and with 3 when something differs. Changes nothing.\n\
Example: dtn-firstboot audit --json | jq -r '.data.rows[] | select(.verdict == \"differs\") | .knob'"
)]
pub struct Args {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Prints the audit. Reads only.
///
/// # Errors
/// When there is nothing to hold the host against, or standard output cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let audit = match audit::audit(host, &store::load(host), &Doors::new(host)) {
        Ok(audit) => audit,
        Err(why) => anyhow::bail!("no audit: {why}"),
    };
    let text = if args.json {
        Envelope::new(AUDIT_SCHEMA, &audit).to_text()?
    } else {
        audit::render(&audit, super::colour())
    };
    super::print(&text)?;
    Ok(if audit.drifted() { Exit::Drift } else { Exit::Ok })
}
