//! `dtn-firstboot hold` and `release`.

use crate::flow::Context;
use crate::host::Host;
use crate::store;
use anyhow::bail;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;

/// Stops the agent from doing anything, from the next boot on. What is live stays live until then.
///
/// # Errors
/// When the lock is taken, a trial is on disk, or the state cannot be stored.
pub fn hold(host: Host) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    let mut context = Context::open(host);
    match context.file.state.clone() {
        State::Held { .. } => {
            super::print("held already\n")?;
            return Ok(Exit::Ok);
        }
        State::Baseline { .. } | State::Trial { .. } => {
            bail!("a trial is on disk\nhint: dtn-firstboot rollback")
        }
        previous => {
            context.enter(
                State::Held {
                    previous: Box::new(previous),
                },
                "an admin said hold",
            )?;
        }
    }
    super::print("held: stock from the next boot on, until `dtn-firstboot release`\n")?;
    Ok(Exit::Ok)
}

/// Ends a hold; the state before it is back.
///
/// # Errors
/// When the lock is taken, or the state cannot be stored.
pub fn release(host: Host) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    let mut context = Context::open(host);
    let State::Held { previous } = context.file.state.clone() else {
        super::print("not held\n")?;
        return Ok(Exit::Ok);
    };
    let name = previous.name();
    context.enter(*previous, "an admin said release")?;
    super::print(&format!(
        "released: {name}; effective from the next boot or `dtn-firstboot run`\n"
    ))?;
    Ok(Exit::Ok)
}
