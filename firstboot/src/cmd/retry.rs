//! `dtn-firstboot retry`.

use crate::boot::{self, Mode, counter};
use crate::flow::Context;
use crate::host::Host;
use crate::{detect, motd, store};
use anyhow::{Context as _, bail};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;

/// Forgets a rejection, a fallback and the attempts, so that the next boot tries again, and gives the tuned entry all
/// its tries. A commit is not touched.
///
/// # Errors
/// When the lock is taken, the node is held, the counter cannot be armed after a fallback, or the state cannot be
/// stored.
pub fn run(host: Host) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    let mut context = Context::open(host);
    let fell_back = matches!(context.file.state, State::Fallback(_));
    let next = next(&context.host, &context.file.state)?;
    let armed = match counter::arm(&context.host) {
        Ok(entry) => Some(entry),
        // Without the counter the boot loader goes on with the stock entry: nothing would have been done.
        Err(error) if fell_back => {
            return Err(error).context("the tuned entry cannot be given its tries back; nothing was changed");
        }
        // A host of another kind has no counter; on an image of ours the next trial says what is wrong with it.
        Err(error) => {
            if boot::words(&context.host).mode != Mode::Foreign {
                super::print(&format!("the boot counter could not be armed: {error}\n"))?;
            }
            None
        }
    };
    let boot = context.boot.clone();
    context.file.attempts.clear();
    context.change(|file| {
        if armed.is_some() {
            counter::note_armed(file, &boot, boot::now());
        }
        file.counting.retried = 0;
    })?;
    let why = if fell_back {
        "an admin said retry; reboot to boot the tuned entry"
    } else {
        "an admin said retry; the next boot, or `dtn-firstboot run`, tries again"
    };
    context.enter(next, why)?;
    motd::write(&context.host, &context.file);
    super::print(&format!("{why}\n"))?;
    Ok(Exit::Ok)
}

/// The state to go on with.
fn next(host: &Host, state: &State) -> anyhow::Result<State> {
    let stock = || State::Stock {
        why: "an admin said retry; nothing was tried since".to_owned(),
    };
    Ok(match state {
        State::Committed(_) => bail!("the node is committed, there is nothing to retry"),
        State::Held { .. } => bail!("the node is held\nhint: dtn-firstboot release"),
        State::Baseline { .. } | State::Trial { .. } => {
            bail!(
                "a trial is on disk\nhint: see `dtn-firstboot status`; the next run concludes what became of it"
            )
        }
        State::Fallback(fallback) => match &*fallback.former {
            committed @ State::Committed(_) => committed.clone(),
            former => next(host, former)?,
        },
        State::Rejected(rejection) => match &rejection.previous {
            // A commit for other hardware would only be rejected once more.
            Some(commit) if commit.plan.fingerprint == detect::detect(host).fingerprint() => {
                State::Committed(commit.clone())
            }
            _ => stock(),
        },
        State::Stock { .. } | State::RollbackUnverified { .. } => stock(),
    })
}
