//! `dtn-firstboot detect`.

use crate::detect;
use crate::host::Host;
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::facts::FACTS_SCHEMA;

/// Show what was detected on this host.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot detect --anonymise > my-host.toml   # to attach to a report")]
pub struct Args {
    /// As JSON (schema 1) instead of TOML.
    #[arg(long)]
    json: bool,
    /// As TOML, which is the default.
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// Replace names, addresses and serial numbers.
    #[arg(long)]
    anonymise: bool,
}

/// Prints the facts.
///
/// # Errors
/// When they cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let mut facts = detect::detect(host);
    if args.anonymise {
        detect::anonymise(&mut facts)?;
    }
    let text = if args.json {
        Envelope::new(FACTS_SCHEMA, &facts).to_text()?
    } else {
        toml::to_string(&facts)?
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}
