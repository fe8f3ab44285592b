//! What this node is, for node_exporter's textfile collector: `dtn-firstboot metrics`, and a file that is replaced
//! at the end of each run and of each command that changes something.
//!
//! The file is `dtnforge.prom` in the directory that the site names (`metrics_dir` in `site.toml`). Where there is no
//! such directory there is no node_exporter, and nothing is written. A daemon of ours would be the other way, and this
//! agent leaves none.

mod last_run;
mod render;

pub use last_run::{LastRun, read_last_run, write_last_run};
pub use render::{METRICS, render};

use crate::atomic::{self, WriteError};
use crate::door::Doors;
use crate::host::Host;
use crate::{detect, siteconf, status, store};
use std::path::Path;

/// The file that node_exporter reads.
pub const FILE: &str = "dtnforge.prom";

/// The metrics of this node now. Reads only.
pub fn text(host: &Host) -> String {
    let loaded = store::load(host);
    let facts = detect::detect(host);
    let status = status::build(host, &loaded, &Doors::new(host), &facts, Vec::new());
    let boot = loaded.file.boot(&status.boot.boot_id);
    let tries_left = status.boot_counter.left.or_else(|| boot?.tries_left);
    render(&status, read_last_run(host).as_ref(), tries_left)
}

/// Replaces the file as a whole, readable for all.
///
/// # Errors
/// When it cannot be written; the old one is then unchanged.
pub fn write(path: &Path, text: &str) -> Result<(), WriteError> {
    atomic::write(path, text.as_bytes(), 0o644)
}

/// Writes the metrics where the site wants them, when there is such a directory. What goes wrong is said and stops
/// nothing: a full disk of the monitoring is no reason to fail a run.
pub fn publish(host: &Host) {
    let directory = match siteconf::metrics_dir(host) {
        Ok(directory) => directory,
        Err(error) => {
            log::warn!("no metrics: {error}");
            return;
        }
    };
    if !directory.is_dir() {
        return;
    }
    if let Err(error) = write(&directory.join(FILE), &text(host)) {
        log::warn!("no metrics: {error}");
    }
}
