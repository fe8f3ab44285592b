//! An audit for people: what differs in full, then the rest in a line each.

use crate::people;
use dtnforge_profiles::audit::{Against, Audit, Row, RowVerdict};
use std::fmt::Write;

/// The text. `colour` marks what differs; without it the text is plain.
pub fn render(audit: &Audit, colour: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut out, audit, colour);
    out
}

fn write_all(out: &mut String, audit: &Audit, colour: bool) -> std::fmt::Result {
    let against = match audit.against {
        Against::Commit => "what was committed on this node",
        Against::Profile => "the profile that matches; nothing is committed",
    };
    let layer = audit.layer.get(..12).unwrap_or(&audit.layer);
    writeln!(out, "against:     {against}")?;
    writeln!(out, "profile:     {} (layer {layer})", audit.profile)?;
    writeln!(out, "why:         {}", audit.why)?;
    writeln!(out, "state:       {}", audit.state)?;
    for warning in &audit.warnings {
        writeln!(out, "warning:     {warning}")?;
    }
    writeln!(out)?;
    for row in &audit.rows {
        write_row(out, row, colour)?;
    }
    let counts = audit.counts;
    writeln!(
        out,
        "\n{} differ, {} missing, {} as expected, {} not for this host",
        counts.differs, counts.missing, counts.ok, counts.not_applied
    )
}

fn write_row(out: &mut String, row: &Row, colour: bool) -> std::fmt::Result {
    let device = row
        .device
        .as_deref()
        .map_or_else(String::new, |name| format!(" [{name}]"));
    let name = format!("{}{device}", row.knob);
    let value = |value: &Option<_>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), ToString::to_string)
    };
    let note = row
        .note
        .as_deref()
        .map_or_else(String::new, |note| format!(" ({note})"));
    match row.verdict {
        RowVerdict::Ok => writeln!(out, "ok       {name} = {}{note}", value(&row.live))?,
        RowVerdict::NotApplied => writeln!(out, "-        {name}:{note}")?,
        RowVerdict::Differs | RowVerdict::Missing => {
            writeln!(out, "{} {name}", mark(row.verdict, colour))?;
            let unit = if row.unit.is_empty() {
                String::new()
            } else {
                format!(" {}", row.unit)
            };
            writeln!(
                out,
                "           expected {}{unit}, live {}{note}",
                value(&row.expected),
                value(&row.live)
            )?;
            if let Some(owner) = &row.owner {
                writeln!(out, "           set by: {owner}")?;
            }
            writeln!(
                out,
                "           {}, writing it interrupts {}: {}",
                row.group,
                row.disrupts.map_or("nothing", people::interrupts),
                row.why
            )?;
        }
    }
    if let Some(against) = &row.at_boot {
        let value = against
            .value
            .as_ref()
            .map_or_else(String::new, |value| format!(" sets {value}"));
        writeln!(
            out,
            "           at the next boot {against}{value}, after our own file"
        )?;
    }
    Ok(())
}

fn mark(verdict: RowVerdict, colour: bool) -> String {
    let word = if verdict == RowVerdict::Missing {
        "MISSING "
    } else {
        "DIFFERS "
    };
    if colour {
        format!("\x1b[1;33m{word}\x1b[0m")
    } else {
        word.to_owned()
    }
}
