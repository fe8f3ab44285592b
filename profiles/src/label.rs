//! Saved values of a host under a label, so that an admin can compare with them and put them back.
//!
//! A [`Snapshot`] holds every knob of the registry that the host has, each with its way back as the doors made it, and
//! not only what a plan touches. A device is named by what survives a reboot; its name is for people.

mod name;
mod restore;

pub use name::{BadLabel, Label};
pub use restore::{LeftOut, RestorePlan, restore_plan};

use crate::audit::Setter;
use crate::digest::Digest;
use crate::knob::KnobId;
use crate::undo::Undo;
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Form of [`Snapshot`] on disk, and of the answers about labels.
pub const LABEL_SCHEMA: u32 = 1;

/// All values of a host at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`LABEL_SCHEMA`]; read first.
    pub schema: u32,
    /// Its name, also the name of its file.
    pub label: Label,
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// The boot in which it was saved.
    pub boot_id: String,
    /// Kernel release.
    pub kernel: String,
    /// [`crate::facts::Facts::fingerprint`] of the host.
    pub fingerprint: Digest,
    /// Name of the node's state then.
    pub state: String,
    /// The profile that was committed then, if one was.
    pub profile: Option<String>,
    /// Each knob with its value.
    pub knobs: BTreeMap<KnobId, Saved>,
    /// Knobs that the host has and that could not be saved.
    pub left_out: Vec<LeftOut>,
    /// Interface and disk names by device.
    pub devices: BTreeMap<String, String>,
}

/// One saved value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// What the knob read.
    pub value: Value,
    /// How to have that value again.
    pub back: Undo,
    /// Who had set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Setter>,
}

/// A knob with different values in two places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The knob.
    pub knob: KnobId,
    /// Its device, for people.
    pub device: Option<String>,
    /// The value in the label; `None` when it has none.
    pub saved: Option<Value>,
    /// The value in the other label, or the live one; `None` when there is none.
    pub other: Option<Value>,
    /// Who set the other one.
    pub owner: Option<Setter>,
}

/// Why a label's file is not usable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSnapshot {
    /// No bytes.
    #[error("the file is empty")]
    Empty,
    /// Not the form that we know.
    #[error("it cannot be read as schema {LABEL_SCHEMA}: {0}")]
    Malformed(String),
    /// A newer program wrote it.
    #[error("it has schema {found}, newer than {LABEL_SCHEMA}, which this version knows")]
    Newer {
        /// The number found.
        found: u64,
    },
    /// The file was renamed.
    #[error("it holds the label {found}, not the one that its name says")]
    OtherLabel {
        /// The label in it.
        found: Label,
    },
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u64,
}

/// Reads the bytes of a label's file.
///
/// # Errors
/// [`BadSnapshot`]; nothing of such a file may be put back.
pub fn parse(bytes: &[u8], label: &Label) -> Result<Snapshot, BadSnapshot> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(BadSnapshot::Empty);
    }
    let malformed = |error: serde_json::Error| BadSnapshot::Malformed(error.to_string());
    let SchemaOnly { schema } = serde_json::from_slice(bytes).map_err(malformed)?;
    if schema > u64::from(LABEL_SCHEMA) {
        return Err(BadSnapshot::Newer { found: schema });
    }
    let snapshot: Snapshot = serde_json::from_slice(bytes).map_err(malformed)?;
    if snapshot.label != *label {
        return Err(BadSnapshot::OtherLabel {
            found: snapshot.label,
        });
    }
    Ok(snapshot)
}

impl Saved {
    /// Whether a reading is the saved value. Leaves of a qdisc that differed come back as one kind, as the kernel makes
    /// them.
    pub fn is_met_by(&self, now: &Value) -> bool {
        self.value == *now || self.back.before().as_ref() == Some(now)
    }

    /// The knob that was in force instead of this one, with its value: a ratio while the bytes were 0.
    pub fn twin(&self) -> Option<(&KnobId, &Value)> {
        match &self.back {
            Undo::WriteTwin { twin, value, .. } => Some((twin, value)),
            _ => None,
        }
    }
}

impl Snapshot {
    /// Each value by knob, those of twins that were in force included.
    pub fn values(&self) -> BTreeMap<KnobId, Value> {
        let mut values = BTreeMap::new();
        for (knob, saved) in &self.knobs {
            values.insert(knob.clone(), saved.value.clone());
            values.extend(saved.twin().map(|(twin, value)| (twin.clone(), value.clone())));
        }
        values
    }

    /// The pretty JSON text.
    ///
    /// # Errors
    /// Never in practice: only when a value cannot be serialised.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The name that the knob's device had.
    pub fn device(&self, knob: &KnobId) -> Option<String> {
        self.devices.get(knob.device()?.as_str()).cloned()
    }

    /// What differs between this label and another snapshot, in the order of knobs.
    pub fn differences(&self, other: &Snapshot) -> Vec<Difference> {
        let (ours, theirs) = (self.values(), other.values());
        let knobs: BTreeSet<&KnobId> = ours.keys().chain(theirs.keys()).collect();
        // A twin is only in one of both when the other has a value of its own, which is the difference to tell.
        let counts = |knob: &&KnobId| {
            let own = |snapshot: &Snapshot| snapshot.knobs.contains_key(*knob);
            own(self) || own(other) || (ours.contains_key(*knob) && theirs.contains_key(*knob))
        };
        knobs
            .into_iter()
            .filter(counts)
            .filter(|knob| !self.is_same(other, knob, ours.get(*knob), theirs.get(*knob)))
            .map(|knob| Difference {
                knob: knob.clone(),
                device: other.device(knob).or_else(|| self.device(knob)),
                saved: ours.get(knob).cloned(),
                other: theirs.get(knob).cloned(),
                owner: other.knobs.get(knob).and_then(|saved| saved.owner.clone()),
            })
            .collect()
    }

    fn is_same(&self, other: &Snapshot, knob: &KnobId, ours: Option<&Value>, theirs: Option<&Value>) -> bool {
        let met = |snapshot: &Snapshot, value: Option<&Value>| {
            let saved = snapshot.knobs.get(knob);
            saved
                .zip(value)
                .is_some_and(|(saved, value)| saved.is_met_by(value))
        };
        ours == theirs || met(self, theirs) || met(other, ours)
    }
}

#[cfg(test)]
mod tests;
