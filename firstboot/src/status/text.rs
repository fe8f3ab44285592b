//! The status for people: the answer first, then what is active, then what is not and why.

use super::history;
use dtnforge_profiles::state::BootKind;
use dtnforge_profiles::status::{Activation, ActiveKnob, BootCounter, OpenWindow, Status};
use dtnforge_profiles::verdict::GroupEvidence;
use std::fmt::Write;

/// The text. `colour` marks the state; without it the text is plain.
pub fn render(status: &Status, colour: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut out, status, colour);
    out
}

fn paint(state: &str, colour: bool) -> String {
    let code = match state {
        "committed" => "32",
        "rollback-unverified" | "fallback" => "31",
        "rejected" => "33",
        _ => "36",
    };
    if colour {
        format!("\x1b[1;{code}m{state}\x1b[0m")
    } else {
        state.to_owned()
    }
}

fn write_all(out: &mut String, status: &Status, colour: bool) -> std::fmt::Result {
    writeln!(out, "state:       {}", paint(&status.state, colour))?;
    writeln!(out, "reason:      {}", status.reason)?;
    if let Some(profile) = &status.profile {
        let layer = status
            .layer
            .as_deref()
            .map_or("", |digest| digest.get(..12).unwrap_or(digest));
        writeln!(out, "profile:     {profile} (layer {layer})")?;
    }
    if let Some(seen) = &status.throughput {
        let (stock, tuned, ratio) = (seen.stock, seen.tuned, seen.ratio);
        writeln!(
            out,
            "throughput:  {stock:.0} -> {tuned:.0} {}, {ratio:.2}x ({})",
            seen.unit, seen.measure
        )?;
    }
    if let Some(window) = &status.window {
        writeln!(out, "trial:       {}", trial(window))?;
    }
    writeln!(out, "activation:  {}", activation(&status.activation))?;
    let (begun, left) = (status.attempts.begun, status.attempts.left);
    writeln!(out, "trials:      {begun} begun, {left} left")?;
    let boot = &status.boot;
    let mode = boot.mode.as_deref().unwrap_or("not our image");
    let kind = match boot.kind {
        None | Some(BootKind::Unknown) => String::new(),
        Some(kind) => format!("kind {}, ", kind.name()),
    };
    writeln!(
        out,
        "boot:        {mode}, {kind}{}, Secure Boot {}",
        boot.firmware, boot.secure_boot
    )?;
    writeln!(out, "counter:     {}", counter(&status.boot_counter))?;
    writeln!(
        out,
        "machine:     virtual: {}, kernel {}",
        boot.virtualised, boot.kernel
    )?;
    for finding in &status.findings {
        writeln!(out, "finding:     {finding}")?;
    }
    write_knobs(out, &status.active)?;
    write_groups(out, status)?;
    write_checks(out, status)?;
    write_rest(out, status)
}

fn trial(window: &OpenWindow) -> String {
    match window.confirm_within_s {
        None => "live until `dtn-firstboot commit`, `dtn-firstboot rollback` or a reboot".to_owned(),
        Some(left) => format!("taken back in {left} s unless somebody says `dtn-firstboot confirm`"),
    }
}

fn activation(activation: &Activation) -> String {
    match activation {
        Activation::NotNeeded => "not needed, nothing is committed".to_owned(),
        Activation::LiveFromTrial => "live since the trial in this boot".to_owned(),
        Activation::Early => "by the early unit, before the NICs came up".to_owned(),
        Activation::CommittedNotActivated(why) => format!("committed but not active: {why}"),
    }
}

fn counter(counter: &BootCounter) -> String {
    let name = match (&counter.file, counter.left) {
        (Some(file), Some(1)) => format!("{file}, 1 try left"),
        (Some(file), Some(left)) => format!("{file}, {left} tries left"),
        (Some(file), None) => format!("{file}, not counted: good boots took the counter off"),
        (None, _) => "not known".to_owned(),
    };
    match &counter.note {
        Some(note) => format!("{name} ({note})"),
        None => name,
    }
}

fn write_knobs(out: &mut String, active: &[ActiveKnob]) -> std::fmt::Result {
    if active.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nactive:")?;
    for knob in active {
        let mark = if knob.ok { "ok " } else { "NOT" };
        let now = knob
            .now
            .as_ref()
            .map_or_else(|| "unreadable".to_owned(), ToString::to_string);
        let device = knob
            .device
            .as_deref()
            .map_or_else(String::new, |name| format!(" [{name}]"));
        write!(out, "  {mark} {}{device} = {now}", knob.knob)?;
        if !knob.ok {
            write!(out, " (committed: {})", knob.committed)?;
        }
        if let Some(note) = &knob.note {
            write!(out, " ({note})")?;
        }
        if let Some(owner) = &knob.owner {
            write!(out, "\n        set by: {owner}")?;
        }
        writeln!(out, "\n        {}: {}", knob.group, knob.why)?;
    }
    Ok(())
}

fn write_groups(out: &mut String, status: &Status) -> std::fmt::Result {
    let Some(verdict) = status
        .verdict
        .as_ref()
        .filter(|verdict| !verdict.groups.is_empty())
    else {
        return Ok(());
    };
    writeln!(out, "\nevidence:")?;
    for (group, evidence) in &verdict.groups {
        let text = match evidence {
            GroupEvidence::Measured { by } => format!("measured by {by}"),
            GroupEvidence::Dropped { by, why } => format!("dropped, by {by}: {why}"),
            GroupEvidence::ReadBack => "read back (harmless by nature)".to_owned(),
            GroupEvidence::Unproved { why, .. } => format!("unproved: {why}"),
        };
        writeln!(out, "  {group:<13} {text}")?;
    }
    Ok(())
}

fn write_checks(out: &mut String, status: &Status) -> std::fmt::Result {
    let Some(verdict) = status
        .verdict
        .as_ref()
        .filter(|verdict| !verdict.checks.is_empty())
    else {
        return Ok(());
    };
    writeln!(out, "\nchecks:")?;
    for check in &verdict.checks {
        let mark = match (check.ok, check.required) {
            (true, _) => "ok  ",
            (false, true) => "FAIL",
            (false, false) => "note",
        };
        writeln!(out, "  {mark} {}: {}", check.name, check.detail)?;
    }
    Ok(())
}

fn write_rest(out: &mut String, status: &Status) -> std::fmt::Result {
    if !status.skipped.is_empty() {
        writeln!(out, "\nnot applied:")?;
        for skipped in &status.skipped {
            writeln!(out, "  {} ({}): {}", skipped.knob, skipped.group, skipped.why)?;
        }
    }
    history::write(out, &status.timeline)
}
