//! Whether an admin's trial may begin now.

use super::{Ended, notice};
use crate::boot::{self, Mode};
use crate::early;
use crate::events;
use crate::flow::context::Context;
use crate::flow::leftover::{self, Leftover};
use anyhow::bail;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;
use log::Level;

/// Ends what a dead process left, and returns the end of the command where nothing may be tried.
///
/// # Errors
/// Why nothing may be tried, with a hint.
pub(super) fn check(context: &mut Context) -> anyhow::Result<Option<Ended>> {
    let words = boot::words(&context.host);
    if words.hold {
        return Ok(Some(held(
            context,
            "dtn-firstboot.hold is on the kernel command line",
        )));
    }
    if matches!(context.file.state, State::Held { .. }) {
        return Ok(Some(held(
            context,
            "an admin said `dtn-firstboot hold`; hint: dtn-firstboot release",
        )));
    }
    if words.mode == Mode::Stock {
        bail!("the stock entry was booted, which never tunes\nhint: boot the tuned entry");
    }
    if let Some(window) = super::live(&context.host, &context.file.state, &context.boot_id) {
        bail!(
            "{}\nhint: one trial at a time: dtn-firstboot commit, or dtn-firstboot rollback",
            notice(&window)
        );
    }
    end_the_dead(context)?;
    match &context.file.state {
        State::RollbackUnverified { what } => bail!(
            "a rollback could not be verified: {}\nhint: reboot, then dtn-firstboot retry",
            what.join(", ")
        ),
        State::Fallback(fallback) => bail!("{}\nhint: dtn-firstboot retry", fallback.reason),
        State::Committed(commit) if in_place(context) => bail!(
            "{} is committed and live: a plan made over its values would leave them out\n\
             hint: take it out first: dtn-firstboot rollback",
            commit.profile
        ),
        _ if in_place(context) => bail!(
            "values of a former commit are live in this boot: a plan made over them would leave them out\n\
             hint: reboot, then try"
        ),
        _ => Ok(None),
    }
}

fn held(context: &Context, why: &str) -> Ended {
    Ended::with(context, Exit::Held, format!("held: {why}"))
}

/// Whether values of a commit are live in this boot.
pub(super) fn in_place(context: &Context) -> bool {
    early::live(&context.host, &context.file.state, &context.boot_id)
}

/// Takes back what a dead process of this boot left, and stores what became of its attempt.
pub(super) fn end_the_dead(context: &mut Context) -> anyhow::Result<()> {
    let before = context.file.state.clone();
    let left = leftover::end(&context.host, &before, &context.boot_id);
    let told = left.sentence();
    if let Some(sentence) = &told {
        context.tell(Level::Warn, events::ROLLED_BACK, "", sentence);
    }
    if let Leftover::NotAsBefore(what) = left {
        let sentence = told.unwrap_or_default();
        return Ok(context.enter(State::RollbackUnverified { what }, &sentence)?);
    }
    if let (Some(sentence), State::RollbackUnverified { .. }) = (&told, &context.file.state) {
        // What could not be taken back before was taken back now, and read.
        let why = sentence.clone();
        return Ok(context.enter(State::Stock { why: why.clone() }, &why)?);
    }
    if let Some(why) = context.file.state.conclude_dead_attempt() {
        let state = context.file.state.clone();
        context.enter(state, &why)?;
    }
    Ok(())
}
