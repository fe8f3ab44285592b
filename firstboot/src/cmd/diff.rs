//! `dtn-firstboot diff`.

use crate::door::Doors;
use crate::host::Host;
use crate::labels::{self, Devices, store as labels_store};
use crate::{detect, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::label::{Difference, LABEL_SCHEMA, Label, Snapshot};
use serde::Serialize;

/// Show what differs between a label and the live values, or another label.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ends with 0 when nothing differs and with 3 when something does.\n\
Example: dtn-firstboot diff before-tuning"
)]
pub struct Args {
    /// The label.
    label: Label,
    /// Another label, instead of what is live.
    other: Option<Label>,
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    label: &'a Label,
    /// `None`: what is live.
    other: Option<&'a Label>,
    differences: &'a [Difference],
    same: usize,
}

/// Prints the differences. Reads only.
///
/// # Errors
/// When a label is not there or damaged.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let saved = labels_store::read(host, &args.label)?;
    let other = match &args.other {
        Some(label) => labels_store::read(host, label)?,
        None => live(host, &args.label),
    };
    let differences = saved.differences(&other);
    let same = saved
        .knobs
        .keys()
        .filter(|knob| differences.iter().all(|it| it.knob != **knob))
        .count();
    let text = if args.json {
        let answer = Answer {
            label: &args.label,
            other: args.other.as_ref(),
            differences: &differences,
            same,
        };
        Envelope::new(LABEL_SCHEMA, &answer).to_text()?
    } else {
        let name = args.other.as_ref().map_or("live", Label::as_str);
        labels::render_differences(&args.label, name, &differences, same)
    };
    super::print(&text)?;
    Ok(if differences.is_empty() {
        Exit::Ok
    } else {
        Exit::Drift
    })
}

/// What is live now, in the form of a label.
fn live(host: &Host, label: &Label) -> Snapshot {
    let state = store::load(host).file.state;
    let facts = detect::detect(host);
    let devices = Devices::of(host, &facts);
    labels::capture(host, &Doors::new(host), &facts, &devices, label.clone(), &state)
}
