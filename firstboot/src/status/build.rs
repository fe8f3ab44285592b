//! Puts a status together from the state, the doors and this boot. Reads only.

use crate::boot::{self, Mode};
use crate::door::Door;
use crate::early::{self, Marker};
use crate::esp::Esp;
use crate::flow::window;
use crate::host::Host;
use crate::owner;
use crate::people;
use crate::store::Loaded;
use crate::trial;
use dtnforge_profiles::facts::{Facts, Host as Machine};
use dtnforge_profiles::plan::{Plan, Reading, Step};
use dtnforge_profiles::state::{Boot, BootKind, Commit, MAX_ATTEMPTS, State, StateFile};
use dtnforge_profiles::status::{
    Activation, ActiveKnob, Attempts, BootCounter, BootFacts, OpenWindow, Status, Throughput,
};
use dtnforge_profiles::timeline;
use dtnforge_profiles::verdict::Verdict;

/// The status of this node.
pub fn build(host: &Host, loaded: &Loaded, doors: &dyn Door, seen: &Facts, findings: Vec<String>) -> Status {
    let file = &loaded.file;
    let boot_id = boot::boot_id(host);
    let commit = committed(&file.state);
    let activation = activation(host, file, commit, &boot_id);
    let plan = commit.map(|commit| &commit.plan);
    let mut active = plan.map(|plan| active(host, plan, doors)).unwrap_or_default();
    if let Some(plan) = plan {
        let is_active = matches!(activation, Activation::LiveFromTrial | Activation::Early);
        owner::explain(host, doors, is_active.then_some(plan), &mut active);
    }
    let verdict = verdict(&file.state).cloned();
    let present = boot_id.clone();
    Status {
        state: file.state.name().to_owned(),
        reason: not_in_place(&file.state, &activation)
            .unwrap_or_else(|| reason(file, loaded.damage.as_deref())),
        profile: profile(&file.state),
        layer: layer(&file.state),
        activation,
        throughput: verdict.as_ref().and_then(headline),
        verdict,
        active,
        skipped: plan.map(|plan| plan.skipped.clone()).unwrap_or_default(),
        attempts: attempts(file),
        boot: boot_facts(host, &seen.host, file.boot(&present)),
        findings,
        history: file.history.clone(),
        boot_counter: boot_counter(host, file),
        timeline: timeline::timeline(file, &present),
        window: open_window(host, &file.state, &present),
    }
}

/// Why a commit is not in place in this boot: that is nearer to an administrator's question than how it was proved.
fn not_in_place(state: &State, activation: &Activation) -> Option<String> {
    match (state, activation) {
        (State::Committed(_), Activation::CommittedNotActivated(why)) => {
            Some(format!("committed, and not in place in this boot: {why}"))
        }
        _ => None,
    }
}

/// Why the firmware started this boot itself, past the boot loader.
fn past_the_loader(file: &StateFile, boot_id: &str) -> Option<String> {
    let boot = file.boot(boot_id).filter(|boot| boot.kind == BootKind::Direct)?;
    boot.reason.clone()
}

fn open_window(host: &Host, state: &State, boot_id: &str) -> Option<OpenWindow> {
    let window = window::live(host, state, boot_id)?;
    let left = window.left(window::record::since_start());
    Some(OpenWindow {
        confirm_within_s: left.map(|left| left.as_secs()),
    })
}

fn committed(state: &State) -> Option<&Commit> {
    match state {
        State::Committed(commit) => Some(commit),
        State::Held { previous } => committed(previous),
        _ => None,
    }
}

fn verdict(state: &State) -> Option<&Verdict> {
    match state {
        State::Committed(commit) => Some(&commit.verdict),
        State::Rejected(rejection) => rejection.verdict.as_ref(),
        State::Held { previous } => verdict(previous),
        _ => None,
    }
}

fn profile(state: &State) -> Option<String> {
    match state {
        State::Committed(commit) => Some(commit.profile.clone()),
        State::Rejected(rejection) => Some(rejection.profile.clone()),
        State::Trial { profile, .. } => Some(profile.clone()),
        State::Held { previous } => profile(previous),
        _ => None,
    }
}

fn layer(state: &State) -> Option<String> {
    match state {
        State::Committed(commit) => Some(commit.layer.to_string()),
        State::Rejected(rejection) => Some(rejection.layer.to_string()),
        State::Baseline { layer, .. } | State::Trial { layer, .. } => Some(layer.to_string()),
        State::Held { previous } => layer(previous),
        _ => None,
    }
}

/// The reason of the present state, one sentence.
pub fn reason(file: &StateFile, damage: Option<&str>) -> String {
    if let Some(damage) = damage {
        return format!("{damage}; the node counts as stock");
    }
    match &file.state {
        State::Stock { why } => why.clone(),
        State::Baseline { .. } => "stock is being measured before a trial".to_owned(),
        State::Trial {
            profile,
            former: Some(_),
            ..
        } => format!("{profile} was put in by an admin to be tried, and is not committed"),
        State::Trial { profile, .. } => format!("{profile} is live as a trial and not committed"),
        State::Committed(commit) => commit.verdict.sentence.clone(),
        State::Rejected(rejection) => rejection.reason.clone(),
        State::RollbackUnverified { what } => {
            format!("a rollback could not be verified: {}", what.join(", "))
        }
        State::Fallback(fallback) => format!("{}; stock until `dtn-firstboot retry`", fallback.reason),
        State::Held { previous } => format!("held by an admin; before that: {}", previous.name()),
    }
}

fn activation(host: &Host, file: &StateFile, commit: Option<&Commit>, boot_id: &str) -> Activation {
    let Some(commit) = commit else {
        return Activation::NotNeeded;
    };
    if commit.boot_id == boot_id {
        return Activation::LiveFromTrial;
    }
    if boot::words(host).mode == Mode::Stock {
        let why = past_the_loader(file, boot_id);
        return Activation::CommittedNotActivated(
            why.unwrap_or_else(|| "the stock entry was booted".to_owned()),
        );
    }
    match early::read_marker(host) {
        Some(Marker {
            boot_id: seen,
            activated: true,
            ..
        }) if seen == boot_id => Activation::Early,
        Some(Marker {
            boot_id: seen, why, ..
        }) if seen == boot_id => Activation::CommittedNotActivated(why),
        _ => Activation::CommittedNotActivated("the early unit did not run in this boot".to_owned()),
    }
}

fn headline(verdict: &Verdict) -> Option<Throughput> {
    let first = verdict
        .metrics
        .iter()
        .find(|comparison| comparison.metric.ends_with("/throughput"))?;
    let measure = first.metric.trim_end_matches("/throughput").to_owned();
    Some(Throughput {
        measure,
        stock: first.as_found,
        tuned: first.ours,
        ratio: first.ratio,
        unit: first.unit.clone(),
    })
}

/// Each knob of a plan as it is now.
pub fn active(host: &Host, plan: &Plan, doors: &dyn Door) -> Vec<ActiveKnob> {
    plan.steps
        .iter()
        .map(|step| active_knob(host, step, doors))
        .collect()
}

fn active_knob(host: &Host, step: &Step, doors: &dyn Door) -> ActiveKnob {
    let (now, problem) = match doors.read(&step.knob) {
        Ok(Reading::Is(value)) => (Some(value), None),
        Ok(Reading::Absent) => (None, Some("not there now".to_owned())),
        Ok(Reading::Unsupported(why)) => (None, Some(why)),
        Err(error) => (None, Some(error.to_string())),
    };
    let lowered = step
        .lowered
        .as_ref()
        .map(|low| format!("lowered from {}: {}", low.asked, low.why));
    ActiveKnob {
        knob: step.knob.clone(),
        device: people::device_name(host, &step.knob),
        committed: step.to.clone(),
        // A device may round, as it did in the trial.
        ok: now
            .as_ref()
            .is_some_and(|now| trial::fits(&step.knob, &step.from, &step.to, now)),
        now,
        group: step.group,
        why: step.why.clone(),
        note: problem.or(lowered),
        owner: None,
    }
}

fn attempts(file: &StateFile) -> Attempts {
    let layer = match &file.state {
        State::Committed(commit) => Some(&commit.layer),
        State::Rejected(rejection) => Some(&rejection.layer),
        State::Baseline { layer, .. } | State::Trial { layer, .. } => Some(layer),
        _ => None,
    };
    let begun = match layer {
        Some(layer) => file.attempts.get(layer).copied().unwrap_or(0),
        // A stock node names no layer: the one that was tried most is the one that an admin asks about.
        None => file.attempts.values().copied().max().unwrap_or(0),
    };
    Attempts {
        begun,
        left: MAX_ATTEMPTS.saturating_sub(begun),
    }
}

/// The counter as the file name says it now. A host that is not ours has none.
fn boot_counter(host: &Host, file: &StateFile) -> BootCounter {
    let entry = if boot::words(host).mode == Mode::Foreign {
        Err("no image of ours: nothing is counted".to_owned())
    } else {
        Esp::find_tuned_entry(host).map_err(|error| error.to_string())
    };
    let not_armed = file
        .counting
        .failure
        .as_ref()
        .map(|why| format!("it could not be armed: {why}"));
    match entry {
        Ok(entry) => BootCounter {
            file: Some(entry.to_string()),
            left: entry.counter.map(|counter| counter.left),
            done: entry.counter.map(|counter| counter.done),
            note: not_armed,
        },
        Err(why) => BootCounter {
            note: Some(why),
            ..BootCounter::default()
        },
    }
}

fn boot_facts(host: &Host, facts: &Machine, record: Option<&Boot>) -> BootFacts {
    let mode = match boot::words(host).mode {
        Mode::Tuned => Some("tuned".to_owned()),
        Mode::Stock => Some("stock".to_owned()),
        Mode::Foreign => None,
    };
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".to_owned());
    BootFacts {
        boot_id: boot::boot_id(host),
        mode,
        firmware: known(&facts.firmware_type),
        secure_boot: known(&facts.secure_boot),
        virtualised: facts
            .hypervisor
            .as_ref()
            .map_or_else(|| "no".to_owned(), |name| format!("yes ({name})")),
        kernel: known(&facts.kernel),
        entry: record.and_then(|boot| boot.entry.clone()),
        kind: record.map(|boot| boot.kind),
    }
}
