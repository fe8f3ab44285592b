//! `dtn-firstboot retry`.

use crate::flow::Context;
use crate::host::Host;
use crate::store;
use anyhow::bail;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;

/// Forgets a rejection and the attempts, so that the next run tries again. A commit is not touched.
///
/// # Errors
/// When the lock is taken, the node is held, or the state cannot be stored.
pub fn run(host: Host) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    let mut context = Context::open(host);
    let why = "an admin said retry; the next boot, or `dtn-firstboot run`, tries again";
    let next = match &context.file.state {
        State::Committed(_) => bail!("the node is committed, there is nothing to retry"),
        State::Held { .. } => bail!("the node is held\nhint: dtn-firstboot release"),
        State::Baseline { .. } | State::Trial { .. } => {
            bail!(
                "a trial is on disk\nhint: see `dtn-firstboot status`; the next run concludes what became of it"
            )
        }
        State::Fallback(fallback) => bail!("{}", fallback.reason),
        State::Rejected(rejection) => match &rejection.previous {
            Some(commit) => State::Committed(commit.clone()),
            None => State::Stock { why: why.to_owned() },
        },
        State::Stock { .. } | State::RollbackUnverified { .. } => State::Stock { why: why.to_owned() },
    };
    context.file.attempts.clear();
    context.enter(next, why)?;
    super::print(&format!("{why}\n"))?;
    Ok(Exit::Ok)
}
