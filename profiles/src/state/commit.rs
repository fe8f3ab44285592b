//! What a trial ends in: a commit or a rejection.

use super::Boot;
use crate::digest::Digest;
use crate::knob::KnobId;
use crate::plan::{Plan, Step};
use crate::undo::{self, Undo};
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A commit: all that a later boot needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// Name of the profile.
    pub profile: String,
    /// The layer that it came from.
    pub layer: Digest,
    /// The plan, with the values of this host.
    pub plan: Plan,
    /// Digest of the site's decisions that the plan followed.
    pub site: Digest,
    /// PCI address -> `vendor:device` of the NICs in the plan: all that the early unit can see of them, because
    /// no NIC driver is loaded yet when it runs.
    pub pci: BTreeMap<String, String>,
    /// Why it was kept.
    pub verdict: Verdict,
    /// The boot in which it was committed.
    pub boot_id: String,
    /// Seconds since 1970, UTC, by the host's clock (which may be wrong).
    pub at: i64,
    /// The way back of each knob of the plan to what it was before: what the journal of the trial had. A node that loses
    /// its network with the plan in place takes it out with these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stock: BTreeMap<KnobId, Undo>,
    /// The counted boot that was good with these values put in place by the early unit; `None` until there was one.
    /// Until then only a counted boot puts them in place.
    #[serde(default)]
    pub proved_in_boot: Option<String>,
}

/// A rejected trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// Name of the profile.
    pub profile: String,
    /// The layer that it came from.
    pub layer: Digest,
    /// Digest of the site's decisions that the trial followed: others may be tried.
    pub site: Digest,
    /// The reason, one sentence.
    pub reason: String,
    /// The numbers, when it came that far.
    pub verdict: Option<Verdict>,
    /// The boot in which it was rejected.
    pub boot_id: String,
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// What was committed before and holds again from the next boot, if anything.
    pub previous: Option<Box<Commit>>,
}

impl Commit {
    /// The way back of each knob of the plan.
    pub fn ways_back(&self) -> BTreeMap<KnobId, Undo> {
        let way = |step: &Step| {
            let kept = self.stock.get(&step.knob).cloned();
            (step.knob.clone(), kept.unwrap_or_else(|| undo::of_step(step)))
        };
        self.plan.steps.iter().map(way).collect()
    }

    /// What keeps this commit from being put in place in `boot`; `None` when it may be. `ours` says whether this is an
    /// image of ours, which has a counted entry to fall back from.
    ///
    /// Values that no boot has proved are put in place only where the boot loader counts: should the boot die of them,
    /// the count ends it.
    pub fn barrier(&self, boot: &Boot, ours: bool) -> Option<String> {
        if !ours || boot.entry.is_none() || boot.is_counted() {
            return None;
        }
        if boot.stuck {
            return Some(
                boot.reason
                    .clone()
                    .unwrap_or_else(|| "the boot loader could not count this boot".to_owned()),
            );
        }
        if self.proved_in_boot.is_some() {
            return None;
        }
        let kind = boot.kind.name();
        Some(format!(
            "no counted boot has proved it yet, and this boot is not counted (kind of boot: {kind})"
        ))
    }
}
