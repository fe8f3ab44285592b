//! One run of the agent, from start to its last word.

use super::attempt;
use super::context::Context;
use super::leftover::{self, Leftover};
use super::look::{self, CARRIER_LIMIT, Look};
use super::start::{self, Fit, Start};
use crate::boot::{self, Mode};
use crate::door::Doors;
use crate::early;
use crate::events;
use crate::host::Host;
use crate::measure;
use crate::notify;
use crate::status;
use crate::store;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::{Commit, MAX_ATTEMPTS, Rejection, State};
use log::Level;
use std::fs;

/// How a run ended.
#[derive(Debug)]
pub struct End {
    /// The exit code.
    pub exit: Exit,
    /// The last word.
    pub sentence: String,
}

impl End {
    fn ok(sentence: impl Into<String>) -> Self {
        Self {
            exit: Exit::Ok,
            sentence: sentence.into(),
        }
    }
}

/// Runs the agent once.
///
/// # Errors
/// When it cannot do its work at all: no lock, or a state that cannot be stored. The host is stock then.
pub fn run(host: Host) -> anyhow::Result<End> {
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    let mut context = Context::open(host);
    let end = steps(&mut context)?;
    context.console(&end.sentence);
    Ok(end)
}

fn steps(context: &mut Context) -> anyhow::Result<End> {
    if let Err(error) = measure::cleanup_leftovers(&context.host) {
        context.tell(
            Level::Warn,
            events::ROUND_ENDED,
            "",
            &format!("an earlier measurement left something: {error}"),
        );
    }
    let before = context.file.state.clone();
    end_leftovers(context);
    let start = start::begin(&mut context.file, boot::words(&context.host));
    if context.file.state != before {
        let reason = status::reason(&context.file, None);
        let why = if let Start::Stay(why) = &start {
            why.clone()
        } else {
            reason
        };
        store_or_say(context, &why);
    }
    match start {
        Start::Held(why) => Ok(End {
            exit: Exit::Held,
            sentence: format!("held: {why}"),
        }),
        Start::StockEntry => {
            store_or_say(context, "the stock entry was booted");
            Ok(End::ok(format!(
                "the stock entry was booted; state on disk: {}",
                context.file.state.name()
            )))
        }
        Start::Stay(why) => Ok(End::ok(format!("{}: {why}", context.file.state.name()))),
        Start::Look => look_and_go_on(context),
    }
}

/// Ends what a process of this boot left when it died; what cannot be taken back is a state of its own.
fn end_leftovers(context: &mut Context) {
    let left = leftover::end(&context.host, &context.file.state, &context.boot_id);
    let Some(sentence) = left.sentence() else { return };
    context.tell(Level::Warn, events::ROLLED_BACK, "", &sentence);
    if let Leftover::NotAsBefore(what) = left {
        context.file.state = State::RollbackUnverified { what };
    }
}

/// Stores the present state; where that fails (read-only, full) the run goes on and says so.
fn store_or_say(context: &mut Context, reason: &str) {
    let state = context.file.state.clone();
    if let Err(error) = context.enter(state, reason) {
        context.tell(
            Level::Error,
            events::STATE_ENTERED,
            "",
            &format!("cannot store the state: {error}"),
        );
    }
}

fn look_and_go_on(context: &mut Context) -> anyhow::Result<End> {
    notify::progress("looking at the machine", CARRIER_LIMIT * 3);
    match look::look(&context.host, CARRIER_LIMIT) {
        Ok(look) => decide(context, look),
        // A commit is not taken back because a cable is out: it is kept, and said.
        Err(why) if context.file.state.commit().is_some() => {
            let sentence = format!(
                "{}, kept although there is no match now: {why}",
                context.file.state.name()
            );
            context.tell(Level::Warn, events::STATE_ENTERED, "", &sentence);
            context.save()?;
            Ok(End::ok(sentence))
        }
        Err(why) => stay_stock(context, &why),
    }
}

fn stay_stock(context: &mut Context, why: &str) -> anyhow::Result<End> {
    let state = State::Stock { why: why.to_owned() };
    if let Err(error) = context.enter(state, why) {
        // Without a place for the state the node is stock all the same, and says both.
        context.tell(
            Level::Error,
            events::STATE_ENTERED,
            "",
            &format!("{why}; {error}"),
        );
    }
    Ok(End::ok(format!("stock: {why}")))
}

/// Whether the state would be gone at the next boot: our image runs without its state partition.
fn state_is_volatile(host: &Host) -> bool {
    let mounts = fs::read_to_string(host.path("/proc/self/mounts")).unwrap_or_default();
    mounts.lines().any(|line| {
        let mut fields = line.split(' ');
        matches!((fields.nth(1), fields.next()), (Some("/state"), Some("tmpfs")))
    })
}

fn decide(context: &mut Context, look: Look) -> anyhow::Result<End> {
    if boot::words(&context.host).mode == Mode::Tuned && state_is_volatile(&context.host) {
        return stay_stock(
            context,
            "state partition missing: what is proved could not be kept, so nothing is tried",
        );
    }
    let layer = &look.chosen.layer;
    if let State::Rejected(rejection) = &context.file.state
        && rejection.layer == *layer
        && rejection.profile == look.chosen.profile.name
    {
        let sentence = format!(
            "rejected: {}; stock until the layer changes or `dtn-firstboot retry`",
            rejection.reason
        );
        context.save()?;
        return Ok(End {
            exit: Exit::Rejected,
            sentence,
        });
    }
    let site = look::site_digest(&look.site);
    if let State::Committed(commit) = &context.file.state {
        match start::fit(commit, layer, &look.facts.fingerprint(), &site) {
            Fit::Fits => return verify_commit(context, commit.clone()),
            Fit::Changed(what) if is_live(context, commit) => return wait_for_boot(context, what),
            Fit::Changed(what) => context.tell(Level::Warn, events::STATE_ENTERED, "", what),
        }
    }
    let begun = context.file.attempts.get(layer).copied().unwrap_or(0);
    if begun >= MAX_ATTEMPTS {
        return out_of_attempts(context, &look, begun);
    }
    attempt::attempt(context, &look)
}

fn out_of_attempts(context: &mut Context, look: &Look, begun: u32) -> anyhow::Result<End> {
    let reason =
        format!("attempts: {begun} trials of this layer did not end; stock until `dtn-firstboot retry`");
    let rejection = Rejection {
        profile: look.chosen.profile.name.clone(),
        layer: look.chosen.layer.clone(),
        reason: reason.clone(),
        verdict: None,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        previous: context.file.state.commit().cloned().map(Box::new),
    };
    context.enter(State::Rejected(Box::new(rejection)), &reason)?;
    Ok(End {
        exit: Exit::Rejected,
        sentence: format!("rejected: {reason}"),
    })
}

/// Whether the values of `commit` were put in place in this boot.
fn is_live(context: &Context, commit: &Commit) -> bool {
    let early = early::read_marker(&context.host);
    commit.boot_id == context.boot_id
        || early.is_some_and(|marker| marker.activated && marker.boot_id == context.boot_id)
}

/// A new trial starts from stock, and this boot has the values of the former commit live.
fn wait_for_boot(context: &mut Context, what: &str) -> anyhow::Result<End> {
    let sentence = format!("committed, and {what}: the next boot is stock and tries anew");
    context.tell(Level::Warn, events::STATE_ENTERED, "", &sentence);
    context.save()?;
    Ok(End::ok(sentence))
}

/// A committed boot: the early unit did the work, this only looks.
fn verify_commit(context: &mut Context, commit: Box<Commit>) -> anyhow::Result<End> {
    let doors = Doors::new(&context.host);
    let differing: Vec<String> = status::active(&context.host, &commit.plan, &doors)
        .into_iter()
        .filter(|knob| !knob.ok)
        .map(|knob| {
            let now = knob
                .now
                .map_or_else(|| "unreadable".to_owned(), |value| value.to_string());
            format!("{} is {now}, committed {}", knob.knob, knob.committed)
        })
        .collect();
    let activated = is_live(context, &commit);
    context.save()?;
    let profile = &commit.profile;
    let sentence = match (activated, differing.is_empty()) {
        (true, true) => format!(
            "committed {profile}: active, {} knobs verified",
            commit.plan.steps.len()
        ),
        (true, false) => format!("committed {profile}: drift: {}", differing.join("; ")),
        (false, _) => {
            let why = early::read_marker(&context.host)
                .map_or_else(|| "the early unit did not run".to_owned(), |marker| marker.why);
            format!("committed {profile} but not active in this boot: {why}")
        }
    };
    let good = activated && differing.is_empty();
    let level = if good { Level::Info } else { Level::Warn };
    context.tell(level, events::STATE_ENTERED, profile, &sentence);
    Ok(End {
        exit: if good { Exit::Ok } else { Exit::Drift },
        sentence,
    })
}
