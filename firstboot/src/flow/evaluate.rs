//! `evaluate`: the proof of a trial without its consequences. The plan is applied, measured and taken back; the state
//! of the node stays what it was. A crash in between is ended by the journal, like that of any trial.

use super::attempt;
use super::because::Because;
use super::context::Context;
use super::leftover::{self, Leftover};
use super::look::{self, CARRIER_LIMIT};
use super::prove;
use super::stations::Stations;
use crate::boot::{self, Mode};
use crate::door::Doors;
use crate::events;
use crate::measure::{self, Progress};
use crate::trial::{JOURNAL_PATH, Transaction};
use anyhow::{anyhow, bail};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::plan::{self, Held, Plan};
use dtnforge_profiles::state::State;
use dtnforge_profiles::verdict::{Outcome, VERDICT_SCHEMA, Verdict};
use log::Level;
use std::collections::BTreeMap;

/// What an evaluation gave.
#[derive(Debug)]
pub struct Evaluated {
    /// The plan that was applied.
    pub plan: Plan,
    /// What a trial would have concluded.
    pub verdict: Verdict,
    /// The exit code.
    pub exit: Exit,
    /// Whether everything is back, one sentence.
    pub end: String,
}

/// Measures the profile of this host, each group by itself where `each` says so, and takes everything back.
///
/// # Errors
/// Why nothing was evaluated. What was written by then is taken back.
pub fn evaluate(context: &mut Context, each: bool) -> anyhow::Result<Evaluated> {
    admit(context)?;
    let look =
        look::look(&context.host, CARRIER_LIMIT).map_err(|why| anyhow!("nothing to evaluate: {why}"))?;
    let host = context.host.clone();
    let doors = Doors::new(&host);
    let whole = look.plan(&host, &doors);
    let mut stations = Stations::of(&host, &look, &whole);
    if let Some(why) = stations.without_path.take() {
        stations.clean();
        bail!("{} cannot be evaluated: {why}", whole.profile);
    }
    if !stations.list.is_empty() {
        stations.add_other_path(&host, &look);
    }
    let Held { plan, unproved } = plan::hold(whole, &stations.speak_for(), look.site.unproved);
    if plan.steps.is_empty() || stations.list.is_empty() {
        stations.clean();
        bail!("{} asks for nothing here that can be measured", plan.profile);
    }
    let name = plan.profile.clone();
    let mut transaction = match Transaction::begin(&host, &doors, &host.path(JOURNAL_PATH)) {
        Ok(transaction) => transaction,
        Err(error) => {
            stations.clean();
            return Err(error.into());
        }
    };
    let said = format!("{name} is evaluated, {} knobs", plan.steps.len());
    context.tell(Level::Info, events::TRIAL_BEGAN, &name, &said);
    let proved = {
        let mut tell = |progress: &Progress<'_>| attempt::tell_round(context, &name, progress);
        let mut live = || ();
        let mut rules = attempt::rules(&look, &mut live, &mut tell);
        rules.each = each;
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
    let report = transaction.rollback();
    let (exit, end) = if report.verified() {
        transaction.finish()?;
        let count = report.undone.len();
        (Exit::Ok, format!("taken back, {count} knobs read back as before"))
    } else {
        let problems = report.problems().join(", ");
        (
            Exit::RollbackUnverified,
            format!("could not be taken back: {problems}\nhint: a reboot leads to stock"),
        )
    };
    let level = if exit == Exit::Ok {
        Level::Info
    } else {
        Level::Error
    };
    context.tell(level, events::ROLLED_BACK, &name, &end);
    let verdict = match proved {
        Ok(proof) => prove::conclude(&unproved, &proof),
        Err(Because::Rejects(why)) => refused(&why),
        Err(Because::SaysNothing(why)) => bail!("{name}: {why}; {end}"),
    };
    Ok(Evaluated {
        plan,
        verdict,
        exit,
        end,
    })
}

/// A plan that could not even be applied and read back.
fn refused(why: &str) -> Verdict {
    Verdict {
        schema: VERDICT_SCHEMA,
        outcome: Outcome::Revert,
        sentence: format!("reverted: {why}"),
        metrics: Vec::new(),
        groups: BTreeMap::new(),
        checks: Vec::new(),
        proofs: Vec::new(),
    }
}

/// Whether anything may be tried now; ends what a dead process left.
fn admit(context: &mut Context) -> anyhow::Result<()> {
    let words = boot::words(&context.host);
    if words.hold || matches!(context.file.state, State::Held { .. }) {
        bail!("held: nothing is tried\nhint: dtn-firstboot release, or boot without dtn-firstboot.hold");
    }
    if words.mode == Mode::Stock {
        bail!("the stock entry was booted, which never tunes\nhint: boot the tuned entry");
    }
    if let Some(window) = super::window::live(&context.host, &context.file.state, &context.boot_id) {
        bail!("{}", super::window::notice(&window));
    }
    match &context.file.state {
        State::RollbackUnverified { what } => bail!(
            "a rollback could not be verified: {}\nhint: reboot, then dtn-firstboot retry",
            what.join(", ")
        ),
        // Against its own values nothing would change; and the journal of a process that died beside a stored commit
        // would be taken for that commit's.
        State::Committed(commit) => bail!(
            "{} is committed\nhint: take it out first: dtn-firstboot rollback",
            commit.profile
        ),
        _ => {}
    }
    if let Err(error) = measure::cleanup_leftovers(&context.host) {
        bail!("an earlier measurement left something: {error}");
    }
    match leftover::end(&context.host, &context.file.state, &context.boot_id) {
        Leftover::NotAsBefore(what) => bail!(
            "a trial that died could not be taken back: {}\nhint: reboot",
            what.join(", ")
        ),
        _ => Ok(()),
    }
}
