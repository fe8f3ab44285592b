//! The verdict: keep, revert or inconclusive, with all that led to it.

use crate::group::{EvidenceKind, Group};
use crate::measure::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Form of [`Verdict`] on disk.
pub const VERDICT_SCHEMA: u32 = 1;

/// What follows from a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// [`VERDICT_SCHEMA`].
    pub schema: u32,
    /// Keep, revert or inconclusive.
    pub outcome: Outcome,
    /// The sentence that an admin wants.
    pub sentence: String,
    /// One entry for each metric that was compared.
    pub metrics: Vec<Comparison>,
    /// One entry for each group of the plan.
    pub groups: BTreeMap<Group, GroupEvidence>,
    /// The named checks that ran while the trial was live.
    pub checks: Vec<Check>,
    /// All sets of groups that were proved, in order: more than one for a measurement where the whole did harm and the
    /// groups were proved apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<SetProof>,
}

/// A set of groups that one measurement proved together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetProof {
    /// The measurement, for instance `emulated-path`.
    pub by: String,
    /// The groups that were live in our arm.
    pub groups: Vec<Group>,
    /// What follows for them.
    pub outcome: Outcome,
    /// The same with its numbers.
    pub sentence: String,
    /// Each metric that was compared.
    pub metrics: Vec<Comparison>,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No harm was found, within the limits.
    Keep,
    /// Harm was found, or a check failed.
    Revert,
    /// The numbers do not decide; the host goes back to stock.
    Inconclusive,
}

/// A metric compared between *as found* and *ours*.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Measurement and metric, for instance `emulated-path/throughput`.
    pub metric: String,
    /// Unit of both means.
    pub unit: String,
    /// Direction of good.
    pub better: Better,
    /// Mean as found, in `unit`.
    pub as_found: f64,
    /// Mean of ours, in `unit`.
    pub ours: f64,
    /// Ours / as found, the geometric mean over pairs.
    pub ratio: f64,
    /// Lower end of the 95 % confidence interval of `ratio`. It holds over all looks of a run together, so it is wider
    /// than that of a single look.
    pub ratio_low: f64,
    /// Upper end of the 95 % confidence interval of `ratio`.
    pub ratio_high: f64,
    /// Pairs compared.
    pub pairs: u32,
    /// The limit that `ratio` was held against: the worst value that is no harm.
    pub limit: f64,
    /// Whether the metric is told and decides nothing: `limit` is then the one that it would have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_reported: bool,
    /// Smallest relative change that this run could have told from noise, for instance 0.04 for 4 %.
    pub smallest_effect: f64,
    /// Conditions: rate, RTT, tools and their versions, what else was seen.
    pub context: BTreeMap<String, String>,
    /// The values of each pair (as found, ours), in the order of the pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<(f64, f64)>,
}

/// What speaks for a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "evidence")]
pub enum GroupEvidence {
    /// A measurement that can speak for it found no harm.
    Measured {
        /// Name of the measurement.
        by: String,
    },
    /// A measurement that can speak for it found harm, or did not decide without it: it is not in the plan.
    Dropped {
        /// Name of the measurement.
        by: String,
        /// What it found.
        why: String,
    },
    /// Harmless by nature: reading the value back is the evidence.
    ReadBack,
    /// No matching evidence.
    Unproved {
        /// What kind could speak for it.
        needs: EvidenceKind,
        /// Whether it was applied all the same (policy).
        applied: bool,
        /// Why it was applied or held.
        why: String,
    },
}

/// A named check and what it saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Stable name, for instance `link:eth0`, `gateway:ipv4`, `sshd`.
    pub name: String,
    /// Whether it passed.
    pub ok: bool,
    /// Whether failing it rejects the trial; others are listed only.
    pub required: bool,
    /// What was seen.
    pub detail: String,
}
