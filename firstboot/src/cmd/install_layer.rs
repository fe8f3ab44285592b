//! `dtn-firstboot install-layer`.

use crate::host::Host;
use crate::install::{self, Installed, Program};
use crate::store;
use dtnforge_profiles::envelope::{Envelope, Exit};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Form of the JSON answer.
const SCHEMA: u32 = 1;

/// Put profiles and the units of the agent on a host that is no image of dtnforge.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing is started and no value is changed; `dtn-firstboot remove-layer` takes all of it out again.\n\
Example: dtn-firstboot install-layer dtn-100g-nvme-0123456789ab.tar.zst"
)]
pub struct Args {
    /// Layers, as `dtnforge layer` makes them, or a directory of layers with its index.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What was placed, as JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Installs.
///
/// # Errors
/// When another agent is at work, a file is no layer, or something cannot be placed.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let program = if host.is_live() {
        Program::running()?
    } else {
        Program::at("/usr/bin/dtn-firstboot")?
    };
    let _lock = store::lock(host)?;
    let installed = install::install(host, &program, &args.files)?;
    let text = if args.json {
        Envelope::new(SCHEMA, &installed).to_text()?
    } else {
        text(&installed)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}

fn text(installed: &Installed) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    for layer in &installed.layers {
        let _ = writeln!(text, "layer  {} ({})", layer.profile, layer.digest.short());
    }
    for file in &installed.files {
        let _ = writeln!(text, "placed {file}");
    }
    for note in &installed.notes {
        let _ = writeln!(text, "next:  {note}");
    }
    text
}
