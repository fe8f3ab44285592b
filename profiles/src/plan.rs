//! A plan: what will be written, from what, to what, and why. Data, made by a pure function and used by all that
//! print, apply, verify or undo it, so that they cannot disagree.

mod devices;
mod hold;
mod make;
mod offline;
mod order;
mod origin;
mod resolved;
mod wanted;
mod within_device;

pub use hold::{Held, hold};
pub use make::{knobs_of, make};
pub use offline::offline_target;
pub use order::in_order;
pub use origin::{Origin, ValueOrigin};
pub use resolved::{Resolved, resolve};

use crate::catalog::Advice;
use crate::digest::Digest;
use crate::group::Group;
use crate::knob::{Disrupts, KnobId, Owner};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Form of [`Plan`] on disk.
pub const PLAN_SCHEMA: u32 = 1;

/// An ordered list of steps for one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: u32,
    /// Catalog name of the profile.
    pub profile: String,
    /// Digest of the layer that the profile came from.
    pub layer: Digest,
    /// [`crate::facts::Facts::fingerprint`] of the host that the plan was made for.
    pub fingerprint: Digest,
    /// In the order in which they are applied.
    pub steps: Vec<Step>,
    /// What the profile asks for and this host does not get, with the reason.
    pub skipped: Vec<Skipped>,
    /// Modules that must be loaded before the steps, for instance `sch_fq`.
    pub modules: Vec<String>,
    /// The text of our tuned profile (`tuned.conf`), when the profile has one.
    pub tuned_conf: Option<String>,
    /// Interface names at planning time, by device: for people and for rendering, never for matching.
    pub interfaces: BTreeMap<String, String>,
    /// What only an admin can set, for the data store of this host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// Words for the kernel command line. No trial sets them: they need another UKI or boot entry, and a reboot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot: Vec<BootWord>,
}

/// A word that the profile wants on the kernel command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootWord {
    /// The knob, for instance `boot:iommu`.
    pub knob: KnobId,
    /// Its value.
    pub value: Value,
    /// Why the profile wants it.
    pub why: String,
    /// Where the value was read.
    pub source: String,
}

/// One knob to be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The knob.
    pub knob: KnobId,
    /// The value found when the plan was made.
    pub from: Value,
    /// The value to write.
    pub to: Value,
    /// What the profile said, where the host made us lower it, and why: `(value, reason)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered: Option<Lowered>,
    /// The group that it stands or falls with.
    pub group: Group,
    /// Why the profile wants this value.
    pub why: String,
    /// Where the value comes from: the line of the profile, and what made the value out of it.
    #[serde(default)]
    pub origin: Origin,
    /// Where the value was read.
    pub source: String,
    /// Who writes it on later boots.
    pub owner: Owner,
    /// What the write interrupts.
    pub disrupts: Disrupts,
}

/// A value that was lowered to what the device or the memory allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lowered {
    /// What the profile asked for.
    pub asked: Value,
    /// Why this host gets less.
    pub why: String,
}

/// What reading a knob gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// It is there, with this value.
    Is(Value),
    /// The file, device or setting does not exist here.
    Absent,
    /// The device or the kernel refuses it, for this reason.
    Unsupported(String),
}

/// The host as a plan needs it: given, so that planning is pure and works offline (`profile check`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Kernel release, for instance `6.12.48+deb13-amd64`.
    pub kernel: String,
    /// Modules that the kernel has, loaded, loadable or built in; `None` when it is not known (offline).
    pub modules: Option<std::collections::BTreeSet<String>>,
    /// Memory, byte; `None` when it is not known.
    pub memory_bytes: Option<u64>,
    /// Present values of all knobs that the profile names; offline: empty, and each knob counts as readable.
    pub readings: BTreeMap<KnobId, Reading>,
    /// Largest value that a device takes (ring and channel maximums), by knob.
    pub limits: BTreeMap<KnobId, i64>,
    /// Whether this is a plan without a host: nothing is skipped because it cannot be read.
    pub offline: bool,
}

/// A knob of the profile that is not in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The knob, or its pattern where there is no device for it.
    pub knob: String,
    /// Its group.
    pub group: Group,
    /// Why it is not done: unsupported here, already so, group held, no such device.
    pub why: String,
    /// Set when it is not done because the host had what the profile wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
}

/// What a profile wants of a knob that had it before the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Met {
    /// The wanted value.
    pub wanted: Value,
    /// Whether a larger one is as good, because the value is only ever raised.
    pub or_more: bool,
}

impl Met {
    /// Whether a value is still what the profile wants.
    pub fn by(&self, now: &Value) -> bool {
        let size = |value: &Value| value.integers().and_then(|fields| fields.last().copied());
        let more = || {
            size(now)
                .zip(size(&self.wanted))
                .is_some_and(|(now, wanted)| now >= wanted)
        };
        *now == self.wanted || (self.or_more && more())
    }
}

impl Plan {
    /// The name of this plan: the digest of its serialised form.
    ///
    /// # Errors
    /// Never in practice: only when a value cannot be serialised.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        Ok(Digest::of(&serde_json::to_vec(self)?))
    }

    /// The groups that the plan changes, each once, in show order.
    pub fn groups(&self) -> Vec<Group> {
        Group::ALL
            .into_iter()
            .filter(|group| self.steps.iter().any(|step| step.group == *group))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_only_raised_may_grow_and_any_other_has_to_stay() {
        let met = |wanted: &str, or_more| Met {
            wanted: wanted.into(),
            or_more,
        };
        assert!(met("4096 131072 6291456", true).by(&"4096 87380 16777216".into()));
        assert!(!met("1048576", true).by(&"212992".into()));
        assert!(!met("10", false).by(&"60".into()));
        assert!(met("cubic", true).by(&"cubic".into()));
        assert!(!met("cubic", true).by(&"bbr".into()));
    }
}
