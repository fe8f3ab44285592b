//! What a measurement is, seen from outside: a name, what it speaks for, and samples with units.

use crate::group::Group;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which settings were live while a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The kernel's own defaults.
    KernelDefaults,
    /// The host as the agent found it. The verdict is against this arm.
    AsFound,
    /// The profile applied.
    Ours,
}

/// Whether more or less of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Throughput.
    Higher,
    /// Time, latency, loss.
    Lower,
}

/// Measurement with a real peer: it may be too noisy to decide without holding up what local evidence has decided.
pub const PEER: &str = "peer";

/// Measurement of the data store: where it does not decide, its groups are as unproved as without it.
pub const STORAGE: &str = "storage";

/// Metric of the mean round-trip time while data flowed: reported always, a limit for latency roles only.
pub const RTT_UNDER_LOAD: &str = "rtt-under-load";

/// One number of one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Measurement that took it, for instance `emulated-path`.
    pub measure: String,
    /// Metric, for instance `throughput`.
    pub metric: String,
    /// Unit, for instance `Mb/s` (10^6 bit per second).
    pub unit: String,
    /// Direction of good.
    pub better: Better,
    /// Settings that were live.
    pub arm: Arm,
    /// Pair number, from 0: the samples of both arms with one number are compared with each other.
    pub pair: u32,
    /// The number, in `unit`.
    pub value: f64,
    /// What else was seen: retransmits, drops, the path's rate and RTT, the values read back inside it.
    pub context: BTreeMap<String, String>,
}

/// What a measurement says of itself before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureInfo {
    /// Name, as in [`Sample::measure`].
    pub id: String,
    /// Groups whose knobs it exercises: the only ones that it can speak for.
    pub exercises: Vec<Group>,
    /// What it needs of the host: tools and kernel modules.
    pub needs: Vec<String>,
    /// Seconds that one round takes.
    pub seconds_per_round: u32,
}
