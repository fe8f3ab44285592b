//! One trial: plan, measure stock, apply, measure again, decide, and keep it or take it back.
//!
//! The order is the promise: the attempt is counted and on disk before the first write; every write has its undo in
//! the journal before it; whatever goes wrong ends in [`take_back`], which reads the host before it says a word.

pub(super) use super::because::Because;
use super::context::Context;
use super::look::{self, Look};
use super::prove::{self, Rules};
use super::run::End;
use super::stations::Stations;
use crate::door::Doors;
use crate::early;
use crate::events;
use crate::measure::{Progress, Step};
use crate::notify;
use crate::trial::files;
use crate::trial::{ApplyReport, JOURNAL_PATH, Transaction};
use dtnforge_profiles::decide::Limits;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::plan::{self, Held, Plan};
use dtnforge_profiles::site::{Role, Unproved};
use dtnforge_profiles::state::{Commit, Rejection, State};
use dtnforge_profiles::verdict::{Outcome, Verdict};
use log::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Tries the chosen profile.
///
/// # Errors
/// When the state cannot be stored before anything was changed.
pub(super) fn attempt(context: &mut Context, look: &Look) -> anyhow::Result<End> {
    let doors = Doors::new(&context.host);
    let name = look.chosen.profile.name.clone();
    let layer = look.chosen.layer.clone();
    let previous = context.file.state.commit().cloned().map(Box::new);
    let baseline = State::Baseline {
        boot_id: context.boot_id.clone(),
        layer: layer.clone(),
        previous: previous.clone(),
    };
    context.enter(baseline, &look.chosen.why)?;

    let whole = look.plan(&context.host, &doors);
    let mut stations = Stations::of(&context.host, look, &whole);
    let Held {
        plan,
        unproved: groups,
    } = plan::hold(whole, &stations.speak_for(), look.site.unproved);
    if plan.steps.is_empty() {
        stations.clean();
        let why = format!("{name} asks for nothing that this host does not have already or may have");
        return give_up(context, previous, &why);
    }
    if let Some(why) = stations.without_path.take() {
        if look.site.unproved == Unproved::Hold {
            stations.clean();
            return give_up(context, previous, &format!("{name} could not be proved: {why}"));
        }
        context.tell(
            Level::Warn,
            events::TRIAL_BEGAN,
            &name,
            &format!("no measured evidence: {why}"),
        );
    }

    *context.file.attempts.entry(layer.clone()).or_insert(0) += 1;
    let trial = State::Trial {
        boot_id: context.boot_id.clone(),
        layer: layer.clone(),
        profile: name.clone(),
        plan: plan.digest()?,
        previous: previous.clone(),
        former: None,
    };
    context.enter(
        trial,
        &format!("{} knobs in {} groups", plan.steps.len(), plan.groups().len()),
    )?;

    // The transaction borrows a host of its own, so that the context can enter states while it lives.
    let host = context.host.clone();
    let mut transaction = match Transaction::begin(&host, &doors, &host.path(JOURNAL_PATH)) {
        Ok(transaction) => transaction,
        Err(error) => {
            stations.clean();
            return give_up(context, previous, &format!("{name} could not be tried: {error}"));
        }
    };
    let proved = {
        let mut tell = |progress: &Progress<'_>| tell_round(context, &name, progress);
        let said = format!("trial of {name} is live, {} knobs", plan.steps.len());
        let mut live = || context.console(&said);
        let mut rules = rules(look, &mut live, &mut tell);
        prove::prove(
            &host,
            &look.conclusions,
            &plan,
            &mut transaction,
            &mut stations.list,
            &mut rules,
        )
    };
    stations.clean();
    match proved.map(|proof| (prove::conclude(&groups, &proof), proof.plan)) {
        Ok((verdict, plan)) if verdict.outcome == Outcome::Keep => {
            keep(context, look, plan, verdict, transaction)
        }
        Ok((verdict, _)) => {
            let because = Because::Rejects(verdict.sentence.clone());
            take_back(context, look, because, Some(verdict), transaction, previous)
        }
        Err(because) => take_back(context, look, because, None, transaction, previous),
    }
}

/// Ends before anything was changed: the former commit stays, or the node is stock.
fn give_up(context: &mut Context, previous: Option<Box<Commit>>, why: &str) -> anyhow::Result<End> {
    let state = match previous {
        Some(commit) => State::Committed(commit),
        None => State::Stock { why: why.to_owned() },
    };
    let name = state.name();
    context.enter(state, why)?;
    Ok(End::with(Exit::Ok, format!("{name}: {why}")))
}

/// Files, then values, then a look at each: what an admin's trial does without measuring.
pub(super) fn apply_whole(
    transaction: &mut Transaction<'_>,
    plan: &Plan,
) -> Result<(ApplyReport, Plan), Because> {
    prove::place(transaction, plan)?;
    let report = transaction.apply(plan);
    prove::done(&report)?;
    let plan = prove::what_stays(transaction, plan, &report.ignored, false)?;
    Ok((report, plan))
}

/// How this site wants its measurements.
pub(super) fn rules<'a>(
    look: &Look,
    live: &'a mut dyn FnMut(),
    tell: &'a mut dyn FnMut(&Progress<'_>),
) -> Rules<'a> {
    let is_about_latency = matches!(look.site.role, Some(Role::Perfsonar | Role::RemoteProcessing));
    Rules {
        limits: Limits {
            throughput: look.site.throughput_limit,
            holds_rtt_under_load: is_about_latency,
            ..Limits::default()
        },
        unproved: look.site.unproved,
        budget_s: look.site.budget_s,
        each: false,
        live,
        tell,
    }
}

/// A line in the journal for each round, so that a trial can be followed.
pub(super) fn tell_round(context: &Context, name: &str, progress: &Progress<'_>) {
    let level = match progress.step {
        Step::Begins => Level::Debug,
        Step::Measured(_) => Level::Info,
        Step::TriedAgain(_) => Level::Warn,
    };
    context.tell(level, events::ROUND_ENDED, name, &progress.to_string());
}

fn keep(
    context: &mut Context,
    look: &Look,
    plan: Plan,
    verdict: Verdict,
    transaction: Transaction<'_>,
) -> anyhow::Result<End> {
    let sentence = verdict.sentence.clone();
    let name = look.chosen.profile.name.clone();
    let stock = transaction.ways_back(&plan);
    let commit = Commit {
        profile: name.clone(),
        layer: look.chosen.layer.clone(),
        pci: pci(look, &plan),
        plan,
        site: look::site_digest(&look.site),
        verdict,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        stock,
        proved_in_boot: None,
    };
    let previous = context.file.state.commit().cloned().map(Box::new);
    // Trials that ended well do not count against later ones of the same layer.
    let attempts = context.file.attempts.remove(&look.chosen.layer);
    if let Err(error) = context.enter(State::Committed(Box::new(commit)), &sentence) {
        context
            .file
            .attempts
            .extend(attempts.map(|count| (look.chosen.layer.clone(), count)));
        let because = Because::SaysNothing(format!("the commit could not be stored: {error}"));
        return take_back(context, look, because, None, transaction, previous);
    }
    // The files of the trial are those of the commit from here on; the journal has nothing left to take back.
    files::adopt(&context.host)?;
    transaction.finish()?;
    early::note_committed(&context.host, &context.boot_id);
    Ok(End::with(Exit::Ok, format!("committed {name}: {sentence}")))
}

/// The PCI devices of the plan's NICs.
pub(super) fn pci(look: &Look, plan: &Plan) -> BTreeMap<String, String> {
    let slots: BTreeSet<&str> = plan
        .steps
        .iter()
        .filter_map(|step| step.knob.device())
        .map(|device| device.bus_path())
        .collect();
    look.facts
        .nics
        .iter()
        .filter_map(|nic| Some((nic.pci_slot.clone()?, nic.pci_id.clone()?)))
        .filter(|(slot, _)| slots.contains(slot.as_str()))
        .collect()
}

fn take_back(
    context: &mut Context,
    look: &Look,
    because: Because,
    verdict: Option<Verdict>,
    mut transaction: Transaction<'_>,
    previous: Option<Box<Commit>>,
) -> anyhow::Result<End> {
    notify::progress("taking the trial back", Duration::from_secs(180));
    let name = look.chosen.profile.name.clone();
    let reason = because.to_string();
    let report = transaction.rollback();
    if !report.verified() {
        let what = report.problems();
        let sentence = format!(
            "{reason}; the rollback could not be verified: {}",
            what.join(", ")
        );
        return Ok(End::unverified(context, &name, what, sentence));
    }
    let count = report.undone.len();
    let sentence = format!("rolled back, {count} knobs read back as before");
    context.tell(Level::Info, events::ROLLED_BACK, &name, &sentence);
    if let Because::SaysNothing(why) = because {
        let end = give_up(context, previous, &format!("{name}: {why}; {sentence}"))?;
        transaction.finish()?;
        return Ok(end);
    }
    let rejection = Rejection {
        profile: name.clone(),
        layer: look.chosen.layer.clone(),
        site: look::site_digest(&look.site),
        reason: reason.clone(),
        verdict,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        previous,
    };
    context.enter(State::Rejected(Box::new(rejection)), &reason)?;
    transaction.finish()?;
    Ok(End::with(
        Exit::Rejected,
        format!("rejected {name}: {reason}; stock, {count} knobs read back as before"),
    ))
}
