//! Taking an admin's trial back: by the command that failed, by `rollback`, or by the watcher.

pub(super) use crate::flow::attempt::Because;

use super::{Ended, begin, record};
use crate::door::Doors;
use crate::events;
use crate::flow::context::Context;
use crate::trial::{self, JOURNAL_PATH, RollbackReport, Transaction};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;
use dtnforge_profiles::window::{Live, Phase, Report};
use log::Level;

/// Takes back the trial that this process applied.
///
/// # Errors
/// When the state cannot be stored; the values are back all the same.
pub(super) fn failed(
    context: &mut Context,
    because: &Because,
    mut transaction: Transaction<'_>,
) -> anyhow::Result<Ended> {
    let report = transaction.rollback();
    let exit = match because {
        Because::Rejects(_) => Exit::Rejected,
        Because::SaysNothing(_) => Exit::Failed,
    };
    let verified = report.verified();
    let ended = settle(context, report, &because.to_string(), exit)?;
    if verified {
        transaction.finish()?;
    }
    Ok(ended)
}

/// Takes back the trial of a process that has ended, by its journal.
///
/// # Errors
/// When the journal cannot be read, or the state cannot be stored.
pub(super) fn by_journal(context: &mut Context, why: &str, exit: Exit) -> anyhow::Result<Ended> {
    if let Some(window) = record::read(&context.host).ok().flatten()
        && let Err(error) = record::enter(&context.host, &window, Phase::TakingBack)
    {
        // Without the mark a crash in here leaves a window that looks live, and whose values do not read back.
        log::warn!("{error}");
    }
    let host = context.host.clone();
    let report = trial::recover(&host, &Doors::new(&host), &host.path(JOURNAL_PATH))?;
    settle(context, report.unwrap_or_default(), why, exit)
}

/// Closes a window in which nothing was written.
///
/// # Errors
/// When the state cannot be stored.
pub(super) fn close(context: &mut Context, why: &str) -> anyhow::Result<()> {
    context.enter(former(&context.file.state), why)?;
    Ok(record::remove(&context.host)?)
}

fn former(state: &State) -> State {
    let mut state = state.clone();
    state.conclude_dead_attempt();
    state
}

/// The state that follows from what was read after the rollback.
fn settle(context: &mut Context, report: RollbackReport, why: &str, exit: Exit) -> anyhow::Result<Ended> {
    let profile = match &context.file.state {
        State::Trial { profile, .. } => profile.clone(),
        _ => String::new(),
    };
    let problems = report.problems();
    let undone: Vec<Live> = report
        .undone
        .iter()
        .map(|undone| Live {
            knob: undone.knob.clone(),
            asked: None,
            now: undone.now.clone(),
        })
        .collect();
    let told = if report.verified() {
        (
            Level::Info,
            format!("{} knobs read back as before the trial", undone.len()),
        )
    } else {
        (Level::Error, problems.join(", "))
    };
    context.tell(told.0, events::ROLLED_BACK, &profile, &told.1);
    let (exit, sentence) = if report.verified() {
        let sentence = format!(
            "rolled back {profile}: {why}; {} knobs read back as before",
            undone.len()
        );
        context.enter(former(&context.file.state), &sentence)?;
        (exit, sentence)
    } else {
        let sentence = format!(
            "{why}; the rollback of {profile} could not be verified: {}",
            problems.join(", ")
        );
        let what = problems.clone();
        context.enter(State::RollbackUnverified { what }, &sentence)?;
        (Exit::RollbackUnverified, sentence)
    };
    context.console(&sentence);
    record::remove(&context.host)?;
    let report = Report {
        profile: Some(profile),
        undone,
        problems,
        needs_restart: begin::old_sockets(&context.host),
        ..Ended::with(context, exit, sentence).report
    };
    Ok(Ended { exit, report })
}
