//! Labels for people.

use super::Outcome;
use crate::host::Host;
use crate::people;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::label::{Difference, Label, LeftOut, RestorePlan, Snapshot};
use dtnforge_profiles::value::Value;
use serde::Serialize;
use std::fmt::Write;

/// A label in a list.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// The label.
    pub label: Label,
    /// Seconds since 1970, UTC; `None` where the file cannot be used.
    pub at: Option<i64>,
    /// Kernel release then.
    pub kernel: Option<String>,
    /// State of the node then.
    pub state: Option<String>,
    /// Committed profile then.
    pub profile: Option<String>,
    /// Values in it.
    pub knobs: usize,
    /// Whether it was saved on this hardware.
    pub same_hardware: Option<bool>,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

impl Listed {
    /// A label that can be used.
    pub fn good(snapshot: &Snapshot, same_hardware: bool) -> Self {
        Self {
            label: snapshot.label.clone(),
            at: Some(snapshot.at),
            kernel: Some(snapshot.kernel.clone()),
            state: Some(snapshot.state.clone()),
            profile: snapshot.profile.clone(),
            knobs: snapshot.knobs.len(),
            same_hardware: Some(same_hardware),
            problem: None,
        }
    }

    /// A label that cannot be used.
    pub fn bad(label: Label, problem: String) -> Self {
        Self {
            label,
            at: None,
            kernel: None,
            state: None,
            profile: None,
            knobs: 0,
            same_hardware: None,
            problem: Some(problem),
        }
    }
}

/// Writes into a text; that cannot fail.
fn text(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut out = String::new();
    let _ = write(&mut out);
    out
}

/// The list of labels.
pub fn render_list(labels: &[Listed]) -> String {
    if labels.is_empty() {
        return "nothing is saved\nhint: dtn-firstboot save LABEL\n".to_owned();
    }
    let width = labels.iter().map(|it| it.label.as_str().len()).max().unwrap_or(0);
    text(|out| {
        for it in labels {
            write!(out, "{:<width$}  ", it.label)?;
            match (&it.problem, it.at) {
                (Some(problem), _) => writeln!(out, "cannot be used: {problem}")?,
                (None, at) => {
                    let at = people::time(at.unwrap_or(0));
                    let kernel = it.kernel.as_deref().unwrap_or("unknown");
                    let profile = it
                        .profile
                        .as_deref()
                        .map_or_else(String::new, |name| format!(" {name}"));
                    let state = it.state.as_deref().unwrap_or("unknown");
                    write!(
                        out,
                        "{at}  {} values, {state}{profile}, kernel {kernel}",
                        it.knobs
                    )?;
                    let other = it.same_hardware == Some(false);
                    writeln!(out, "{}", if other { ", other hardware" } else { "" })?;
                }
            }
        }
        Ok(())
    })
}

/// Differences between a label and `other` ("live", or another label).
pub fn render_differences(label: &Label, other: &str, differences: &[Difference], same: usize) -> String {
    let shown = |value: &Option<Value>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), ToString::to_string)
    };
    text(|out| {
        writeln!(out, "{label} -> {other}")?;
        for it in differences {
            let name = named(&it.knob, it.device.as_deref());
            write!(out, "  {name}: {} -> {}", shown(&it.saved), shown(&it.other))?;
            match &it.owner {
                Some(owner) => writeln!(out, "\n      set by: {owner}")?,
                None => writeln!(out)?,
            }
        }
        writeln!(out, "{} differ, {same} are the same", differences.len())
    })
}

/// What a restore would write.
pub fn render_plan(host: &Host, plan: &RestorePlan) -> String {
    text(|out| {
        writeln!(out, "putting back {} would write:", plan.label)?;
        for step in &plan.steps {
            let device = people::device_name(host, &step.knob);
            let name = named(&step.knob, device.as_deref());
            writeln!(out, "  {name}: {} -> {}", step.from, step.to)?;
            writeln!(
                out,
                "      {}, interrupts {}: {}",
                step.group,
                people::interrupts(step.disrupts),
                step.why
            )?;
        }
        write_left(out, &plan.left)?;
        writeln!(
            out,
            "{} to be written, {} are as saved, {} not put back; nothing was changed",
            plan.steps.len(),
            plan.as_saved.len(),
            plan.left.len()
        )
    })
}

/// What a restore did. `recommit`: the profile that the next boot puts in place again.
pub fn render_report(outcome: &Outcome, recommit: Option<&str>) -> String {
    text(|out| {
        for it in &outcome.restored {
            writeln!(out, "  {} = {}", named(&it.knob, it.device.as_deref()), it.now)?;
        }
        for it in &outcome.failed {
            let left = it
                .left_as
                .as_deref()
                .map_or_else(String::new, |now| format!("; it is left as {now}"));
            writeln!(out, "  FAILED {}{left}", it.why)?;
        }
        write_left(out, &outcome.plan.left)?;
        if outcome.taken_back {
            writeln!(out, "everything was taken back")?;
        }
        for what in &outcome.unverified {
            writeln!(out, "  NOT as before: {what}")?;
        }
        write_boot(out, outcome, recommit)?;
        writeln!(
            out,
            "{}: {} put back and read, {} were as saved, {} failed, {} not put back",
            outcome.plan.label,
            outcome.restored.len(),
            outcome.plan.as_saved.len(),
            outcome.failed.len(),
            outcome.plan.left.len()
        )
    })
}

fn write_boot(out: &mut String, outcome: &Outcome, recommit: Option<&str>) -> std::fmt::Result {
    if outcome.restored.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "live only: no file was changed, and the values end with this boot"
    )?;
    if let Some(profile) = recommit {
        writeln!(
            out,
            "  the next boot puts the committed profile {profile} in place again"
        )?;
    }
    for it in &outcome.at_boot {
        let value = it
            .setter
            .value
            .as_ref()
            .map_or_else(String::new, |value| format!(" sets {value}"));
        writeln!(out, "  at the next boot {}{value}: {}", it.setter, it.knob)?;
    }
    Ok(())
}

fn write_left(out: &mut String, left: &[LeftOut]) -> std::fmt::Result {
    for it in left {
        writeln!(
            out,
            "  not put back: {}: {}",
            named(&it.knob, it.device.as_deref()),
            it.why
        )?;
    }
    Ok(())
}

fn named(knob: &KnobId, device: Option<&str>) -> String {
    device.map_or_else(|| knob.to_string(), |device| format!("{knob} [{device}]"))
}
