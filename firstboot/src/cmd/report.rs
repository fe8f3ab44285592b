//! `dtn-firstboot report`.

use crate::host::Host;
use crate::report;
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::report::{REPORT_SCHEMA, html};

/// Report what was tried on this node.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The page is one file that loads nothing. The form of the JSON is docs/reference/schema/report.json.

Example: dtn-firstboot report --html > report.html"
)]
pub struct Args {
    /// As a page for a browser.
    #[arg(long, required_unless_present = "json")]
    html: bool,
    /// As JSON (schema 1).
    #[arg(long, conflicts_with = "html")]
    json: bool,
}

/// Prints the report. Reads only.
///
/// # Errors
/// When it cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let report = report::of(host, None);
    let text = if args.json {
        Envelope::new(REPORT_SCHEMA, &report).to_text()?
    } else {
        html::page(&report)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}
