//! One trial: plan, measure stock, apply, measure again, decide, and keep it or take it back.
//!
//! The order is the promise: the attempt is counted and on disk before the first write; every write has its undo in
//! the journal before it; whatever goes wrong ends in [`take_back`], which reads the host before it says a word.

use super::context::Context;
use super::look::{self, Look};
use super::run::End;
use crate::checks;
use crate::door::Doors;
use crate::events;
use crate::measure::{self, Budget, Deadline, EmulatedPath, Measure, Run, RunError, Step};
use crate::notify;
use crate::trial::files;
use crate::trial::{ApplyReport, JOURNAL_PATH, RollbackReport, Transaction};
use dtnforge_profiles::decide::{Decision, Limits};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::measure::Arm;
use dtnforge_profiles::plan::{self, Held, Plan};
use dtnforge_profiles::render;
use dtnforge_profiles::site::Unproved;
use dtnforge_profiles::state::{Commit, Rejection, State};
use dtnforge_profiles::verdict::{Check, GroupEvidence, Outcome, VERDICT_SCHEMA, Verdict};
use log::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time to find out what the emulated path carries.
const PREPARE_LIMIT: Duration = Duration::from_secs(120);

/// Why a trial is taken back.
#[derive(Debug, thiserror::Error)]
pub(super) enum Because {
    /// It speaks against the profile: a refused value, harm, a check that failed.
    #[error("{0}")]
    Rejects(String),
    /// It says nothing about the profile: somebody stopped us, a tool failed. A later boot may try again, as often as
    /// attempts are left.
    #[error("{0}")]
    SaysNothing(String),
}

/// What the proof of one plan gave: what the journal of the trial cannot hold.
struct Proof {
    /// What was measured and by which measurement; `None` where nothing was ([`unmeasured`]).
    measured: Option<(String, Decision)>,
    checks: Vec<Check>,
    /// The plan without what drivers took and ignored.
    plan: Plan,
}

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
    let mut path = EmulatedPath::new(&context.host);
    // A plan that the emulated path cannot speak for is not made to wait for it.
    let measurable = if needs_path(&whole) {
        notify::progress("measuring what the emulated path carries", PREPARE_LIMIT * 2);
        path.prepare(Deadline::after(PREPARE_LIMIT)).map(|()| true)
    } else {
        Ok(false)
    };
    let evidence = available(matches!(measurable, Ok(true)));
    let Held {
        plan,
        unproved: groups,
    } = plan::hold(whole, &evidence, look.site.unproved);
    if plan.steps.is_empty() {
        clean(context, &mut path);
        let why = format!("{name} asks for nothing that this host does not have already or may have");
        return give_up(context, previous, &why);
    }
    if let Err(why) = &measurable {
        if look.site.unproved == Unproved::Hold {
            clean(context, &mut path);
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
            clean(context, &mut path);
            return give_up(context, previous, &format!("{name} could not be tried: {error}"));
        }
    };
    let proved = prove(
        context,
        look,
        &plan,
        &mut transaction,
        matches!(measurable, Ok(true)).then_some(&mut path),
    );
    clean(context, &mut path);
    match proved.map(|proof| conclude(&groups, proof)) {
        Ok((plan, verdict)) if verdict.outcome == Outcome::Keep => {
            keep(context, look, plan, verdict, transaction)
        }
        Ok((_, verdict)) => {
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

/// Whether the emulated path can speak for anything in the plan.
fn needs_path(plan: &Plan) -> bool {
    let by_path = |group: &Group| group.evidence() == EvidenceKind::EmulatedPath;
    plan.groups().iter().any(by_path)
}

fn available(measurable: bool) -> BTreeSet<EvidenceKind> {
    let mut kinds = BTreeSet::from([EvidenceKind::ReadBack]);
    if measurable {
        kinds.insert(EvidenceKind::EmulatedPath);
    }
    kinds
}

/// Measures and checks with the plan live. Ends with the plan live, or with an error that names what failed.
fn prove(
    context: &Context,
    look: &Look,
    plan: &Plan,
    transaction: &mut Transaction<'_>,
    path: Option<&mut EmulatedPath>,
) -> Result<Proof, Because> {
    let name = &look.chosen.profile.name;
    let before = checks::observe(&context.host, &look.conclusions);
    let mut applied = false;
    let mut ignored = Vec::new();
    let mut switch = |arm: Arm, exercised: &[Group]| -> Result<(), Because> {
        if notify::stop_asked() {
            return Err(Because::SaysNothing(
                "stopped while the trial was live".to_owned(),
            ));
        }
        notify::progress(&format!("trial of {name}: {arm:?}"), Duration::from_secs(180));
        match (arm, applied) {
            (Arm::Ours, false) => {
                applied = true;
                place(transaction, plan)?;
                let report = transaction.apply(plan);
                ignored.extend(report.ignored.iter().cloned());
                done(&report)?;
                context.console(&format!("trial of {name} is live, {} knobs", plan.steps.len()));
                Ok(())
            }
            (Arm::Ours, true) => done(&transaction.apply_groups(plan, exercised)),
            (_, false) => Ok(()),
            (_, true) => back(&transaction.undo_groups(exercised)),
        }
    };
    let measured = match path {
        Some(path) => {
            let info = path.info();
            let budget = Budget::seconds(look.site.budget_s);
            let mut tell = |progress: &measure::Progress<'_>| tell_round(context, name, progress);
            let run: Run = measure::run_pairs(
                path,
                &mut |arm| switch(arm, &info.exercises),
                &budget,
                &limits(look),
                &mut tell,
            )
            .map_err(|error| match error {
                RunError::Switch(because) => because,
                other => Because::SaysNothing(other.to_string()),
            })?;
            // The last round may have been one as found: what is checked and kept is ours.
            switch(Arm::Ours, &info.exercises)?;
            Some((info.id, run.decision))
        }
        None => {
            switch(Arm::Ours, &[])?;
            None
        }
    };
    let plan = what_stays(transaction, plan, &ignored)?;
    let after = checks::observe_again(&context.host, &look.conclusions, &before);
    Ok(Proof {
        measured,
        checks: checks::compare(&before, &after),
        plan,
    })
}

/// Files, then values, then a look at each: what an admin's trial does without measuring.
pub(super) fn apply_whole(
    transaction: &mut Transaction<'_>,
    plan: &Plan,
) -> Result<(ApplyReport, Plan), Because> {
    place(transaction, plan)?;
    let report = transaction.apply(plan);
    done(&report)?;
    let plan = what_stays(transaction, plan, &report.ignored)?;
    Ok((report, plan))
}

/// The plan without what drivers took and ignored, all of it read back.
fn what_stays(transaction: &mut Transaction<'_>, plan: &Plan, ignored: &[KnobId]) -> Result<Plan, Because> {
    let plan = plan.clone().without_knobs(
        ignored,
        "the driver takes the value without an error and keeps the old one",
    );
    if !ignored.is_empty() {
        place(transaction, &plan)?;
    }
    let mismatches = transaction.verify(&plan);
    match mismatches.first() {
        None => Ok(plan),
        Some(first) => {
            let (wrong, all) = (mismatches.len(), plan.steps.len());
            Err(Because::Rejects(format!(
                "{wrong} of {all} knobs do not read back: {first}"
            )))
        }
    }
}

/// Puts the plan's files under `/run`, where udev, sysctl and tuned look.
fn place(transaction: &mut Transaction<'_>, plan: &Plan) -> Result<(), Because> {
    let native = render::files(plan)
        .map_err(|error| Because::Rejects(format!("the plan cannot be rendered: {error}")))?;
    let files: Vec<(String, String)> = native.into_iter().map(|file| (file.path, file.text)).collect();
    transaction
        .place(plan, &files)
        .map_err(|error| Because::SaysNothing(format!("its files could not be placed: {error}")))
}

fn done(report: &ApplyReport) -> Result<(), Because> {
    match &report.stopped {
        None => Ok(()),
        Some(stopped) => Err(Because::Rejects(format!("applying stopped: {stopped}"))),
    }
}

fn back(report: &RollbackReport) -> Result<(), Because> {
    if report.verified() {
        Ok(())
    } else {
        let problems = report.problems().join(", ");
        Err(Because::Rejects(format!("switching back failed: {problems}")))
    }
}

fn limits(look: &Look) -> Limits {
    Limits {
        throughput: look.site.throughput_limit,
        ..Limits::default()
    }
}

/// A line in the journal for each round, so that a trial can be followed.
fn tell_round(context: &Context, name: &str, progress: &measure::Progress<'_>) {
    let level = match progress.step {
        Step::Begins => Level::Debug,
        Step::Measured(_) => Level::Info,
        Step::TriedAgain(_) => Level::Warn,
    };
    context.tell(level, events::ROUND_ENDED, name, &progress.to_string());
}

/// Removes what the measurement built. What cannot be removed is said, and removed by the next run.
fn clean(context: &Context, path: &mut EmulatedPath) {
    if let Err(error) = path.cleanup() {
        context.tell(
            Level::Warn,
            events::ROUND_ENDED,
            "",
            &format!("the measurement left something behind: {error}"),
        );
    }
}

/// The decision where nothing was measured: the plan has nothing that the emulated path could speak for, or the path
/// could not be built and the site applies unproved groups.
fn unmeasured(plan: &Plan) -> Decision {
    let sentence = if needs_path(plan) {
        "kept unproved, as the site wants it: nothing was measured, all knobs read back"
    } else {
        "kept: nothing in it can be measured inside this node, all knobs read back"
    };
    Decision {
        outcome: Outcome::Keep,
        sentence: sentence.to_owned(),
        metrics: Vec::new(),
    }
}

/// The verdict, and the plan that it is about.
fn conclude(groups: &BTreeMap<Group, GroupEvidence>, proof: Proof) -> (Plan, Verdict) {
    let plan = proof.plan;
    let mut groups = groups.clone();
    groups.retain(|group, evidence| {
        plan.groups().contains(group) || matches!(evidence, GroupEvidence::Unproved { applied: false, .. })
    });
    for group in plan.groups() {
        let evidence = match &proof.measured {
            Some((by, _)) if group.evidence() == EvidenceKind::EmulatedPath => {
                GroupEvidence::Measured { by: by.clone() }
            }
            _ => GroupEvidence::ReadBack,
        };
        // A group that is unproved stays so: reading it back does not speak for it.
        groups.entry(group).or_insert(evidence);
    }
    let mut decision = proof
        .measured
        .map_or_else(|| unmeasured(&plan), |(_, decision)| decision);
    // A node that cannot be reached any more is no better for being faster.
    if let Some(failed) = proof.checks.iter().find(|check| check.required && !check.ok) {
        decision.outcome = Outcome::Revert;
        decision.sentence = format!("reverted: check {} failed: {}", failed.name, failed.detail);
    }
    let verdict = Verdict {
        schema: VERDICT_SCHEMA,
        outcome: decision.outcome,
        sentence: decision.sentence,
        metrics: decision.metrics,
        groups,
        checks: proof.checks,
    };
    (plan, verdict)
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
        if let Err(error) = context.enter(State::RollbackUnverified { what }, &sentence) {
            context.tell(Level::Error, events::STATE_ENTERED, &name, &error.to_string());
        }
        context.tell(Level::Error, events::ROLLED_BACK, &name, &sentence);
        return Ok(End {
            reboot: true,
            ..End::with(Exit::RollbackUnverified, sentence)
        });
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
