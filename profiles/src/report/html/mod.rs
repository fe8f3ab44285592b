//! The page: one file that loads nothing, for light and dark, keyboards, screen readers and printers.
//!
//! All text goes through [`Text`]. Charts are SVG made here ([`chart`]); the script only sorts tables, so a page without
//! scripts has everything. The policy in its head forbids any request.

mod chart;
mod table;
mod text;

use super::{EvidenceRow, MetricRow, Report};
use std::fmt::{self, Write};
use table::{Cell, Table};
use text::{Text, figure};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// The report as a page.
pub fn page(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(&mut out, report);
    out
}

fn write_page(out: &mut String, report: &Report) -> fmt::Result {
    let name = Text(&report.node.name);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{name}: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdict\">To the verdict</a>\n",
        Text(&report.state)
    )?;
    write_head(out, report)?;
    out.push_str("<main>\n");
    write_verdict(out, report)?;
    write_metrics(out, report)?;
    write_proofs(out, report)?;
    write_groups(out, report)?;
    write_knobs(out, report)?;
    write_skipped(out, report)?;
    write_listeners(out, report)?;
    write_checks(out, report)?;
    write_node(out, report)?;
    write_timeline(out, report)?;
    write!(
        out,
        "</main>\n<footer>Made {} by dtn-firstboot {}. This page loads nothing.</footer>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        Text(&report.made_at),
        env!("CARGO_PKG_VERSION")
    )
}

fn write_head(out: &mut String, report: &Report) -> fmt::Result {
    let profile = report.profile.as_deref().unwrap_or("no profile");
    write!(
        out,
        "<header>\n<h1>{}</h1>\n<p class=\"state {state}\"><strong>{state}</strong> <span>{}</span></p>\n</header>\n\
         <nav aria-label=\"Sections\"><ul>",
        Text(&report.node.name),
        Text(profile),
        state = Text(&report.state),
    )?;
    for (id, title) in [
        ("verdict", "Verdict"),
        ("metrics", "Measured"),
        ("proofs", "Proofs"),
        ("groups", "Groups"),
        ("knobs", "Knobs"),
        ("node", "Node"),
        ("timeline", "Timeline"),
    ] {
        write!(out, "<li><a href=\"#{id}\">{title}</a></li>")?;
    }
    out.write_str("</ul></nav>\n")
}

fn write_verdict(out: &mut String, report: &Report) -> fmt::Result {
    write!(
        out,
        "<section id=\"verdict\" tabindex=\"-1\"><h2>Verdict</h2>\n<p class=\"lead\">{}</p>\n",
        Text(&report.reason)
    )?;
    if let Some(first) = report.metrics.iter().find(|metric| !metric.only_reported) {
        writeln!(
            out,
            "<dl class=\"headline\"><div><dt>As found</dt><dd>{} {unit}</dd></div><div><dt>Ours</dt><dd>{} {unit}</dd>\
             </div><div><dt>Ratio</dt><dd>{}\u{d7}</dd></div></dl>",
            figure(first.as_found),
            figure(first.ours),
            figure(first.ratio),
            unit = Text(&first.unit),
        )?;
    }
    if !report.findings.is_empty() {
        out.push_str("<h3>What to know of this machine</h3>\n<ul>\n");
        for finding in &report.findings {
            writeln!(out, "<li>{}</li>", Text(finding))?;
        }
        out.push_str("</ul>\n");
    }
    out.write_str("</section>\n")
}

fn write_metrics(out: &mut String, report: &Report) -> fmt::Result {
    out.push_str("<section id=\"metrics\"><h2>Measured</h2>\n");
    if report.metrics.is_empty() {
        out.push_str("<p>Nothing was measured.</p>\n");
    }
    for (index, metric) in report.metrics.iter().enumerate() {
        write_metric(out, metric, index)?;
    }
    out.write_str("</section>\n")
}

fn write_metric(out: &mut String, metric: &MetricRow, index: usize) -> fmt::Result {
    let good = if metric.more_is_better { "more" } else { "less" };
    let weight = if metric.only_reported {
        "; it decides nothing"
    } else {
        ""
    };
    write!(
        out,
        "<article>\n<h3>{}</h3>\n<p>{} pairs, {good} is better{weight}. Ours is <strong>{}\u{d7}</strong> as found, \
         95 % interval {} to {}; the limit is {}. A change of {} % or more could be seen.</p>\n<div class=\"charts\">\n",
        Text(&metric.name),
        metric.pairs,
        figure(metric.ratio),
        figure(metric.ratio_low),
        figure(metric.ratio_high),
        figure(metric.limit),
        figure(metric.smallest_effect * 100.0),
    )?;
    chart::points(out, metric, index)?;
    chart::interval(out, metric, index)?;
    out.push_str("</div>\n<details><summary>Raw values of each pair</summary>\n");
    let unit = &metric.unit;
    let mut table = Table::new(
        "Raw values of each pair",
        &[
            "Pair",
            &format!("As found, {unit}"),
            &format!("Ours, {unit}"),
            "Ratio",
        ],
    );
    for (number, point) in metric.points.iter().enumerate() {
        table.row([
            Cell::number((number + 1).to_string()),
            Cell::number(figure(point.as_found)),
            Cell::number(figure(point.ours)),
            Cell::number(figure(point.ours / point.as_found)),
        ]);
    }
    table.write(out)?;
    out.push_str("</details>\n<details><summary>Conditions</summary>\n");
    let mut table = Table::new("Conditions", &["What", "Seen"]);
    for (key, value) in &metric.conditions {
        table.row([Cell::code(key), Cell::text(value)]);
    }
    table.write(out)?;
    out.write_str("</details>\n</article>\n")
}

fn write_proofs(out: &mut String, report: &Report) -> fmt::Result {
    out.push_str("<section id=\"proofs\"><h2>Proofs</h2>\n");
    if report.proofs.is_empty() {
        out.push_str("<p>No groups were proved.</p>\n");
    } else {
        let mut table = Table::new(
            "Each set of groups that was proved, in order",
            &[
                "Groups",
                "Evidence",
                "Effect",
                "95 % interval",
                "Verdict",
                "In words",
            ],
        );
        for proof in &report.proofs {
            let first = proof.metrics.iter().find(|metric| !metric.only_reported);
            table.row([
                Cell::text(&proof.groups.join(", ")),
                Cell::text(&proof.by),
                Cell::number(
                    first.map_or_else(String::new, |metric| format!("{}\u{d7}", figure(metric.ratio))),
                ),
                Cell::text(&first.map_or_else(String::new, |metric| {
                    format!("{} to {}", figure(metric.ratio_low), figure(metric.ratio_high))
                })),
                Cell::text(&proof.outcome),
                Cell::text(&proof.sentence),
            ]);
        }
        table.write(out)?;
    }
    out.write_str("</section>\n")
}

fn write_groups(out: &mut String, report: &Report) -> fmt::Result {
    out.push_str("<section id=\"groups\"><h2>Groups</h2>\n");
    let unproved = report
        .groups
        .iter()
        .filter(|row| {
            matches!(
                row.evidence,
                EvidenceRow::UnprovedApplied | EvidenceRow::UnprovedHeld
            )
        })
        .count();
    if unproved > 0 {
        writeln!(
            out,
            "<p>{unproved} of {} groups are unproved.</p>",
            report.groups.len()
        )?;
    }
    let mut table = Table::new(
        "Groups and what speaks for each",
        &["Group", "Evidence", "By", "Why"],
    );
    for row in &report.groups {
        table.row([
            Cell::code(&row.group),
            Cell::text(row.evidence.words()),
            Cell::text(row.by.as_deref().unwrap_or("")),
            Cell::text(&row.why),
        ]);
    }
    table.write(out)?;
    out.write_str("</section>\n")
}

fn write_knobs(out: &mut String, report: &Report) -> fmt::Result {
    out.push_str("<section id=\"knobs\"><h2>Knobs</h2>\n");
    let mut table = Table::new(
        "Each knob, from what to what and why",
        &["Knob", "Device", "Group", "From", "To", "Now", "Why"],
    );
    for row in &report.knobs {
        let lowered = row
            .lowered
            .as_ref()
            .map_or_else(String::new, |text| format!(" Lowered: {text}."));
        table.row([
            Cell::code(&row.knob),
            Cell::text(row.device.as_deref().unwrap_or("")),
            Cell::text(&row.group),
            Cell::code(&row.from),
            Cell::code(&row.to),
            Cell::code(row.now.as_deref().unwrap_or("")),
            Cell::text(&format!("{}{lowered} [{}]", row.why, row.source)),
        ]);
    }
    table.write(out)?;
    out.write_str("</section>\n")
}

fn write_skipped(out: &mut String, report: &Report) -> fmt::Result {
    if report.skipped.is_empty() {
        return Ok(());
    }
    out.push_str("<section id=\"skipped\"><h2>Not applied</h2>\n");
    let mut table = Table::new("What this node does not get", &["Knob", "Group", "Why"]);
    for row in &report.skipped {
        table.row([
            Cell::code(&row.knob),
            Cell::text(&row.group),
            Cell::text(&row.why),
        ]);
    }
    table.write(out)?;
    out.write_str("</section>\n")
}

fn write_listeners(out: &mut String, report: &Report) -> fmt::Result {
    if report.listeners.is_empty() {
        return Ok(());
    }
    out.push_str("<section id=\"listeners\"><h2>Programs to restart</h2>\n<p>Their sockets were opened before and keep what \
                  they had.</p>\n");
    let mut table = Table::new(
        "Programs to restart",
        &["Program", "Socket", "Has", "New sockets have"],
    );
    for row in &report.listeners {
        table.row([
            Cell::text(&row.program),
            Cell::code(&row.local),
            Cell::code(&row.has),
            Cell::code(&row.wanted),
        ]);
    }
    table.write(out)?;
    out.write_str("</section>\n")
}

fn write_checks(out: &mut String, report: &Report) -> fmt::Result {
    if report.checks.is_empty() {
        return Ok(());
    }
    out.push_str("<section id=\"checks\"><h2>Checks</h2>\n");
    let mut table = Table::new(
        "Checks while the trial was live",
        &["Check", "Result", "Required", "Seen"],
    );
    for row in &report.checks {
        table.row([
            Cell::code(&row.name),
            Cell::text(if row.ok { "passed" } else { "failed" }),
            Cell::text(if row.required { "yes" } else { "no" }),
            Cell::text(&row.detail),
        ]);
    }
    table.write(out)?;
    out.write_str("</section>\n")
}

fn write_node(out: &mut String, report: &Report) -> fmt::Result {
    out.push_str("<section id=\"node\"><h2>Node</h2>\n");
    let mut table = Table::new("What the node is", &["What", "Value"]);
    for (what, value) in &report.node.facts {
        table.row([Cell::text(what), Cell::text(value)]);
    }
    table.write(out)?;
    out.write_str("</section>\n")
}

fn write_timeline(out: &mut String, report: &Report) -> fmt::Result {
    out.push_str("<section id=\"timeline\"><h2>Timeline</h2>\n<ol class=\"timeline\">\n");
    for moment in &report.timeline {
        let class = if moment.boot { "boot" } else { "state" };
        write!(out, "<li class=\"{class}\">")?;
        if !moment.at.is_empty() {
            write!(out, "<time datetime=\"{at}\">{at}</time> ", at = Text(&moment.at))?;
        }
        writeln!(out, "{}</li>", Text(&moment.what))?;
    }
    out.write_str("</ol>\n</section>\n")
}
