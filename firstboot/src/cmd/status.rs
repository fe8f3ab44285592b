//! `dtn-firstboot status`.

use crate::door::Doors;
use crate::host::Host;
use crate::{detect, flow, status, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::status::STATUS_SCHEMA;

/// Show the state of this node.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot status --json | jq -r .data.state")]
pub struct Args {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
    /// End with exit code 3 when a committed value is not the live one.
    #[arg(long)]
    check: bool,
}

/// Prints the status.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let loaded = store::load(host);
    let facts = detect::detect(host);
    let findings = flow::look::findings(host, &facts);
    let status = status::build(host, &loaded, &Doors::new(host), &facts, findings);
    let drifted = status.active.iter().any(|knob| !knob.ok);
    let text = if args.json {
        Envelope::new(STATUS_SCHEMA, &status).to_text()?
    } else {
        status::render(&status, super::colour())
    };
    super::print(&text)?;
    Ok(if args.check && drifted {
        Exit::Drift
    } else {
        Exit::Ok
    })
}
