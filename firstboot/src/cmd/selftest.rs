//! `dtn-firstboot selftest`.

use crate::host::Host;
use crate::selftest;
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::selftest::SELFTEST_SCHEMA;

/// Show whether this host has what the agent needs. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ends with 0 when nothing is missing that a trial needs; what is missing for some groups or for the proof is listed. \
Ends with 1 when nothing can be tried on this host.

Example: dtn-firstboot selftest --json | jq -r .data.sentence"
)]
pub struct Args {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Prints what is there and what is missing.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let answer = selftest::selftest(host);
    let text = if args.json {
        Envelope::new(SELFTEST_SCHEMA, &answer).to_text()?
    } else {
        selftest::render(&answer)
    };
    super::print(&text)?;
    Ok(if answer.ready { Exit::Ok } else { Exit::Failed })
}
