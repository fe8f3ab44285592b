//! `dtn-firstboot recover`.

use crate::door::Doors;
use crate::host::Host;
use crate::{measure, store, trial};
use dtnforge_profiles::envelope::Exit;

/// Takes back what a dead trial left behind. The state on disk stays as it is: the next run concludes from it that
/// the attempt died.
///
/// # Errors
/// When the lock is taken, or the journal cannot be read.
pub fn run(host: &Host) -> anyhow::Result<Exit> {
    let _lock = store::lock(host)?;
    measure::cleanup_leftovers(host)?;
    let Some(report) = trial::recover(host, &Doors::new(host), &host.path(trial::JOURNAL_PATH))? else {
        super::print("nothing to take back\n")?;
        return Ok(Exit::Ok);
    };
    for problem in report.problems() {
        super::print(&format!("not as before: {problem}\n"))?;
    }
    super::print(&format!("{} knobs taken back and read\n", report.undone.len()))?;
    Ok(if report.verified() {
        Exit::Ok
    } else {
        Exit::RollbackUnverified
    })
}
