//! What putting a label back would write: the dry run, and the list that is carried out.

use super::{Label, Saved, Snapshot};
use crate::knob::{KnobDef, KnobId, definition_of};
use crate::plan::{self, Reading, Step};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What putting a label back would do on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RestorePlan {
    /// The label.
    pub label: Label,
    /// What is to be written, in the order in which it is.
    pub steps: Vec<Step>,
    /// Knobs that have their saved value.
    pub as_saved: Vec<KnobId>,
    /// Saved knobs that are not put back, with the reason.
    pub left: Vec<LeftOut>,
}

/// A knob that was not saved, or is not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The knob.
    pub knob: KnobId,
    /// Its device, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Why.
    pub why: String,
}

/// What is to be done with one saved knob.
enum Decision {
    Write(Value),
    Leave(String),
    AsSaved,
}

/// Holds a label against what the host reads now. `live` has a reading for each saved knob and for each of its twins;
/// `forbid` says why a knob may not be written here and now.
pub fn restore_plan(
    snapshot: &Snapshot,
    live: &BTreeMap<KnobId, Reading>,
    forbid: &dyn Fn(&KnobId, &KnobDef) -> Option<String>,
) -> RestorePlan {
    let mut plan = RestorePlan {
        label: snapshot.label.clone(),
        steps: Vec::new(),
        as_saved: Vec::new(),
        left: Vec::new(),
    };
    for (knob, saved) in &snapshot.knobs {
        let leave = |why| LeftOut {
            knob: knob.clone(),
            device: snapshot.device(knob),
            why,
        };
        let Some(definition) = definition_of(knob) else {
            let why = "this version does not know it".to_owned();
            plan.left.push(leave(why));
            continue;
        };
        match decide(saved, knob, live) {
            Decision::AsSaved => plan.as_saved.push(knob.clone()),
            Decision::Leave(why) => plan.left.push(leave(why)),
            Decision::Write(from) => match forbid(knob, definition) {
                Some(why) => plan.left.push(leave(why)),
                None => plan.steps.push(step(snapshot, knob, saved, definition, from)),
            },
        }
    }
    plan.steps = plan::in_order(plan.steps);
    plan
}

fn decide(saved: &Saved, knob: &KnobId, live: &BTreeMap<KnobId, Reading>) -> Decision {
    let now = match live.get(knob) {
        Some(Reading::Is(now)) => now,
        Some(Reading::Unsupported(why)) => return Decision::Leave(format!("not supported now: {why}")),
        Some(Reading::Absent) | None if knob.device().is_some() => {
            return Decision::Leave("the device is gone".to_owned());
        }
        Some(Reading::Absent) | None => return Decision::Leave("not on this host now".to_owned()),
    };
    let twin_is_met = saved
        .twin()
        .is_none_or(|(twin, value)| live.get(twin) == Some(&Reading::Is(value.clone())));
    if saved.is_met_by(now) && twin_is_met {
        Decision::AsSaved
    } else {
        Decision::Write(now.clone())
    }
}

fn step(snapshot: &Snapshot, knob: &KnobId, saved: &Saved, definition: &KnobDef, from: Value) -> Step {
    let why = match saved.twin() {
        Some((twin, value)) => format!("as saved: {twin} = {value} was in force"),
        None => "as saved".to_owned(),
    };
    Step {
        knob: knob.clone(),
        from,
        to: saved.back.before().unwrap_or_else(|| saved.value.clone()),
        lowered: None,
        group: definition.group,
        why,
        origin: plan::Origin::default(),
        source: format!("label {}", snapshot.label),
        owner: definition.owner,
        disrupts: definition.disrupts,
    }
}
