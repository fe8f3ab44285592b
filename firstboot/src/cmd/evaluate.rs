//! `dtn-firstboot evaluate`: the proof in a maintenance window, with everything taken back.

use crate::flow::Context;
use crate::flow::evaluate::{self, Evaluated};
use crate::host::Host;
use crate::report::{self, Tried};
use crate::{atomic, notify, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::report::{ProofRow, REPORT_SCHEMA, Report, html};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where reports are written by default.
const REPORTS: &str = "/var/lib/dtnforge/reports";

/// Measure the profile of this host and take everything back.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For a maintenance window: the profile is applied, measured against the host as found, and taken back, whatever \
the numbers say. Nothing is committed. A host with a committed profile is left alone: take it out with `rollback` first.

The table has one line for each set of groups that was proved. The report files are named by the time of the run.

Ends with 0 when everything was measured and taken back, 5 when a value could not be taken back.

Example: dtn-firstboot evaluate --each"
)]
pub struct Args {
    /// Prove each group by itself too, also where the whole does no harm.
    #[arg(long)]
    each: bool,
    /// Directory for the report files.
    #[arg(long, value_name = "DIR", default_value = REPORTS)]
    reports: PathBuf,
    /// As JSON (schema 1): the report.
    #[arg(long)]
    json: bool,
}

/// Evaluates, writes the report files and prints the table.
///
/// # Errors
/// Why nothing was evaluated, or that a report could not be written.
pub fn run(host: Host, args: &Args) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    let mut context = Context::open(host.clone());
    let Evaluated {
        plan,
        verdict,
        exit,
        end,
    } = evaluate::evaluate(&mut context, args.each)?;
    let report = report::of(
        &host,
        Some(Tried {
            plan: &plan,
            verdict: &verdict,
        }),
    );
    let files = write(&host, &args.reports, &report)?;
    let text = if args.json {
        Envelope::new(REPORT_SCHEMA, &report).to_text()?
    } else {
        let files = files.iter().map(|path| format!("report: {}\n", path.display()));
        format!(
            "{}\n{}\n{end}\n{}",
            table(&report.proofs),
            verdict.sentence,
            files.collect::<String>()
        )
    };
    super::print(&text)?;
    Ok(exit)
}

/// Writes both forms of the report; returns their paths.
fn write(host: &Host, directory: &Path, report: &Report) -> anyhow::Result<[PathBuf; 2]> {
    // Digits and letters only: a name that every shell and file system takes.
    let stamp: String = report
        .made_at
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let file = |ending: &str| {
        let name = format!("evaluate-{stamp}.{ending}");
        host.path(&directory.join(name).to_string_lossy())
    };
    let (json, page) = (file("json"), file("html"));
    let text = Envelope::new(REPORT_SCHEMA, report).to_text()?;
    atomic::write(&json, text.as_bytes(), 0o644)?;
    atomic::write(&page, html::page(report).as_bytes(), 0o644)?;
    Ok([json, page])
}

/// Group, evidence, effect, interval, verdict.
fn table(proofs: &[ProofRow]) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_table(&mut out, proofs);
    out
}

fn write_table(out: &mut String, proofs: &[ProofRow]) -> std::fmt::Result {
    let rows: Vec<[String; 5]> = proofs.iter().flat_map(rows_of).collect();
    let heads = ["groups", "evidence", "effect", "95 % interval", "verdict"];
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut line = |cells: [&str; 5]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        writeln!(out, "{}", padded.join("  ").trim_end())
    };
    line(heads)?;
    for row in &rows {
        line(row.each_ref().map(String::as_str))?;
    }
    Ok(())
}

/// One line for each metric of a proof.
fn rows_of(proof: &ProofRow) -> Vec<[String; 5]> {
    let row = |evidence: String, effect: String, interval: String| {
        [
            proof.groups.join(", "),
            evidence,
            effect,
            interval,
            proof.outcome.clone(),
        ]
    };
    if proof.metrics.is_empty() {
        return vec![row(proof.by.clone(), "-".to_owned(), "-".to_owned())];
    }
    proof
        .metrics
        .iter()
        .map(|metric| {
            row(
                metric.name.clone(),
                format!("{:.3}x", metric.ratio),
                format!("{:.3} to {:.3}", metric.ratio_low, metric.ratio_high),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_set_of_groups() {
        let proof = |groups: &[&str], outcome: &str| ProofRow {
            by: "emulated-path".to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            outcome: outcome.to_owned(),
            sentence: String::new(),
            metrics: Vec::new(),
        };
        assert_eq!(
            table(&[
                proof(&["tcp-buffers", "congestion"], "keep"),
                proof(&["congestion"], "keep")
            ]),
            "groups                   evidence       effect  95 % interval  verdict\n\
             tcp-buffers, congestion  emulated-path  -       -              keep\n\
             congestion               emulated-path  -       -              keep\n"
        );
    }
}
