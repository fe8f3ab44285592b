//! What the commands of a window say to people.

use crate::sockets;
use dtnforge_profiles::window::Report;
use std::fmt::Write;

/// The text of a report.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut out, report);
    out
}

fn write_all(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "{}", report.sentence)?;
    for live in &report.applied {
        match &live.asked {
            None => writeln!(out, "  {} = {}", live.knob, live.now)?,
            Some(asked) => writeln!(
                out,
                "  {} = {} (the device made it of {asked})",
                live.knob, live.now
            )?,
        }
    }
    for problem in &report.problems {
        writeln!(out, "  {problem}")?;
    }
    for skipped in &report.skipped {
        writeln!(out, "  not {} ({}): {}", skipped.knob, skipped.group, skipped.why)?;
    }
    for check in report.checks.iter().filter(|check| !check.ok) {
        writeln!(out, "  check {}: {}", check.name, check.detail)?;
    }
    for socket in &report.needs_restart {
        writeln!(out, "  {}", sockets::line(socket))?;
    }
    if report.state == "trial" {
        write_ways_out(out, report)?;
    }
    Ok(())
}

fn write_ways_out(out: &mut String, report: &Report) -> std::fmt::Result {
    match report.confirm_within_s {
        Some(seconds) => writeln!(
            out,
            "taken back in {seconds} s unless you say: dtn-firstboot confirm   (more time: confirm --extend 60s)"
        ),
        None => writeln!(
            out,
            "it stays until a reboot, or: dtn-firstboot commit | rollback"
        ),
    }
}
