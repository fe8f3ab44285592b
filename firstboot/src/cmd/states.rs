//! `dtn-firstboot states`.

use crate::detect;
use crate::host::Host;
use crate::labels::{self, Listed, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::label::LABEL_SCHEMA;

/// List the saved labels.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot states --json | jq -r '.data[].label'")]
pub struct Args {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Prints the list; a label whose file is damaged is in it, with the reason.
///
/// # Errors
/// When the directory cannot be read.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let fingerprint = detect::detect(host).fingerprint();
    let listed = |label| match store::read(host, &label) {
        Ok(snapshot) => Listed::good(&snapshot, snapshot.fingerprint == fingerprint),
        Err(error) => Listed::bad(label, error.to_string()),
    };
    let labels: Vec<Listed> = store::list(host)?.into_iter().map(listed).collect();
    let text = if args.json {
        Envelope::new(LABEL_SCHEMA, &labels).to_text()?
    } else {
        labels::render_list(&labels)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}
