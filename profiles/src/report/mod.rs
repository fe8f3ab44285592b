//! The report of a node for people who were not there: what it is, what was tried, what the numbers said, what was
//! kept and why. One type, shown as JSON (`docs/reference/schema/report.json`) and as a page ([`html`]), so that both
//! say the same.
//!
//! It is a view with names of its own: what a node stores may change its form without changing this one.

pub mod html;
mod make;
mod rows;
#[cfg(test)]
mod tests;

pub use make::{Parts, make};
pub use rows::{
    CheckRow, EvidenceRow, GroupRow, KnobRow, Listener, MetricRow, Moment, NodeRow, PointRow, ProofRow,
    SkippedRow,
};

use serde::{Deserialize, Serialize};

/// Form of [`Report`].
pub const REPORT_SCHEMA: u32 = 1;

/// A report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Form of the report.
    pub schema: u32,
    /// When it was made, RFC 3339, by the clock of the node.
    pub made_at: String,
    /// What the node is.
    pub node: NodeRow,
    /// Name of its state, for instance `committed`.
    pub state: String,
    /// The reason for it, one sentence.
    pub reason: String,
    /// The profile that is committed or was rejected, or the one that would be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// `keep`, `revert` or `inconclusive`, when there is a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Each metric that was compared for what stays, or for the whole when nothing does.
    pub metrics: Vec<MetricRow>,
    /// Each set of groups that was proved, in order.
    pub proofs: Vec<ProofRow>,
    /// Each group of the plan and what speaks for it.
    pub groups: Vec<GroupRow>,
    /// Each knob of the plan.
    pub knobs: Vec<KnobRow>,
    /// What the profile asks for and this node does not get.
    pub skipped: Vec<SkippedRow>,
    /// What was looked at while the trial was live.
    pub checks: Vec<CheckRow>,
    /// Programs whose listening sockets keep an old setting until they are restarted.
    pub listeners: Vec<Listener>,
    /// What an admin should know of the machine.
    pub findings: Vec<String>,
    /// Boots and states, oldest first.
    pub timeline: Vec<Moment>,
}
