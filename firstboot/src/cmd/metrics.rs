//! `dtn-firstboot metrics`.

use crate::host::Host;
use crate::metrics;
use anyhow::Context as _;
use dtnforge_profiles::envelope::Exit;
use std::path::PathBuf;

/// Show this node as Prometheus text, for node_exporter's textfile collector.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The file is also written at the end of each run, to `metrics_dir` of site.toml (default \
/var/lib/prometheus/node-exporter) where there is such a directory.\n\
Example: dtn-firstboot metrics --out /var/lib/node_exporter/textfile_collector/dtnforge.prom"
)]
pub struct Args {
    /// Replace this file as a whole instead of printing; its name should end in `.prom`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Prints or writes the metrics. Changes no value.
///
/// # Errors
/// When the file or standard output cannot be written.
pub fn run(host: &Host, args: &Args) -> anyhow::Result<Exit> {
    let text = metrics::text(host);
    match &args.out {
        Some(path) => metrics::write(path, &text).context("no metrics")?,
        None => super::print(&text)?,
    }
    Ok(Exit::Ok)
}
