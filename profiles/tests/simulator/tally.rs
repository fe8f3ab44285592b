//! What came of many trials.

use super::trial::Ended;
use dtnforge_profiles::verdict::Outcome;

/// Counts over the sites of one case.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    sites: f64,
    kept: f64,
    reverted: f64,
    gains: f64,
    pairs: Vec<u32>,
    seconds: f64,
}

impl Tally {
    pub(super) fn add(&mut self, ended: &Ended) {
        self.sites += 1.0;
        match ended.decision.outcome {
            Outcome::Keep => self.kept += 1.0,
            Outcome::Revert => self.reverted += 1.0,
            Outcome::Inconclusive => {}
        }
        let throughput = ended
            .decision
            .metrics
            .iter()
            .find(|metric| metric.metric.ends_with("/throughput"));
        if ended.decision.outcome == Outcome::Keep && throughput.is_some_and(|metric| metric.ratio_low > 1.0)
        {
            self.gains += 1.0;
        }
        self.pairs.push(ended.pairs);
        self.seconds += ended.seconds();
    }

    pub(crate) fn kept(&self) -> f64 {
        self.kept / self.sites
    }

    pub(crate) fn reverted(&self) -> f64 {
        self.reverted / self.sites
    }

    pub(crate) fn inconclusive(&self) -> f64 {
        1.0 - self.kept() - self.reverted()
    }

    /// Share that was kept with a gain that is sure.
    pub(crate) fn gains_recognised(&self) -> f64 {
        self.gains / self.sites
    }

    pub(crate) fn mean_pairs(&self) -> f64 {
        self.pairs.iter().map(|&pairs| f64::from(pairs)).sum::<f64>() / self.sites
    }

    /// The number of pairs that 95 of 100 sites do not need more than.
    pub(crate) fn pairs_of_95(&self) -> u32 {
        let mut sorted = self.pairs.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 95 / 100).copied().unwrap_or(0)
    }

    pub(crate) fn mean_seconds(&self) -> f64 {
        self.seconds / self.sites
    }
}
