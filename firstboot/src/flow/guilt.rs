//! A committed node that comes up without a network: is the commit guilty?
//!
//! The plan is taken out of the running system and put back, as the [experiment] says, while the node looks for its
//! network. A guilty commit is rejected and the node stays up, stock. Without a network in stock either, a cable is
//! out or a switch is down: the commit stays in place, the try of this boot is given back, and nothing reboots. Nobody
//! is blamed for what was missing already when the plan was committed.
//!
//! Through all of it the state on disk is the commit. A process that dies half-way leaves a journal that leads back to
//! the whole commit; only when the rejection is on disk does it lead to stock.

mod experiment;
mod plan_arms;
mod reach_of_plan;

use super::context::Context;
use super::run::{End, store_or_say};
use crate::boot::counter;
use crate::checks::{self, Known, Loss};
use crate::detect::{Clock, SystemClock};
use crate::door::Doors;
use crate::early;
use crate::events;
use crate::host::Host;
use crate::netdev;
use crate::notify;
use crate::trial::files;
use dtnforge_profiles::device::DeviceId;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::state::{Commit, Rejection, State};
use dtnforge_profiles::undo::Undo;
use experiment::{Outcome, Sight};
use log::Level;
use plan_arms::{PlanArms, Watch};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a network may take after the agent began before it is looked into: a switch port that does not forward
/// for its first 30 s, and then a lease.
const PATIENCE: Duration = Duration::from_secs(60);

/// Looks into a missing network, when a commit is in place that may be the cause. `None` when the run goes on as usual.
///
/// # Errors
/// When what the experiment left cannot be cleared away.
pub(super) fn look_into(context: &mut Context) -> anyhow::Result<Option<End>> {
    look_into_by(context, &SystemClock::default())
}

fn look_into_by(context: &mut Context, clock: &dyn Clock) -> anyhow::Result<Option<End>> {
    let Some(commit) = in_place(context).cloned() else {
        return Ok(None);
    };
    let host = context.host.clone();
    let known = known(context, &commit);
    let watch = Watch::new(&host, clock, &known);
    if watch.all_is_there() {
        return Ok(None);
    }
    notify::progress("looking for the network", PATIENCE * 2);
    let lost = match watch.look_for(PATIENCE) {
        Sight::Lost(lost) => lost,
        Sight::There | Sight::Stopped => return Ok(None),
    };
    let sentence =
        format!("no network with the commit in place: {lost}; taking it out to see whether it is the cause");
    context.tell(Level::Warn, events::ROLLED_BACK, &commit.profile, &sentence);
    context.console(&sentence);
    let doors = Doors::new(&host);
    let changed = reach_of_plan::changed(&host, &doors, &commit);
    let mut arms = PlanArms::new(&watch, &doors, &changed, &lost);
    let outcome = experiment::run(&mut arms);
    let knobs = arms.knobs();
    match outcome {
        Outcome::Guilty { with } => reject(context, &commit, &with, arms),
        Outcome::Unverified(what) => Ok(Some(unverified(context, &commit, what))),
        Outcome::CameBack { astray } => {
            let sentence =
                format!("the network was missing ({lost}) and came back by itself; the commit stays");
            context.tell(
                Level::Info,
                events::ROLLED_BACK,
                &commit.profile,
                &with_astray(&sentence, &astray),
            );
            Ok(None)
        }
        Outcome::NotGuilty { without, astray } => {
            let sentence = format!(
                "{}; tuning is not the cause: it is the same without it, all {knobs} knobs taken back",
                waiting(&without)
            );
            acquit(context);
            let end = stay_committed(context, &sentence, &astray);
            if without.is_of_the_network() {
                give_try_back(context);
            }
            Ok(Some(end))
        }
        Outcome::NotTried { why, astray } => {
            let waiting = waiting(&lost);
            let sentence = format!("{waiting}; whether tuning is the cause could not be tried: {why}");
            Ok(Some(stay_committed(context, &sentence, &astray)))
        }
        Outcome::Stopped { astray } => {
            let sentence = format!("stopped while it was looked into why there is no network: {lost}");
            Ok(Some(stay_committed(context, &sentence, &astray)))
        }
    }
}

/// The plan of a commit with all that it changed in this boot, and the way back of each knob.
pub(super) fn all_that_changed(
    host: &Host,
    doors: &Doors,
    commit: &Commit,
) -> (Plan, BTreeMap<KnobId, Undo>) {
    let reach_of_plan::Changed { plan, stock } = reach_of_plan::changed(host, doors, commit);
    (plan, stock)
}

/// What the node waits for.
fn waiting(lost: &Loss) -> String {
    let what = if lost.is_of_the_network() { "link" } else { "sshd" };
    format!("waiting for {what}: {lost}")
}

/// The commit that the early unit put in place in this boot. One that was committed in this boot was checked by its
/// trial.
pub(super) fn in_place(context: &Context) -> Option<&Commit> {
    let marker = early::read_marker(&context.host)?;
    let commit = context.file.state.commit()?;
    (marker.activated && marker.boot_id == context.boot_id && commit.boot_id != context.boot_id)
        .then_some(commit)
}

/// A run has ended. Without a network, and with nothing of ours in place that could be the cause, this boot's try is
/// given back: nobody can be blamed, and three dark mornings must not end in the stock entry.
pub(super) fn after(context: &Context) {
    if in_place(context).is_none() && checks::configured(&context.host).is_err() {
        give_try_back(context);
    }
}

fn give_try_back(context: &Context) {
    match counter::give_back(&context.host, &context.boot) {
        Ok(None) => {}
        Ok(Some(entry)) => {
            let sentence =
                format!("no network, and tuning is not the cause: this boot does not count ({entry})");
            context.tell(Level::Info, events::BOOT_RECORDED, "", &sentence);
        }
        Err(error) => {
            let sentence = format!("no network, and this boot's try could not be given back: {error}");
            context.tell(Level::Warn, events::BOOT_RECORDED, "", &sentence);
        }
    }
}

/// What was good when the plan was committed, with the names that the NICs have now.
fn known(context: &Context, commit: &Commit) -> Known {
    let renamed = commit.plan.interfaces.iter().filter_map(|(id, old)| {
        let id: DeviceId = id.parse().ok()?;
        Some((old.clone(), netdev::find(&context.host, &id)?))
    });
    Known::of(&commit.verdict.checks).renamed(&renamed.collect())
}

/// A guilty commit: the rejection is on disk before its files and its journal go. Where it cannot be stored the plan
/// stays out all the same, so that the node can be reached; the next boot has the commit again, and looks again.
fn reject(
    context: &mut Context,
    commit: &Commit,
    with: &Loss,
    arms: PlanArms<'_>,
) -> anyhow::Result<Option<End>> {
    let (profile, knobs) = (&commit.profile, arms.knobs());
    let reason = format!(
        "the node loses its network with {profile} in place ({with}), and has it without; seen twice"
    );
    let rejection = Rejection {
        profile: profile.clone(),
        layer: commit.layer.clone(),
        site: commit.site.clone(),
        reason: reason.clone(),
        verdict: None,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        previous: None,
    };
    let stored = context.enter(State::Rejected(Box::new(rejection)), &reason);
    files::adopt(&context.host)?;
    arms.finish()?;
    early::note_taken_out(&context.host, &context.boot_id);
    let taken_out = format!("taken out of the running system, {knobs} knobs read back as before the commit");
    context.tell(Level::Warn, events::ROLLED_BACK, profile, &taken_out);
    let sentence = format!("rejected {profile}: {reason}; stock, {knobs} knobs read back as before");
    let sentence = match stored {
        Ok(()) => sentence,
        Err(error) => format!("{sentence}; only in this boot, because it cannot be stored: {error}"),
    };
    Ok(Some(End::with(Exit::Rejected, sentence)))
}

/// What did not come out.
fn unverified(context: &mut Context, commit: &Commit, what: Vec<String>) -> End {
    let problems = what.join(", ");
    let sentence = format!(
        "{} was taken out because there is no network, and that could not be verified: {problems}",
        commit.profile
    );
    End::unverified(context, &commit.profile, what, sentence)
}

/// Notes that tuning is not the cause of what is missing: who judges this boot later is not to blame the commit.
fn acquit(context: &mut Context) {
    let boot = context.boot.clone();
    if let Err(error) = context.change(|file| file.boot_mut(&boot).acquitted = true) {
        context.tell(Level::Error, events::STATE_ENTERED, "", &error.to_string());
    }
}

/// The commit stays. The sentence goes into the history and the record of this boot.
fn stay_committed(context: &mut Context, sentence: &str, astray: &[String]) -> End {
    let sentence = with_astray(sentence, astray);
    store_or_say(context, &sentence);
    let noted = sentence.clone();
    let boot = context.boot.clone();
    if let Err(error) = context.change(|file| file.boot_mut(&boot).reason = Some(noted)) {
        context.tell(Level::Error, events::STATE_ENTERED, "", &error.to_string());
    }
    let exit = if astray.is_empty() { Exit::Ok } else { Exit::Drift };
    End::with(exit, format!("{}: {sentence}", context.file.state.name()))
}

fn with_astray(sentence: &str, astray: &[String]) -> String {
    match astray {
        [] => sentence.to_owned(),
        astray => format!("{sentence}; not as committed any more: {}", astray.join(", ")),
    }
}

#[cfg(test)]
mod tests;
