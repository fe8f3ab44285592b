//! `dtn-firstboot recover`.

use crate::flow::leftover::{self, Leftover};
use crate::host::Host;
use crate::{boot, measure, store};
use dtnforge_profiles::envelope::Exit;

/// Takes back what a dead trial left behind. The state on disk stays as it is: the next run concludes from it that
/// the attempt died.
///
/// # Errors
/// When the lock is taken, or the journal cannot be read.
pub fn run(host: &Host) -> anyhow::Result<Exit> {
    let _lock = store::lock(host)?;
    measure::cleanup_leftovers(host)?;
    let left = leftover::end(host, &store::load(host).file.state, &boot::boot_id(host));
    super::print(&format!(
        "{}\n",
        left.sentence()
            .unwrap_or_else(|| "nothing to take back".to_owned())
    ))?;
    Ok(if matches!(left, Leftover::NotAsBefore(_)) {
        Exit::RollbackUnverified
    } else {
        Exit::Ok
    })
}
