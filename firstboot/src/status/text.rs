//! The status for people: the answer first, then what is active, then what is not and why.

use dtnforge_profiles::status::{Activation, ActiveKnob, Status};
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
        "rollback-unverified" => "31",
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
    writeln!(out, "activation:  {}", activation(&status.activation))?;
    let (begun, left) = (status.attempts.begun, status.attempts.left);
    writeln!(out, "trials:      {begun} begun, {left} left")?;
    let boot = &status.boot;
    let mode = boot.mode.as_deref().unwrap_or("not our image");
    writeln!(
        out,
        "boot:        {mode}, {}, Secure Boot {}",
        boot.firmware, boot.secure_boot
    )?;
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

fn activation(activation: &Activation) -> String {
    match activation {
        Activation::NotNeeded => "not needed, nothing is committed".to_owned(),
        Activation::LiveFromTrial => "live since the trial in this boot".to_owned(),
        Activation::Early => "by the early unit, before the NICs came up".to_owned(),
        Activation::CommittedNotActivated(why) => format!("committed but not active: {why}"),
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
    if !status.history.is_empty() {
        writeln!(out, "\nhistory:")?;
        for entry in &status.history {
            let profile = entry.profile.as_deref().unwrap_or("-");
            let boot = entry.boot_id.get(..8).unwrap_or(&entry.boot_id);
            let at = humantime::format_rfc3339_seconds(at(entry.at));
            writeln!(
                out,
                "  {at} boot {boot} {:<10} {profile}: {}",
                entry.entered, entry.reason
            )?;
        }
    }
    Ok(())
}

fn at(seconds: i64) -> std::time::SystemTime {
    let offset = std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    std::time::UNIX_EPOCH + offset
}
