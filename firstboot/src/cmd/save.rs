//! `dtn-firstboot save`.

use crate::door::Doors;
use crate::host::Host;
use crate::labels::{self, Devices};
use crate::{detect, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::label::{LABEL_SCHEMA, Label};

/// Save all values of this host under a label.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every knob that `dtn-firstboot` knows and this host has is saved, not only those of a plan.\n\
Example: dtn-firstboot save before-tuning"
)]
pub struct Args {
    /// 1 to 64 lower-case letters, digits and `._-`.
    label: Label,
    /// Over a label of the same name.
    #[arg(long)]
    replace: bool,
    /// The saved values as JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Saves. Changes no value.
///
/// # Errors
/// When another agent is at work, there is a label of that name, or it cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    // While a trial runs, as-found and tried values take turns.
    let _lock = store::lock(host)?;
    let state = store::load(host).file.state;
    let facts = detect::detect(host);
    let devices = Devices::of(host, &facts);
    let snapshot = labels::capture(
        host,
        &Doors::new(host),
        &facts,
        &devices,
        args.label.clone(),
        &state,
    );
    labels::store::write(host, &snapshot, args.replace)?;
    let text = if args.json {
        Envelope::new(LABEL_SCHEMA, &snapshot).to_text()?
    } else {
        let mut text = String::new();
        for left in &snapshot.left_out {
            let device = left
                .device
                .as_deref()
                .map_or_else(String::new, |name| format!(" [{name}]"));
            text.push_str(&format!("not saved: {}{device}: {}\n", left.knob, left.why));
        }
        let (count, path) = (snapshot.knobs.len(), labels::store::path(&args.label));
        text + &format!("saved {}: {count} values in {path}\n", args.label)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}
