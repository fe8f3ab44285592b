//! `dtn-firstboot restore`.

use crate::door::Doors;
use crate::events;
use crate::flow::Context;
use crate::host::Host;
use crate::labels::{self, Outcome, restore, store as labels_store};
use crate::trial::OnFailure;
use crate::{notify, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::label::{LABEL_SCHEMA, Label};
use dtnforge_profiles::state::HistoryEntry;
use log::Level;

/// Put the values of a label back.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Values are written in the order of their dependencies, each with its way back on disk before the write, \
and read back. They are live only: no file is changed, so what files say holds again from the next boot.

Ends with 0 when the host is as saved, 3 when something could not be put back (its device is gone, ...), 1 when a value \
was refused, 5 when that one is not as before either.

Example: dtn-firstboot restore before-tuning --plan"
)]
pub struct Args {
    /// The label.
    label: Label,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    plan: bool,
    /// When one value cannot be put back, take all of them back.
    #[arg(long, conflicts_with = "plan")]
    all_or_nothing: bool,
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Puts the label back, or shows what that would write.
///
/// # Errors
/// When another agent is at work, a trial is live, or the label is not there or damaged. Nothing was written then.
pub fn run(host: Host, args: &Args) -> anyhow::Result<Exit> {
    if args.plan {
        return show(&host, args);
    }
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    let snapshot = labels_store::read(&host, &args.label)?;
    let mut context = Context::open(host);
    let host = context.host.clone();
    restore::check_no_trial(&host, &context.file.state)?;
    let doors = Doors::new(&host);
    if let Some(count) = restore::end_dead(&host, &doors)? {
        let sentence =
            format!("an earlier restore that died was taken back, {count} knobs read back as before it");
        context.tell(Level::Warn, events::ROLLED_BACK, "", &sentence);
    }
    let plan = restore::plan(&host, &doors, &snapshot);
    let on_failure = if args.all_or_nothing {
        OnFailure::TakeAllBack
    } else {
        OnFailure::GoOn
    };
    let outcome = restore::restore(&host, &doors, &snapshot, plan, on_failure)?;
    remember(&mut context, &outcome);
    let text = if args.json {
        Envelope::new(LABEL_SCHEMA, &outcome).to_text()?
    } else {
        let commit = context.file.state.commit();
        labels::render_report(&outcome, commit.map(|commit| commit.profile.as_str()))
    };
    super::print(&text)?;
    Ok(exit(&outcome))
}

fn show(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let snapshot = labels_store::read(host, &args.label)?;
    let plan = restore::plan(host, &Doors::new(host), &snapshot);
    let text = if args.json {
        Envelope::new(LABEL_SCHEMA, &plan).to_text()?
    } else {
        labels::render_plan(host, &plan)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}

fn exit(outcome: &Outcome) -> Exit {
    if !outcome.unverified.is_empty() {
        Exit::RollbackUnverified
    } else if outcome.taken_back || !outcome.failed.is_empty() {
        Exit::Failed
    } else if !outcome.plan.left.is_empty() {
        Exit::Drift
    } else {
        Exit::Ok
    }
}

/// Notes in the history and in the journal that an admin changed values. A state file that is damaged is left as it is.
fn remember(context: &mut Context, outcome: &Outcome) {
    if outcome.restored.is_empty() && outcome.failed.is_empty() {
        return;
    }
    let reason = format!(
        "an admin put back the label {}: {} values written and read, {} failed, {} not put back",
        outcome.plan.label,
        outcome.restored.len(),
        outcome.failed.len(),
        outcome.plan.left.len()
    );
    context.tell(Level::Warn, events::LABEL_RESTORED, "", &reason);
    if context.damage.is_some() {
        return;
    }
    let entry = HistoryEntry {
        at: Context::now(),
        boot_id: context.boot_id.clone(),
        entered: context.file.state.name().to_owned(),
        profile: None,
        reason,
    };
    if let Err(error) = context.change(|file| file.remember(entry)) {
        // The values are put back all the same; only the line in the history is missing.
        context.tell(Level::Error, events::LABEL_RESTORED, "", &error.to_string());
    }
}
