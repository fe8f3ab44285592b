//! One run of the agent, from start to its last word.

use super::attempt;
use super::context::Context;
use super::counted;
use super::fallback;
use super::guilt;
use super::kept;
use super::leftover::{self, Leftover};
use super::look::{self, CARRIER_LIMIT, Look};
use super::start::{self, Fit, Start};
use super::window;
use crate::boot::{self, Mode};
use crate::door::Doors;
use crate::early;
use crate::events;
use crate::goodboot;
use crate::host::Host;
use crate::measure;
use crate::motd;
use crate::notify;
use crate::owner;
use crate::status;
use crate::store;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::{Commit, MAX_ATTEMPTS, Rejection, State};
use dtnforge_profiles::status::ActiveKnob;
use log::Level;
use std::time::{Duration, Instant};

/// How a run ended.
#[derive(Debug)]
pub struct End {
    /// The exit code.
    pub exit: Exit,
    /// The last word.
    pub sentence: String,
    /// Whether the node should reboot: this run left values that it could not take back, and a reboot into stock, once,
    /// gets rid of them; or the boot counter was armed after a fallback.
    pub reboot: bool,
}

impl End {
    /// An end that needs no reboot.
    pub fn with(exit: Exit, sentence: impl Into<String>) -> Self {
        Self {
            exit,
            sentence: sentence.into(),
            reboot: false,
        }
    }

    fn ok(sentence: impl Into<String>) -> Self {
        Self::with(Exit::Ok, sentence)
    }

    /// Values of `profile` that did not come out: a state of its own, worth one reboot. Without that state on disk the
    /// next boot would come here again, so then there is none.
    pub(super) fn unverified(
        context: &mut Context,
        profile: &str,
        what: Vec<String>,
        sentence: String,
    ) -> Self {
        let stored = context.enter(State::RollbackUnverified { what }, &sentence);
        context.tell(Level::Error, events::ROLLED_BACK, profile, &sentence);
        let reboot = stored.is_ok();
        let sentence = match stored {
            Ok(()) => sentence,
            Err(error) => format!("{sentence}; no reboot, because that cannot be stored: {error}"),
        };
        Self {
            reboot,
            ..Self::with(Exit::RollbackUnverified, sentence)
        }
    }
}

/// Runs the agent once. `unit` says whether we run as the boot's unit, which alone may reboot the node.
///
/// # Errors
/// When it cannot do its work at all: no lock, or a state that cannot be stored. The host is stock then.
pub fn run(host: Host, unit: bool) -> anyhow::Result<End> {
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    let mut context = Context::open(host);
    goodboot::forget_end(&context.host)?;
    let end = steps(&mut context, unit);
    counted::finish(&mut context);
    motd::write(&context.host, &context.file);
    match &end {
        Ok(end) => {
            context.console(&end.sentence);
            guilt::after(&context);
            note_end(&context, &end.sentence);
        }
        Err(error) => context.console(&format!("failed: {error:#}")),
    }
    end
}

/// Leaves the mark by which this boot is judged. Without it the unit's own result counts.
fn note_end(context: &Context, verdict: &str) {
    if let Err(error) = goodboot::note_end(&context.host, &context.boot_id, verdict) {
        context.tell(Level::Warn, events::BOOT_RECORDED, "", &error.to_string());
    }
}

fn steps(context: &mut Context, unit: bool) -> anyhow::Result<End> {
    if let Err(error) = measure::cleanup_leftovers(&context.host) {
        context.tell(
            Level::Warn,
            events::ROUND_ENDED,
            "",
            &format!("an earlier measurement left something: {error}"),
        );
    }
    if let Some(window) = window::live(&context.host, &context.file.state, &context.boot_id) {
        return Ok(End::with(Exit::Held, window::notice(&window)));
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
        Start::Held(why) => Ok(End::with(Exit::Held, format!("held: {why}"))),
        Start::StockEntry => Ok(fallback::stock_entry(context, unit)),
        Start::Stay(why) => match guilt::look_into(context)? {
            Some(end) => Ok(end),
            None => Ok(stay(context, &before, &why)),
        },
        Start::Look => match guilt::look_into(context)? {
            Some(end) => Ok(end),
            None => look_and_go_on(context),
        },
    }
}

/// Nothing more in this boot. Values that could not be taken back are worth one reboot, by the run that found them.
fn stay(context: &Context, before: &State, why: &str) -> End {
    let unverified = |state: &State| matches!(state, State::RollbackUnverified { .. });
    let sentence = format!("{}: {why}", context.file.state.name());
    if !unverified(&context.file.state) {
        return End::ok(sentence);
    }
    End {
        reboot: !unverified(before),
        ..End::with(Exit::RollbackUnverified, sentence)
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
pub(super) fn store_or_say(context: &mut Context, reason: &str) {
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
        // Neither a commit nor a rejection is forgotten because a cable is out or a file has a typo.
        Err(why) if keeps_its_state(&context.file.state) => Ok(keep_state(context, &why)),
        Err(why) => stay_stock(context, &why),
    }
}

fn keeps_its_state(state: &State) -> bool {
    matches!(state, State::Committed(_) | State::Rejected(_))
}

/// The state stays as it is although no profile matches now.
fn keep_state(context: &mut Context, why: &str) -> End {
    let sentence = format!("{} as before, although now: {why}", context.file.state.name());
    context.tell(Level::Warn, events::STATE_ENTERED, "", &sentence);
    save_or_say(context);
    let exit = match &context.file.state {
        State::Rejected(_) => Exit::Rejected,
        State::Committed(_) if !is_live(context) => Exit::Drift,
        _ => Exit::Ok,
    };
    End::with(exit, sentence)
}

/// Stores the boots seen; a full or read-only disk is said and changes nothing about the verdict.
fn save_or_say(context: &mut Context) {
    if let Err(error) = context.save() {
        context.tell(Level::Error, events::STATE_ENTERED, "", &error.to_string());
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

/// Such a host has work to do and no counted boot to fall back from: only its admin knows when a trial may run.
const INSTALLED_HOST: &str = "this host is no image of dtnforge, so nothing is tried by itself; `dtn-firstboot try` in a maintenance window";

fn decide(context: &mut Context, look: Look) -> anyhow::Result<End> {
    if let Some(why) = kept::obstacle(context) {
        return stay_stock(context, &why);
    }
    let layer = &look.chosen.layer;
    let site = look::site_digest(&look.site);
    return_to_former_commit(context, &look, &site)?;
    if let State::Rejected(rejection) = &context.file.state
        && rejection.layer == *layer
        && rejection.site == site
    {
        let sentence = format!(
            "rejected: {}; stock until the layer or the site's settings change, or `dtn-firstboot retry`",
            rejection.reason
        );
        save_or_say(context);
        return Ok(End::with(Exit::Rejected, sentence));
    }
    if let State::Committed(commit) = &context.file.state {
        match start::fit(commit, layer, &look.facts.fingerprint(), &site) {
            Fit::Fits => return verify_commit(context, commit.clone()),
            Fit::OtherHardware if !look.site.auto_retrial => {
                return other_hardware(context, &look, commit.clone());
            }
            Fit::OtherHardware if is_live(context) => return wait_for_boot(context, OTHER_HARDWARE),
            Fit::OtherHardware => context.tell(Level::Warn, events::STATE_ENTERED, "", OTHER_HARDWARE),
            Fit::Changed(what) if is_live(context) => return wait_for_boot(context, what),
            Fit::Changed(what) => context.tell(Level::Warn, events::STATE_ENTERED, "", what),
        }
    }
    if is_live(context) && !matches!(context.file.state, State::Committed(_)) {
        return stay_stock(context, FORMER_VALUES);
    }
    if boot::words(&context.host).mode == Mode::Foreign {
        return stay_stock(context, INSTALLED_HOST);
    }
    let begun = context.file.attempts.get(layer).copied().unwrap_or(0);
    if begun >= MAX_ATTEMPTS {
        return out_of_attempts(context, &look, begun);
    }
    if let Err(why) = counted::could_be_counted(context) {
        return stay_stock(context, &why);
    }
    attempt::attempt(context, &look)
}

/// What is as wanted already falls out of a plan, and what is as found would count as stock.
const FORMER_VALUES: &str = "values of a former commit are live in this boot, and a trial would count them as stock; \
                             the next boot tries anew: reboot";

const OTHER_HARDWARE: &str = "the hardware changed since the commit";

/// The commit is for other hardware, and only an admin knows whether this node is what he wants to tune: another card,
/// or the disk in another machine. Where its values are not in place it is kept aside, because a card that is missing
/// once may be back at the next boot.
fn other_hardware(context: &mut Context, look: &Look, commit: Box<Commit>) -> anyhow::Result<End> {
    let live = is_live(context);
    let until = if live {
        "; its values stay live in this boot, and are not put in place again"
    } else {
        ""
    };
    let reason = format!(
        "{OTHER_HARDWARE} of {}{until}; no new trial until `dtn-firstboot retry`, or with `auto_retrial = true`",
        commit.profile
    );
    let rejection = Rejection {
        profile: commit.profile.clone(),
        layer: look.chosen.layer.clone(),
        site: look::site_digest(&look.site),
        reason: reason.clone(),
        verdict: None,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        previous: (!live).then_some(commit),
    };
    context.enter(State::Rejected(Box::new(rejection)), &reason)?;
    Ok(End::with(Exit::Rejected, format!("rejected: {reason}")))
}

/// After a rejection the early unit may have put the former commit in place again, because what the node would be
/// given now is what that commit was made for: then it is the state once more.
fn return_to_former_commit(context: &mut Context, look: &Look, site: &Digest) -> anyhow::Result<()> {
    let State::Rejected(rejection) = &context.file.state else {
        return Ok(());
    };
    let Some(commit) = rejection.previous.clone() else {
        return Ok(());
    };
    let fits = start::fit(&commit, &look.chosen.layer, &look.facts.fingerprint(), site) == Fit::Fits;
    if fits && is_live(context) {
        context.enter(State::Committed(commit), "the former commit fits again")?;
    }
    Ok(())
}

fn out_of_attempts(context: &mut Context, look: &Look, begun: u32) -> anyhow::Result<End> {
    let reason =
        format!("attempts: {begun} trials of this layer did not end; stock until `dtn-firstboot retry`");
    let rejection = Rejection {
        profile: look.chosen.profile.name.clone(),
        layer: look.chosen.layer.clone(),
        site: look::site_digest(&look.site),
        reason: reason.clone(),
        verdict: None,
        boot_id: context.boot_id.clone(),
        at: Context::now(),
        previous: context.file.state.commit().cloned().map(Box::new),
    };
    context.enter(State::Rejected(Box::new(rejection)), &reason)?;
    Ok(End::with(Exit::Rejected, format!("rejected: {reason}")))
}

/// Whether values of a commit are live in this boot, be it one of a former state.
fn is_live(context: &Context) -> bool {
    early::live(&context.host, &context.file.state, &context.boot_id)
}

/// A new trial starts from stock, and this boot has the values of the former commit live. From now on nothing is
/// committed, so the next boot puts nothing in place.
fn wait_for_boot(context: &mut Context, what: &str) -> anyhow::Result<End> {
    let why = format!("{what}; its values stay live in this boot, and the next one tries anew");
    context.enter(State::Stock { why: why.clone() }, &why)?;
    Ok(End::ok(format!("stock: {why}")))
}

/// How long tuned may take to apply a committed profile after its unit has started.
const TUNED_SETTLES: Duration = Duration::from_secs(30);

/// The knobs that do not have their committed value. tuned counts as started before it has applied its profile, so a
/// difference is looked at again for a while.
fn differing(context: &Context, commit: &Commit) -> Vec<String> {
    let doors = Doors::new(&context.host);
    let deadline = Instant::now() + TUNED_SETTLES;
    loop {
        let active = status::active(&context.host, &commit.plan, &doors);
        let mut wrong: Vec<_> = active.into_iter().filter(|knob| !knob.ok).collect();
        if wrong.is_empty() || Instant::now() >= deadline || notify::stop_asked() {
            owner::explain(&context.host, &doors, Some(&commit.plan), &mut wrong);
            return wrong.iter().map(difference).collect();
        }
        std::thread::sleep(Duration::from_secs(2));
    }
}

fn difference(knob: &ActiveKnob) -> String {
    let now = knob.now.as_ref().map_or("unreadable", |value| value.as_str());
    let owner = knob.owner.as_ref();
    let owner = owner.map_or_else(String::new, |owner| format!(", set by: {owner}"));
    format!("{} is {now}, committed {}{owner}", knob.knob, knob.committed)
}

/// A committed boot: the early unit did the work, this only looks.
fn verify_commit(context: &mut Context, commit: Box<Commit>) -> anyhow::Result<End> {
    let activated = is_live(context);
    let differing = if activated {
        differing(context, &commit)
    } else {
        Vec::new()
    };
    save_or_say(context);
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
    let event = if differing.is_empty() {
        events::STATE_ENTERED
    } else {
        events::DRIFT_FOUND
    };
    context.tell(level, event, profile, &sentence);
    Ok(End::with(if good { Exit::Ok } else { Exit::Drift }, sentence))
}
