//! What the agent itself has live in this boot: the plan of a commit, and values that an admin put back from a label.

use super::claim::{Claim, Says};
use crate::atomic::{self, WriteError};
use crate::boot;
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// Under `/run`: what was put back is gone with the boot.
const RESTORED: &str = "/run/dtnforge/restored.json";

/// Form of [`Restored`].
const SCHEMA: u32 = 1;

/// The last `restore` of this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    schema: u32,
    boot_id: String,
    /// The label.
    pub label: String,
    /// Each knob that was written, with what it read afterwards.
    pub values: BTreeMap<KnobId, Value>,
}

/// What was restored last in this boot, when anything was and its record can be read.
pub fn read_restored(host: &Host) -> Option<Restored> {
    let restored: Restored = serde_json::from_slice(&fs::read(host.path(RESTORED)).ok()?).ok()?;
    (restored.schema == SCHEMA && restored.boot_id == boot::boot_id(host)).then_some(restored)
}

/// Remembers what was restored, so that its owner can be told.
///
/// # Errors
/// When the record cannot be written.
pub fn write_restored(host: &Host, label: &str, values: BTreeMap<KnobId, Value>) -> Result<(), WriteError> {
    let restored = Restored {
        schema: SCHEMA,
        boot_id: boot::boot_id(host),
        label: label.to_owned(),
        values,
    };
    // A map with text for keys always becomes JSON; an empty record would only lose the owner's name.
    let text = serde_json::to_string_pretty(&restored).unwrap_or_default() + "\n";
    atomic::write(&host.path(RESTORED), text.as_bytes(), 0o644)
}

/// What the agent has live.
#[derive(Debug)]
pub(super) struct Ours {
    plan: BTreeMap<KnobId, (Value, String)>,
    restored: Option<Restored>,
}

impl Ours {
    pub(super) fn read(host: &Host, plan: Option<&Plan>) -> Self {
        let steps = plan.iter().flat_map(|plan| {
            plan.steps
                .iter()
                .map(|step| (step.knob.clone(), (step.to.clone(), plan.profile.clone())))
        });
        Self {
            plan: steps.collect(),
            restored: read_restored(host),
        }
    }

    /// What the plan wrote.
    pub(super) fn claims(&self, knob: &KnobId) -> Vec<Claim> {
        let claim = |(value, profile): &(Value, String)| Claim {
            kind: SetterKind::Dtnforge,
            place: Some(format!("profile {profile}")),
            says: Says::Is(value.clone()),
            managed_by: None,
            beats_us: false,
        };
        self.plan.get(knob).map(claim).into_iter().collect()
    }

    /// What a restore wrote.
    pub(super) fn restored(&self, knob: &KnobId) -> Option<Claim> {
        let restored = self.restored.as_ref()?;
        Some(Claim {
            kind: SetterKind::Label,
            place: Some(restored.label.clone()),
            says: Says::Is(restored.values.get(knob)?.clone()),
            managed_by: None,
            beats_us: false,
        })
    }
}
