//! `dtn-firstboot plan`: the dry run.

use crate::door::Doors;
use crate::flow::look;
use crate::host::Host;
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::plan::{PLAN_SCHEMA, Plan};
use std::fmt::Write;
use std::time::Duration;

/// Show what a trial would change.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot plan")]
pub struct Args {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Prints the plan. Reads only.
///
/// # Errors
/// When it cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let look = match look::look(host, Duration::ZERO) {
        Ok(look) => look,
        Err(why) => anyhow::bail!("no plan: {why}"),
    };
    let plan = look.plan(host, &Doors::new(host));
    let text = if args.json {
        Envelope::new(PLAN_SCHEMA, &plan).to_text()?
    } else {
        render(&plan, &look.chosen.why)
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}

fn render(plan: &Plan, why: &str) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_plan(&mut out, plan, why);
    out
}

fn write_plan(out: &mut String, plan: &Plan, why: &str) -> std::fmt::Result {
    writeln!(out, "profile: {} ({why})", plan.profile)?;
    for step in &plan.steps {
        writeln!(out, "  {}: {} -> {}", step.knob, step.from, step.to)?;
        if let Some(lowered) = &step.lowered {
            writeln!(out, "      lowered from {}: {}", lowered.asked, lowered.why)?;
        }
        writeln!(
            out,
            "      {}, interrupts {:?}: {} [{}]",
            step.group, step.disrupts, step.why, step.source
        )?;
    }
    for skipped in &plan.skipped {
        writeln!(out, "  not {} ({}): {}", skipped.knob, skipped.group, skipped.why)?;
    }
    Ok(())
}
