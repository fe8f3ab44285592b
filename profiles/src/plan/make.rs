//! From a profile and a host to a plan: each knob is a step, or it is skipped with a reason.

use super::devices::Devices;
use super::origin::Origin;
use super::wanted::{Inputs, Wanted, module_for, size_of};
use super::{BootWord, Met, PLAN_SCHEMA, Plan, Reading, Skipped, Step, Target, order};
use crate::catalog::{KnobLine, Profile};
use crate::conclude::Conclusions;
use crate::digest::Digest;
use crate::facts::Facts;
use crate::group::Group;
use crate::knob::{Disrupts, KnobDef, KnobId, Owner, Scope, definition_of};
use crate::render::TunedConf;
use crate::site::Site;
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Every knob that the agent has to read before [`make`], each once. What the site decides changes values, not yet
/// which knobs these are.
pub fn knobs_of(profile: &Profile, facts: &Facts, seen: &Conclusions, _site: &Site) -> Vec<KnobId> {
    let devices = Devices::of(facts, seen);
    let mut knobs: Vec<KnobId> = profile
        .knobs
        .iter()
        .flat_map(|line| devices.expand(&line.id).0)
        .collect();
    knobs.extend(profile.tuned.as_ref().map(|_| tuned_knob()));
    knobs
}

/// The knob of the active tuned profile.
pub(super) fn tuned_knob() -> KnobId {
    KnobId::Tuned("profile".to_owned())
}

/// Makes the plan. Pure: the host is what `facts`, `seen` and `target` say of it.
///
/// A value is lowered to what the device, the memory or the kernel's modules allow, and never below what was found.
/// Offline ([`Target::offline`]) nothing is skipped for want of a reading, and `from` is empty.
pub fn make(
    profile: &Profile,
    layer: &Digest,
    facts: &Facts,
    seen: &Conclusions,
    site: &Site,
    target: &Target,
) -> Plan {
    let inputs = Inputs {
        profile,
        facts,
        seen,
        site,
        target,
    };
    let devices = Devices::of(facts, seen);
    let mut draft = Draft::default();
    draft.take_tuned(&inputs);
    for line in &profile.knobs {
        draft.take_line(&inputs, &devices, line);
    }
    let steps = order::in_order(draft.steps);
    Plan {
        schema: PLAN_SCHEMA,
        profile: profile.name.clone(),
        layer: layer.clone(),
        fingerprint: facts.fingerprint(),
        modules: modules_of(&steps),
        tuned_conf: draft
            .has_tuned
            .then(|| TunedConf::of(profile, &steps, &draft.live).to_text()),
        steps,
        skipped: draft.skipped,
        boot: draft.boot,
        interfaces: devices.interfaces(),
        advice: profile
            .advice
            .iter()
            .filter(|advice| advice.is_for(seen.storage_class))
            .cloned()
            .collect(),
    }
}

/// The modules that the values of `steps` need, each once.
pub(super) fn modules_of(steps: &[Step]) -> Vec<String> {
    let module = |step: &Step| module_for(definition_of(&step.knob)?, &step.to);
    let modules: BTreeSet<&str> = steps.iter().filter_map(module).collect();
    modules.into_iter().map(str::to_owned).collect()
}

/// What is to be done with one knob.
enum Decision {
    Write {
        from: Value,
        wanted: Wanted,
    },
    /// Nothing to do; the value that is live, when it is known.
    Leave {
        live: Option<Value>,
        why: String,
        met: Option<Met>,
    },
}

#[derive(Default)]
struct Draft {
    steps: Vec<Step>,
    skipped: Vec<Skipped>,
    boot: Vec<BootWord>,
    /// What is going to be live, for each sysctl that tuned may have to repeat.
    live: BTreeMap<KnobId, Value>,
    /// Whether our tuned profile is active, or is going to be.
    has_tuned: bool,
}

impl Draft {
    fn take_tuned(&mut self, inputs: &Inputs<'_>) {
        let (knob, Some(tuned)) = (tuned_knob(), &inputs.profile.tuned) else {
            return;
        };
        let Some(definition) = definition_of(&knob) else {
            return;
        };
        let wanted = Wanted {
            value: Value::new(&inputs.profile.tuned_name()),
            lowered: None,
            why: format!("keeps up what tuned owns; includes {}", tuned.include.name()),
            origin: Origin::default(),
        };
        let decision = compare(inputs.target, &knob, wanted, false);
        self.has_tuned = match &decision {
            Decision::Write { .. } => true,
            Decision::Leave { live, .. } => live
                .as_ref()
                .is_some_and(|live| live.as_str() == inputs.profile.tuned_name()),
        };
        let source = format!("tuned 2.25.1, profiles/{}", tuned.include.name());
        self.take(inputs, &knob, definition, &source, decision);
    }

    fn take_line(&mut self, inputs: &Inputs<'_>, devices: &Devices, line: &KnobLine) {
        let (knobs, missing) = devices.expand(&line.id);
        for why in missing {
            self.skip(line.id.to_string(), line.definition.group, why, None);
        }
        for knob in knobs {
            let decision = self.decide(inputs, line, &knob);
            self.take(inputs, &knob, line.definition, &line.source, decision);
        }
    }

    fn decide(&mut self, inputs: &Inputs<'_>, line: &KnobLine, knob: &KnobId) -> Decision {
        if line.definition.scope == Scope::Boot {
            self.take_boot_word(inputs, line, knob);
            let why = "only the kernel command line can set it, and a trial does not change that";
            return leave(None, why);
        }
        if line.definition.owner == Owner::Tuned && !self.has_tuned {
            return leave(None, "its owner, our tuned profile, is not in the plan");
        }
        if let Some(why) = inputs.limited(knob) {
            return leave(found(inputs.target, knob).ok(), why);
        }
        match inputs.wanted(line, knob) {
            Ok(wanted) => {
                let only_raise = line.only_raise || wanted.lowered.is_some();
                compare(inputs.target, knob, wanted, only_raise)
            }
            Err(why) => {
                let live = found(inputs.target, knob).ok();
                leave(live, &why)
            }
        }
    }

    fn take(
        &mut self,
        inputs: &Inputs<'_>,
        knob: &KnobId,
        definition: &KnobDef,
        source: &str,
        decision: Decision,
    ) {
        match decision {
            Decision::Write { from, wanted } => {
                self.live.insert(knob.clone(), wanted.value.clone());
                let disrupts = inputs.disrupts(knob, definition);
                self.steps
                    .push(step(knob, definition, disrupts, source, from, wanted));
            }
            Decision::Leave { live, why, met } => {
                self.live.extend(live.map(|live| (knob.clone(), live)));
                self.skip(knob.to_string(), definition.group, why, met);
            }
        }
    }

    fn take_boot_word(&mut self, inputs: &Inputs<'_>, line: &KnobLine, knob: &KnobId) {
        if let Ok(wanted) = inputs.wanted(line, knob) {
            self.boot.push(BootWord {
                knob: knob.clone(),
                value: wanted.value,
                why: wanted.why,
                source: line.source.clone(),
            });
        }
    }

    fn skip(&mut self, knob: String, group: Group, why: String, met: Option<Met>) {
        let skipped = Skipped {
            knob,
            group,
            why,
            met,
        };
        self.skipped.push(skipped);
    }
}

fn leave(live: Option<Value>, why: &str) -> Decision {
    Decision::Leave {
        live,
        why: why.to_owned(),
        met: None,
    }
}

/// Nothing to do, because the host has what is wanted.
fn leave_met(live: Value, why: String, wanted: Value, or_more: bool) -> Decision {
    Decision::Leave {
        live: Some(live),
        why,
        met: Some(Met { wanted, or_more }),
    }
}

/// What is there now.
///
/// # Errors
/// Why there is nothing, a sentence for [`Skipped`].
fn found(target: &Target, knob: &KnobId) -> Result<Value, String> {
    match target.readings.get(knob) {
        Some(Reading::Is(value)) => Ok(value.clone()),
        Some(Reading::Absent) => Err("not on this host".to_owned()),
        Some(Reading::Unsupported(why)) => Err(format!("not supported here: {why}")),
        None if target.offline => Ok(Value::new("")),
        None => Err("its present value was not read".to_owned()),
    }
}

fn compare(target: &Target, knob: &KnobId, wanted: Wanted, only_raise: bool) -> Decision {
    let from = match found(target, knob) {
        Ok(from) => from,
        Err(why) => return leave(None, &why),
    };
    let noted = wanted
        .lowered
        .as_ref()
        .map(|lowered| format!(" ({} asked, {})", lowered.asked, lowered.why));
    let noted = noted.unwrap_or_default();
    if from == wanted.value {
        let why = format!("already {}{noted}", wanted.value);
        return leave_met(from, why, wanted.value, only_raise);
    }
    let larger = match (size_of(&from), size_of(&wanted.value)) {
        (Some(from), Some(to)) => only_raise && from >= to,
        _ => false,
    };
    if larger {
        let why = format!("already larger: {from}, and {} is wanted{noted}", wanted.value);
        return leave_met(from, why, wanted.value, true);
    }
    Decision::Write { from, wanted }
}

fn step(
    knob: &KnobId,
    definition: &KnobDef,
    disrupts: Disrupts,
    source: &str,
    from: Value,
    wanted: Wanted,
) -> Step {
    Step {
        knob: knob.clone(),
        from,
        to: wanted.value,
        lowered: wanted.lowered,
        group: definition.group,
        why: wanted.why,
        origin: wanted.origin,
        source: source.to_owned(),
        owner: definition.owner,
        disrupts,
    }
}

/// The worst that applying a plan interrupts.
impl Plan {
    /// What the most disruptive step interrupts.
    pub fn disrupts(&self) -> Disrupts {
        self.steps
            .iter()
            .map(|step| step.disrupts)
            .max()
            .unwrap_or(Disrupts::None)
    }
}

#[cfg(test)]
mod tests;
