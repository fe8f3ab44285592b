//! Groups that nothing can speak for: held at stock where they could flap a link or lose packets.

use super::make::{modules_of, tuned_knob};
use super::{Plan, Skipped, Step};
use crate::group::{EvidenceKind, Group};
use crate::knob::{KnobId, Owner};
use crate::render::TunedConf;
use crate::site::Unproved;
use crate::verdict::GroupEvidence;
use std::collections::{BTreeMap, BTreeSet};

/// A plan without the groups that are held.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// What is left to be tried; the steps of held groups are among `skipped`.
    pub plan: Plan,
    /// The groups of the plan that no evidence can speak for, held or applied.
    pub unproved: BTreeMap<Group, GroupEvidence>,
}

/// Decides, for each group of a plan, whether it is tried although no measurement of this node can speak for it:
/// `spoken_for` has the groups that some measurement exercises. Reading back is always available.
pub fn hold(plan: Plan, spoken_for: &BTreeSet<Group>, policy: Unproved) -> Held {
    let without_evidence =
        |group: &Group| group.evidence() != EvidenceKind::ReadBack && !spoken_for.contains(group);
    let unproved: BTreeMap<Group, GroupEvidence> = plan
        .groups()
        .into_iter()
        .filter(without_evidence)
        .map(|group| (group, evidence_of(group, policy)))
        .collect();
    let held = unproved.iter().filter_map(|(group, evidence)| match evidence {
        GroupEvidence::Unproved {
            applied: false, why, ..
        } => Some((*group, why.clone())),
        _ => None,
    });
    Held {
        plan: plan.without(&held.collect()),
        unproved,
    }
}

fn evidence_of(group: Group, policy: Unproved) -> GroupEvidence {
    let (applied, why) = match (policy, group.held_when_unproved()) {
        (Unproved::Apply, _) => (true, "the site applies unproved groups"),
        (Unproved::Hold, true) => (
            false,
            "held: it could flap a link or lose packets, and nothing here can measure it",
        ),
        (Unproved::Hold, false) => (true, "applied unproved: it cannot flap a link"),
    };
    GroupEvidence::Unproved {
        needs: group.evidence(),
        applied,
        why: why.to_owned(),
    }
}

impl Plan {
    /// The plan without some knobs; they are skipped, for the reason given.
    #[must_use]
    pub fn without_knobs(mut self, knobs: &[KnobId], why: &str) -> Plan {
        let (dropped, kept): (Vec<Step>, Vec<Step>) = self
            .steps
            .into_iter()
            .partition(|step| knobs.contains(&step.knob));
        self.steps = kept;
        self.skipped.extend(dropped.iter().map(|step| Skipped {
            knob: step.knob.to_string(),
            group: step.group,
            why: why.to_owned(),
            met: None,
        }));
        self
    }

    /// The plan without some groups; their steps are skipped for the reason given. What only our tuned profile keeps
    /// up goes with it.
    #[must_use]
    pub fn without(mut self, groups: &BTreeMap<Group, String>) -> Plan {
        let tuned_goes =
            groups.contains_key(&Group::Cpu) && self.steps.iter().any(|step| step.knob == tuned_knob());
        let reason = |step: &Step| match groups.get(&step.group) {
            Some(why) => Some(why.clone()),
            None if tuned_goes && step.owner == Owner::Tuned => {
                Some("its owner, our tuned profile, is not in the plan".to_owned())
            }
            None => None,
        };
        let (kept, dropped): (Vec<Step>, Vec<Step>) =
            self.steps.into_iter().partition(|step| reason(step).is_none());
        self.tuned_conf = self
            .tuned_conf
            .filter(|_| !tuned_goes)
            .map(|text| without_values(text, &dropped));
        self.skipped.extend(dropped.iter().map(|step| Skipped {
            knob: step.knob.to_string(),
            group: step.group,
            why: reason(step).unwrap_or_default(),
            met: None,
        }));
        self.modules = modules_of(&kept);
        self.steps = kept;
        self
    }
}

/// The tuned profile with the values found in place of those that are not written now. A text that is not ours holds
/// no value of ours.
fn without_values(text: String, dropped: &[Step]) -> String {
    let Some(mut conf) = TunedConf::parse(&text) else {
        return text;
    };
    for step in dropped {
        match &step.knob {
            KnobId::Sysctl(key) => conf.set_back(key, &step.from),
            KnobId::Block(disk, _) => conf.leave_disk(disk.as_str()),
            KnobId::Cpu(_) => conf.governor = None,
            _ => {}
        }
    }
    conf.to_text()
}

#[cfg(test)]
mod tests;
