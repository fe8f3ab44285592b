//! `commit`: keeps the trial that is live, after another look at it.

use super::begin::{old_sockets, refuse_where_a_commit_would_not_last};
use super::{Ended, live, record};
use crate::checks::{self, Known};
use crate::door::Doors;
use crate::early;
use crate::flow::context::Context;
use crate::flow::counted;
use crate::trial::{self, JOURNAL_PATH};
use anyhow::bail;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::{Commit, State};
use dtnforge_profiles::window::Report;

/// Commits what is tried. Every knob is read before: what differs from what was tried is not kept.
///
/// # Errors
/// When no trial is live, a commit would not last, the node has lost its network since, or the state cannot be stored.
/// The trial is then as it was.
pub fn keep(context: &mut Context) -> anyhow::Result<Ended> {
    let Some(window) = live(&context.host, &context.file.state, &context.boot_id) else {
        let state = context.file.state.name();
        bail!("no trial is live (state {state}), so there is nothing to commit\nhint: dtn-firstboot try");
    };
    refuse_where_a_commit_would_not_last(context)?;
    let host = context.host.clone();
    let plan = &window.commit.plan;
    let problems: Vec<String> = trial::verify(&Doors::new(&host), plan)
        .iter()
        .map(ToString::to_string)
        .collect();
    if !problems.is_empty() {
        let sentence = format!(
            "not committed: {} of {} knobs are not as they were tried, something else writes them",
            problems.len(),
            plan.steps.len()
        );
        let mut ended = Ended::with(context, Exit::Drift, sentence);
        ended.report.problems = problems;
        return Ok(ended);
    }
    let known = Known::of(&window.commit.verdict.checks);
    if let Some(lost) = known.lost(&checks::reach(&host, &known.ports())) {
        bail!("not committed: {lost}, and it was there before the trial\nhint: dtn-firstboot rollback");
    }
    let commit = Commit {
        at: Context::now(),
        ..window.commit
    };
    let (profile, sentence) = (commit.profile.clone(), commit.verdict.sentence.clone());
    let skipped = commit.plan.skipped.clone();
    // Trials that ended well do not count against later ones of the same layer.
    context.file.attempts.remove(&commit.layer);
    context.enter(State::Committed(Box::new(commit)), &sentence)?;
    trial::settle(&host, &host.path(JOURNAL_PATH))?;
    early::note_committed(&host, &context.boot_id);
    record::remove(&host)?;
    counted::finish(context);
    let report = Report {
        profile: Some(profile.clone()),
        skipped,
        needs_restart: old_sockets(&host),
        ..Ended::with(context, Exit::Ok, format!("committed {profile}: {sentence}")).report
    };
    Ok(Ended {
        exit: Exit::Ok,
        report,
    })
}
