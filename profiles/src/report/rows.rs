//! The rows of a report's tables.

use crate::measure::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the node is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeRow {
    /// Host name.
    pub name: String,
    /// Facts in the order in which they are shown: what, and its value.
    pub facts: Vec<(String, String)>,
}

/// One metric, as found beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricRow {
    /// Measurement and metric, for instance `emulated-path/throughput`.
    pub name: String,
    /// Unit of all values.
    pub unit: String,
    /// Whether more is better; else less is.
    pub more_is_better: bool,
    /// Whether it decides nothing.
    pub only_reported: bool,
    /// Mean as found.
    pub as_found: f64,
    /// Mean of ours.
    pub ours: f64,
    /// Ours / as found.
    pub ratio: f64,
    /// Lower end of the 95 % interval of the ratio, over all looks of the run.
    pub ratio_low: f64,
    /// Upper end of it.
    pub ratio_high: f64,
    /// The worst ratio that is no harm.
    pub limit: f64,
    /// Pairs compared.
    pub pairs: u32,
    /// The smallest relative change that could have been seen: 0.04 for 4 %.
    pub smallest_effect: f64,
    /// The raw values of each pair.
    pub points: Vec<PointRow>,
    /// Conditions under which it was measured.
    pub conditions: BTreeMap<String, String>,
}

impl MetricRow {
    /// Which direction is good.
    pub fn better(&self) -> Better {
        if self.more_is_better {
            Better::Higher
        } else {
            Better::Lower
        }
    }
}

/// One pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointRow {
    /// As found.
    pub as_found: f64,
    /// Ours.
    pub ours: f64,
}

/// A set of groups that was proved together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProofRow {
    /// The measurement.
    pub by: String,
    /// The groups.
    pub groups: Vec<String>,
    /// `keep`, `revert` or `inconclusive`.
    pub outcome: String,
    /// The same with its numbers.
    pub sentence: String,
    /// Each metric.
    pub metrics: Vec<MetricRow>,
}

/// A group and what speaks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupRow {
    /// The group, for instance `tcp-buffers`.
    pub group: String,
    /// What kind of evidence there is.
    pub evidence: EvidenceRow,
    /// The measurement, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why it is in or out.
    pub why: String,
}

/// Kinds of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceRow {
    /// A measurement found no harm.
    Measured,
    /// A measurement found harm, or did not decide without it.
    Dropped,
    /// Harmless by nature, read back.
    ReadBack,
    /// Applied without evidence.
    UnprovedApplied,
    /// Held at stock for lack of evidence.
    UnprovedHeld,
}

impl EvidenceRow {
    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured, no harm",
            Self::Dropped => "dropped",
            Self::ReadBack => "read back (harmless by nature)",
            Self::UnprovedApplied => "unproved, applied",
            Self::UnprovedHeld => "unproved, held at stock",
        }
    }
}

/// A knob of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobRow {
    /// The knob, for instance `sysctl:net.ipv4.tcp_rmem`.
    pub knob: String,
    /// Interface or disk name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its group.
    pub group: String,
    /// Value before.
    pub from: String,
    /// Value of the plan.
    pub to: String,
    /// Value at present, when the plan is committed; `unreadable` when it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// Why the profile wants it.
    pub why: String,
    /// Where the value was read.
    pub source: String,
    /// What the profile asked for, and why this node gets less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered: Option<String>,
}

/// What is not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedRow {
    /// The knob, or its pattern.
    pub knob: String,
    /// Its group.
    pub group: String,
    /// Why.
    pub why: String,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRow {
    /// Name, for instance `link:eth0`.
    pub name: String,
    /// Whether it passed.
    pub ok: bool,
    /// Whether failing it rejects a trial.
    pub required: bool,
    /// What was seen.
    pub detail: String,
}

/// A program that has to be restarted to use the present settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listener {
    /// Program or unit, as far as it is known.
    pub program: String,
    /// Local address and port.
    pub local: String,
    /// What its socket has.
    pub has: String,
    /// What a new socket would have.
    pub wanted: String,
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// When, RFC 3339; empty when it is not known.
    pub at: String,
    /// Whether it is a boot; else a state that was entered.
    pub boot: bool,
    /// What happened.
    pub what: String,
}
