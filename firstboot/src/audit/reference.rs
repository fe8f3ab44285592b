//! What a host is held against: steps with what each knob reads now, from a commit or from the matching profile.

use crate::door::{Door, Doors};
use crate::flow::look;
use crate::host::Host;
use crate::target;
use crate::trial;
use dtnforge_profiles::audit::{Against, RowVerdict};
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::plan::{self, Origin, Plan, Reading, Skipped, Step, Target};
use dtnforge_profiles::state::Commit;
use dtnforge_profiles::value::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The expected values and the present ones.
pub(super) struct Reference {
    pub(super) against: Against,
    pub(super) profile: String,
    pub(super) layer: String,
    pub(super) why: String,
    /// One for each knob that has an expected value.
    pub(super) entries: Vec<Entry>,
    /// What the profile does not get on this host.
    pub(super) skipped: Vec<Skipped>,
    /// Interface names when the plan was made, by device.
    pub(super) interfaces: BTreeMap<String, String>,
    /// Whether a boot with this plan has our tuned profile.
    pub(super) tuned_is_ours: bool,
}

/// One knob with an expected value.
pub(super) struct Entry {
    pub(super) step: Step,
    pub(super) reading: Reading,
    pub(super) verdict: RowVerdict,
    /// Whether a commit of ours wrote it.
    pub(super) is_ours: bool,
    /// Why it is as it is, where that needs words.
    pub(super) note: Option<String>,
}

/// The committed plan: what it wrote, and what the host had already when it was made.
pub(super) fn of_commit(commit: &Commit, doors: &Doors) -> Reference {
    let plan = &commit.plan;
    let written = plan.steps.iter().map(|step| of_step(doors, step));
    let (met, skipped): (Vec<&Skipped>, Vec<&Skipped>) = plan.skipped.iter().partition(|it| it.met.is_some());
    let met = met.into_iter().filter_map(|skipped| of_met(doors, skipped));
    Reference {
        against: Against::Commit,
        profile: commit.profile.clone(),
        layer: commit.layer.to_string(),
        why: commit.verdict.sentence.clone(),
        entries: written.chain(met).collect(),
        skipped: skipped.into_iter().cloned().collect(),
        interfaces: plan.interfaces.clone(),
        tuned_is_ours: plan.tuned_conf.is_some(),
    }
}

fn of_step(doors: &Doors, step: &Step) -> Entry {
    let reading = read(doors, &step.knob);
    Entry {
        verdict: verdict(&reading, |now| trial::fits(&step.knob, &step.from, &step.to, now)),
        step: step.clone(),
        reading,
        is_ours: true,
        note: None,
    }
}

/// A knob that had the wanted value, so that the commit leaves it alone.
fn of_met(doors: &Doors, skipped: &Skipped) -> Option<Entry> {
    let met = skipped.met.as_ref()?;
    let knob: KnobId = skipped.knob.parse().ok()?;
    let definition = definition_of(&knob)?;
    let reading = read(doors, &knob);
    Some(Entry {
        verdict: verdict(&reading, |now| met.by(now)),
        step: Step {
            knob,
            from: met.wanted.clone(),
            to: met.wanted.clone(),
            lowered: None,
            group: skipped.group,
            why: "the host had it before the commit, which does not write it".to_owned(),
            origin: Origin::default(),
            source: String::new(),
            owner: definition.owner,
            disrupts: definition.disrupts,
        },
        reading,
        is_ours: false,
        note: Some(format!("{} before the commit", skipped.why)),
    })
}

fn verdict(reading: &Reading, is_good: impl Fn(&Value) -> bool) -> RowVerdict {
    match reading {
        Reading::Is(now) if is_good(now) => RowVerdict::Ok,
        Reading::Is(_) => RowVerdict::Differs,
        _ => RowVerdict::Missing,
    }
}

/// The plan that the matching profile has here.
pub(super) fn of_profile(host: &Host, doors: &Doors) -> Result<Reference, String> {
    let look = look::look(host, Duration::ZERO)?;
    let chosen = &look.chosen;
    let make = |target: &Target| {
        plan::make(
            &chosen.profile,
            &chosen.layer,
            &look.facts,
            &look.conclusions,
            &look.site,
            target,
        )
    };
    let target = target::read(
        host,
        doors,
        &chosen.profile,
        &look.facts,
        &look.conclusions,
        &look.site,
    );
    let (change, wish) = (make(&target), make(&unread(&target)));
    let entries: Vec<Entry> = wish
        .steps
        .into_iter()
        .map(|step| entry(step, &change, &target))
        .collect();
    Ok(Reference {
        against: Against::Profile,
        profile: chosen.profile.name.clone(),
        layer: chosen.layer.to_string(),
        why: chosen.why.clone(),
        entries,
        skipped: wish.skipped,
        interfaces: wish.interfaces,
        tuned_is_ours: change.tuned_conf.is_some(),
    })
}

/// The same host without its present values: a plan for it has a step for every knob that the profile names, whatever
/// it reads, with the value lowered to what the host can bear.
fn unread(target: &Target) -> Target {
    Target {
        readings: BTreeMap::new(),
        offline: true,
        ..target.clone()
    }
}

/// One wish against what a trial would do about it.
fn entry(wish: Step, change: &Plan, target: &Target) -> Entry {
    let reading = target
        .readings
        .get(&wish.knob)
        .cloned()
        .unwrap_or(Reading::Absent);
    if let Some(step) = change.steps.iter().find(|step| step.knob == wish.knob) {
        return Entry {
            step: step.clone(),
            reading,
            verdict: RowVerdict::Differs,
            is_ours: false,
            note: None,
        };
    }
    let name = wish.knob.to_string();
    let left = change.skipped.iter().find(|skipped| skipped.knob == name);
    let is_met = left.is_some_and(|left| left.met.is_some());
    let exactly = reading == Reading::Is(wish.to.clone());
    Entry {
        step: wish,
        reading,
        verdict: if is_met {
            RowVerdict::Ok
        } else {
            RowVerdict::NotApplied
        },
        is_ours: false,
        note: left.map(|left| left.why.clone()).filter(|_| !exactly),
    }
}

fn read(doors: &Doors, knob: &KnobId) -> Reading {
    doors
        .read(knob)
        .unwrap_or_else(|error| Reading::Unsupported(error.to_string()))
}
