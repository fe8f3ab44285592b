//! What `dtn-firstboot status --json` answers.

use crate::audit::Setter;
use crate::knob::KnobId;
use crate::state::{BootKind, HistoryEntry};
use crate::timeline::Event;
use crate::value::Value;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// Form of [`Status`].
pub const STATUS_SCHEMA: u32 = 1;

/// A node in one page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Name of the state, as [`crate::state::State::name`] gives it.
    pub state: String,
    /// The reason for it, one sentence.
    pub reason: String,
    /// The profile that is committed, on trial, or was rejected.
    pub profile: Option<String>,
    /// Digest of its layer.
    pub layer: Option<String>,
    /// Whether the committed values are in place in this boot.
    pub activation: Activation,
    /// Throughput as found and ours, when a verdict has it: the first line that an admin looks for.
    pub throughput: Option<Throughput>,
    /// All that the verdict says.
    pub verdict: Option<Verdict>,
    /// Each knob of the plan with its committed and its present value.
    pub active: Vec<ActiveKnob>,
    /// What the plan left out, with reasons.
    pub skipped: Vec<crate::plan::Skipped>,
    /// Trials begun for this layer, and how many are left.
    pub attempts: Attempts,
    /// This boot.
    pub boot: BootFacts,
    /// Findings about the machine that an admin should know: a NIC without firmware, a narrow PCIe link, ...
    pub findings: Vec<String>,
    /// The states that were entered, oldest first.
    pub history: Vec<HistoryEntry>,
    /// The boot counter of the tuned entry.
    #[serde(default)]
    pub boot_counter: BootCounter,
    /// Boots and the states entered in them, oldest first.
    #[serde(default)]
    pub timeline: Vec<Event>,
    /// The trial of an admin that is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<OpenWindow>,
}

/// The trial of an admin, as long as it is live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenWindow {
    /// Seconds until it is taken back unless somebody confirms; `None` when nobody has to.
    pub confirm_within_s: Option<u64>,
}

/// The counter of the tuned entry, as its file name on the EFI system partition says it now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootCounter {
    /// The file, for instance `dtnforge+2-1.efi`; `None` when there is none or it cannot be read.
    pub file: Option<String>,
    /// Tries left; `None` when the entry is not counted.
    pub left: Option<u32>,
    /// Tries used; `None` when the entry is not counted.
    pub done: Option<u32>,
    /// Why the file is not known, or why the counter could not be armed.
    pub note: Option<String>,
}

/// Whether the early unit did its work in this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is", content = "why")]
pub enum Activation {
    /// Nothing is committed, so nothing has to be active.
    NotNeeded,
    /// The values were committed in this boot and are live.
    LiveFromTrial,
    /// The early unit put the files in place before the NICs came up.
    Early,
    /// Committed, and not active in this boot, for this reason.
    CommittedNotActivated(String),
}

/// The headline numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Measurement, for instance `emulated-path`.
    pub measure: String,
    /// Mean as found, in `unit`.
    pub stock: f64,
    /// Mean of ours, in `unit`.
    pub tuned: f64,
    /// `tuned / stock`.
    pub ratio: f64,
    /// Unit, for instance `Mb/s`.
    pub unit: String,
}

/// A knob of the plan as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActiveKnob {
    /// The knob.
    pub knob: KnobId,
    /// Interface or disk name at present, for people.
    pub device: Option<String>,
    /// What was committed.
    pub committed: Value,
    /// What is read now; `None` when it cannot be read, and then `note` says why.
    pub now: Option<Value>,
    /// Whether both are the same.
    pub ok: bool,
    /// Group.
    pub group: crate::group::Group,
    /// Why the value was chosen.
    pub why: String,
    /// Remark: lowered, unreadable.
    pub note: Option<String>,
    /// Who set the present value, where it is not the committed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Setter>,
}

/// Trials of the layer in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempts {
    /// Begun, interrupted ones included.
    pub begun: u32,
    /// Left before `rejected (attempts)`.
    pub left: u32,
}

/// The present boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootFacts {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// `tuned` or `stock`, from `dtnforge.mode=` on the kernel command line; `None` when it is not there.
    pub mode: Option<String>,
    /// UEFI or BIOS.
    pub firmware: String,
    /// `on`, `off` or `unknown`.
    pub secure_boot: String,
    /// `yes`, `no` or `cannot-tell`, with the sign that speaks for it.
    pub virtualised: String,
    /// Kernel release.
    pub kernel: String,
    /// Boot entry, when known.
    #[serde(default)]
    pub entry: Option<String>,
    /// How this boot came about, when it was recorded.
    #[serde(default)]
    pub kind: Option<BootKind>,
}
