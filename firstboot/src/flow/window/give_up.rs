//! `rollback`: of a trial, by its journal; of a commit, by the ways back that it kept.
//!
//! A commit that an admin takes back is a rejection, so that the node does not try the same again by itself: another
//! layer, other decisions of the site or `retry` end it.

use super::{Ended, admission, begin, record_of, take_back};
use crate::door::Doors;
use crate::early;
use crate::events;
use crate::flow::context::Context;
use crate::flow::guilt;
use crate::trial::{self, RollbackReport, Transaction, WITHDRAWAL_PATH};
use anyhow::Context as _;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::{Commit, Rejection, State};
use dtnforge_profiles::window::{Live, Report};
use log::Level;

const BY_ADMIN: &str = "an admin said rollback";

/// Takes back what is live: a trial of an admin, what a dead process left, or the commit.
///
/// # Errors
/// When a journal cannot be read or made, or the state cannot be stored.
pub fn roll_back(context: &mut Context) -> anyhow::Result<Ended> {
    if matches!(context.file.state, State::Held { .. }) {
        let sentence = "held: an admin said `dtn-firstboot hold`; hint: dtn-firstboot release";
        return Ok(Ended::with(context, Exit::Held, sentence));
    }
    if record_of(&context.host, &context.file.state, &context.boot_id).is_some() {
        return take_back::by_journal(context, BY_ADMIN, Exit::Ok);
    }
    let before = context.file.state.clone();
    admission::end_the_dead(context)?;
    match context.file.state.clone() {
        State::Committed(commit) if admission::in_place(context) => give_up(context, *commit),
        State::Committed(commit) => forget(context, &commit),
        State::RollbackUnverified { what } => {
            let sentence = format!("what is live could not be taken back: {}", what.join(", "));
            let mut ended = Ended::with(context, Exit::RollbackUnverified, sentence);
            ended.report.problems = what;
            Ok(ended)
        }
        state => {
            let done = if state == before {
                "nothing of ours is live"
            } else {
                "what a dead trial had left was taken back and read"
            };
            Ok(Ended::with(
                context,
                Exit::Ok,
                format!("{}: {done}", state.name()),
            ))
        }
    }
}

/// A commit that is not in place in this boot: nothing is live, and no later boot puts it in place.
fn forget(context: &mut Context, commit: &Commit) -> anyhow::Result<Ended> {
    let reason = format!("{BY_ADMIN}; the commit was not in place in this boot");
    context.enter(rejected(context, commit, &reason), &reason)?;
    let sentence = format!(
        "rejected {}: {reason}, so no value was taken back",
        commit.profile
    );
    Ok(Ended::with(context, Exit::Ok, sentence))
}

/// Takes the values of a commit out of the running system.
fn give_up(context: &mut Context, commit: Commit) -> anyhow::Result<Ended> {
    let host = context.host.clone();
    let doors = Doors::new(&host);
    let (plan, stock) = guilt::all_that_changed(&host, &doors, &commit);
    let journal = host.path(WITHDRAWAL_PATH);
    let mut transaction = Transaction::begin(&host, &doors, &journal)?;
    let report = match transaction.withdraw(&plan, &stock) {
        Ok(report) => report,
        Err(error) => {
            let back = transaction.rollback();
            let problems = RollbackReport::problems(&back).join(", ");
            transaction.finish()?;
            return Err(error).with_context(|| {
                if problems.is_empty() {
                    "nothing was taken back, the commit is as it was".to_owned()
                } else {
                    format!("nothing was taken back; not as committed any more: {problems}")
                }
            });
        }
    };
    let problems = report.problems();
    let (state, exit, sentence) = if report.verified() {
        let sentence = format!(
            "rolled back {}: {BY_ADMIN}; stock, {} knobs read back as before the commit",
            commit.profile,
            report.undone.len()
        );
        (rejected(context, &commit, BY_ADMIN), Exit::Ok, sentence)
    } else {
        let sentence = format!(
            "{BY_ADMIN}, and the rollback of {} could not be verified: {}; hint: reboot, stock is what comes up",
            commit.profile,
            problems.join(", ")
        );
        let what = problems.clone();
        (
            State::RollbackUnverified { what },
            Exit::RollbackUnverified,
            sentence,
        )
    };
    let (level, read) = match exit {
        Exit::Ok => (Level::Warn, "every knob reads as before the commit".to_owned()),
        _ => (Level::Error, problems.join(", ")),
    };
    context.tell(level, events::ROLLED_BACK, &commit.profile, &read);
    // Until the state says so a crash leads back to the whole commit; from here on to stock.
    context.enter(state, &sentence)?;
    drop(transaction);
    trial::settle(&host, &journal)?;
    if exit == Exit::Ok {
        early::note_taken_out(&host, &context.boot_id);
    }
    context.console(&sentence);
    let undone = report.undone.into_iter().map(|undone| Live {
        knob: undone.knob,
        asked: None,
        now: undone.now,
    });
    let report = Report {
        profile: Some(commit.profile),
        undone: undone.collect(),
        problems,
        needs_restart: begin::old_sockets(&host),
        ..Ended::with(context, exit, sentence).report
    };
    Ok(Ended { exit, report })
}

fn rejected(context: &Context, commit: &Commit, reason: &str) -> State {
    State::Rejected(Box::new(Rejection {
        profile: commit.profile.clone(),
        layer: commit.layer.clone(),
        site: commit.site.clone(),
        reason: reason.to_owned(),
        verdict: None,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        previous: None,
    }))
}
