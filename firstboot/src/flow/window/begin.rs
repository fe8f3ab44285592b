//! `try`: puts the plan of this host in for an admin, who then looks for himself.

use super::take_back::{self, Because};
use super::{Ended, admission, record, watch};
use crate::boot::{self, Mode};
use crate::checks;
use crate::door::Doors;
use crate::flow::attempt;
use crate::flow::context::Context;
use crate::flow::counted;
use crate::flow::look::{self, CARRIER_LIMIT, Look};
use crate::host::Host;
use crate::live;
use crate::notify;
use crate::sockets;
use crate::statefs;
use crate::trial::{JOURNAL_PATH, Transaction};
use anyhow::{Context as _, anyhow, bail};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::state::{Commit, State};
use dtnforge_profiles::verdict::{Check, GroupEvidence, Outcome, VERDICT_SCHEMA, Verdict};
use dtnforge_profiles::window::{Live, Phase, Report, WINDOW_SCHEMA, Window};
use std::collections::BTreeMap;
use std::time::Duration;

/// What an admin asks for.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Take it back unless somebody confirms within this time after the last write.
    pub confirm_within: Option<Duration>,
    /// Only these groups; empty: all that the profile has.
    pub groups: Vec<Group>,
    /// Measure, and keep it or take it back by the numbers, as the boot does.
    pub prove: bool,
}

/// What was put in.
struct Tried {
    plan: Plan,
    applied: Vec<Live>,
    checks: Vec<Check>,
}

/// Puts the plan in and leaves it there, or takes it back where something failed.
///
/// # Errors
/// Why nothing was tried; nothing was changed then.
pub fn begin(context: &mut Context, wish: &Wish) -> anyhow::Result<Ended> {
    if let Some(ended) = admission::check(context)? {
        return Ok(ended);
    }
    let look = look::look(&context.host, CARRIER_LIMIT).map_err(|why| anyhow!("nothing to try: {why}"))?;
    if wish.prove {
        return prove(context, &look);
    }
    let host = context.host.clone();
    let doors = Doors::new(&host);
    let plan = narrowed(&host, look.plan(&host, &doors), &wish.groups);
    if plan.steps.is_empty() {
        let sentence = format!(
            "{} asks for nothing that this host does not have already",
            plan.profile
        );
        let mut ended = Ended::with(context, Exit::Ok, sentence);
        ended.report.skipped = plan.skipped;
        return Ok(ended);
    }
    open(context, &look, &plan)?;
    let mut transaction = match arm(context, &host, &doors) {
        Ok(transaction) => transaction,
        Err(error) => {
            take_back::close(context, "the trial could not begin: nothing was written")?;
            return Err(error);
        }
    };
    match put_in(context, &look, &plan, &mut transaction) {
        Ok(tried) => stay(context, &look, wish, tried, &transaction),
        Err(because) => take_back::failed(context, &because, transaction),
    }
}

/// The trial as the boot does it: measured, and kept or taken back by the numbers.
fn prove(context: &mut Context, look: &Look) -> anyhow::Result<Ended> {
    refuse_where_a_commit_would_not_last(context)?;
    let end = attempt::attempt(context, look)?;
    counted::finish(context);
    let report = Report {
        profile: Some(look.chosen.profile.name.clone()),
        ..Ended::with(context, end.exit, end.sentence).report
    };
    Ok(Ended {
        exit: end.exit,
        report,
    })
}

/// # Errors
/// Why a commit would be gone at the next boot, or never be put in place.
pub(super) fn refuse_where_a_commit_would_not_last(context: &Context) -> anyhow::Result<()> {
    if boot::words(&context.host).mode == Mode::Tuned
        && let Some(fault) = statefs::fault(&context.host)
    {
        bail!("{fault}: a commit would be gone with this boot");
    }
    counted::could_be_counted(context).map_err(|why| anyhow!("{why}"))
}

/// The plan without the groups that were not asked for, and without what is not written on a running host.
fn narrowed(host: &Host, plan: Plan, groups: &[Group]) -> Plan {
    let unwanted = |group: &Group| !groups.is_empty() && !groups.contains(group);
    let left_out: BTreeMap<Group, String> = plan
        .groups()
        .into_iter()
        .filter(unwanted)
        .map(|group| (group, "not among the groups that were asked for".to_owned()))
        .collect();
    let plan = plan.without(&left_out);
    let forbidden: Vec<(KnobId, String)> = plan
        .steps
        .iter()
        .filter_map(|step| {
            Some((
                step.knob.clone(),
                live::forbidden(host, &step.knob, step.disrupts)?,
            ))
        })
        .collect();
    forbidden.into_iter().fold(plan, |plan, (knob, why)| {
        plan.without_knobs(&[knob], &format!("{why}: it waits for a boot"))
    })
}

/// The record and the state, both on disk before anything else.
fn open(context: &mut Context, look: &Look, plan: &Plan) -> anyhow::Result<()> {
    let former = context.file.state.clone();
    let window = Window {
        schema: WINDOW_SCHEMA,
        phase: Phase::Applying,
        until: None,
        commit: draft(context, look, plan.clone(), Vec::new()),
    };
    record::write(&context.host, &window)?;
    let state = State::Trial {
        boot_id: context.boot_id.clone(),
        layer: look.chosen.layer.clone(),
        profile: plan.profile.clone(),
        plan: plan.digest()?,
        previous: former.commit().cloned().map(Box::new),
        former: Some(Box::new(former)),
    };
    let what = format!(
        "an admin tries {} knobs in {} groups",
        plan.steps.len(),
        plan.groups().len()
    );
    Ok(context.enter(state, &what)?)
}

/// The watcher, then the journal: after this the first value may be written.
fn arm<'a>(context: &Context, host: &'a Host, doors: &'a Doors) -> anyhow::Result<Transaction<'a>> {
    watch::start(&context.host)
        .context("nothing would take the trial back if this command died or nobody confirmed")?;
    Ok(Transaction::begin(host, doors, &host.path(JOURNAL_PATH))?)
}

/// Applies, reads back and checks that the node can still be reached.
fn put_in(
    context: &Context,
    look: &Look,
    plan: &Plan,
    transaction: &mut Transaction<'_>,
) -> Result<Tried, Because> {
    let before = checks::observe(&context.host, &look.conclusions);
    let (report, plan) = attempt::apply_whole(transaction, plan)?;
    if notify::stop_asked() {
        return Err(Because::SaysNothing("stopped while it was applied".to_owned()));
    }
    let after = checks::observe_again(&context.host, &look.conclusions, &before);
    let checks = checks::compare(&before, &after);
    if let Some(failed) = checks.iter().find(|check| check.required && !check.ok) {
        let why = format!("check {} failed: {}", failed.name, failed.detail);
        return Err(Because::Rejects(why));
    }
    let applied = report.applied.into_iter().map(|step| Live {
        asked: (step.now != step.wanted).then_some(step.wanted),
        knob: step.knob,
        now: step.now,
    });
    Ok(Tried {
        plan,
        applied: applied.collect(),
        checks,
    })
}

/// The values stay: the record says so, with what `commit` keeps.
fn stay(
    context: &mut Context,
    look: &Look,
    wish: &Wish,
    tried: Tried,
    transaction: &Transaction<'_>,
) -> anyhow::Result<Ended> {
    let Tried {
        plan,
        applied,
        checks,
    } = tried;
    let within = wish.confirm_within;
    let stock = transaction.ways_back(&plan);
    let commit = Commit {
        stock,
        ..draft(context, look, plan, checks.clone())
    };
    let window = Window {
        schema: WINDOW_SCHEMA,
        phase: Phase::Live,
        until: within.map(|within| record::since_start().saturating_add(within.as_secs())),
        commit,
    };
    if let Err(error) = record::write(&context.host, &window) {
        // The watcher finds a trial whose command has ended, and takes it back.
        bail!("{error}; the trial is being taken back");
    }
    let commit = window.commit;
    let sentence = format!(
        "trial of {} is live and not committed: {} knobs read back, {} checks passed",
        commit.profile,
        commit.plan.steps.len(),
        checks.iter().filter(|check| check.ok).count()
    );
    context.console(&sentence);
    let report = Report {
        profile: Some(commit.profile),
        confirm_within_s: within.map(|within| within.as_secs()),
        applied,
        skipped: commit.plan.skipped,
        checks,
        needs_restart: old_sockets(&context.host),
        ..Ended::with(context, Exit::Ok, sentence).report
    };
    Ok(Ended {
        exit: Exit::Ok,
        report,
    })
}

/// Listeners that stay on the old congestion control. That they cannot be listed is told and changes nothing.
pub(super) fn old_sockets(host: &Host) -> Vec<dtnforge_profiles::window::OldSocket> {
    sockets::on_old_settings(host).unwrap_or_else(|error| {
        log::warn!("{error}");
        Vec::new()
    })
}

/// What `commit` would keep, as far as it is known before the first write.
fn draft(context: &Context, look: &Look, plan: Plan, checks: Vec<Check>) -> Commit {
    Commit {
        profile: plan.profile.clone(),
        layer: look.chosen.layer.clone(),
        pci: attempt::pci(look, &plan),
        site: look::site_digest(&look.site),
        verdict: verdict(&plan, checks),
        plan,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        stock: BTreeMap::new(),
        proved_in_boot: None,
    }
}

/// What speaks for the plan: reading back, and an admin who kept it.
fn verdict(plan: &Plan, checks: Vec<Check>) -> Verdict {
    let evidence = |group: Group| match group.evidence() {
        EvidenceKind::ReadBack => GroupEvidence::ReadBack,
        needs => GroupEvidence::Unproved {
            needs,
            applied: true,
            why: "kept by an admin, who did not have it measured".to_owned(),
        },
    };
    let passed = checks.iter().filter(|check| check.ok).count();
    Verdict {
        schema: VERDICT_SCHEMA,
        outcome: Outcome::Keep,
        sentence: format!(
            "kept by an admin and not measured: {} knobs read back, {passed} of {} checks passed",
            plan.steps.len(),
            checks.len()
        ),
        metrics: Vec::new(),
        proofs: Vec::new(),
        groups: plan
            .groups()
            .into_iter()
            .map(|group| (group, evidence(group)))
            .collect(),
        checks,
    }
}
