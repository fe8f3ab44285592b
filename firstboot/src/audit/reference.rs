//! What a host is held against: steps with what each knob reads now, from a commit or from the matching profile.

use crate::door::{Door, Doors};
use crate::flow::look;
use crate::host::Host;
use crate::target;
use crate::trial;
use dtnforge_profiles::audit::{Against, RowVerdict};
use dtnforge_profiles::plan::{self, Plan, Reading, Skipped, Step, Target};
use dtnforge_profiles::state::Commit;
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
    /// Why it is as it is, where that needs words.
    pub(super) note: Option<String>,
}

/// The committed plan.
pub(super) fn of_commit(commit: &Commit, doors: &Doors) -> Reference {
    let entry = |step: &Step| {
        let reading = read(doors, step);
        let verdict = match &reading {
            Reading::Is(now) if trial::fits(&step.knob, &step.from, &step.to, now) => RowVerdict::Ok,
            Reading::Is(_) => RowVerdict::Differs,
            _ => RowVerdict::Missing,
        };
        Entry {
            step: step.clone(),
            reading,
            verdict,
            note: None,
        }
    };
    let plan = &commit.plan;
    Reference {
        against: Against::Commit,
        profile: commit.profile.clone(),
        layer: commit.layer.to_string(),
        why: commit.verdict.sentence.clone(),
        entries: plan.steps.iter().map(entry).collect(),
        skipped: plan.skipped.clone(),
        interfaces: plan.interfaces.clone(),
        tuned_is_ours: plan.tuned_conf.is_some(),
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
            note: None,
        };
    }
    let name = wish.knob.to_string();
    let why = change
        .skipped
        .iter()
        .find(|skipped| skipped.knob == name)
        .map(|skipped| skipped.why.clone());
    let verdict = match &reading {
        Reading::Is(now) if suffices(now, &wish) => RowVerdict::Ok,
        _ => RowVerdict::NotApplied,
    };
    let exactly = reading == Reading::Is(wish.to.clone());
    Entry {
        step: wish,
        reading,
        verdict,
        note: why.filter(|_| !exactly),
    }
}

/// Whether a value that a trial leaves alone is the wanted one, or one that is larger already.
fn suffices(now: &dtnforge_profiles::value::Value, wish: &Step) -> bool {
    let size =
        |value: &dtnforge_profiles::value::Value| value.integers().and_then(|fields| fields.last().copied());
    *now == wish.to
        || size(now)
            .zip(size(&wish.to))
            .is_some_and(|(now, wanted)| now > wanted)
}

fn read(doors: &Doors, step: &Step) -> Reading {
    doors
        .read(&step.knob)
        .unwrap_or_else(|error| Reading::Unsupported(error.to_string()))
}
