//! Synthetic sites for the verdict: known effects under realistic noise, measured as a node would measure them.
//!
//! A [`Site`] has metrics with a true effect and a [`Noise`]: plain, drifting, with bursts, with outliers, or with two
//! modes. Its pair noise is the standard deviation of the logarithm of ours / as found when nothing has an effect, all
//! disturbances included. [`trial`] takes interleaved pairs of it until the verdict is there or the cap is reached, and
//! [`archetype`] does the same for the three outcomes of a published challenge. Every seed is fixed.

mod archetype;
mod noise;
mod random;
mod tally;
mod trial;

pub(crate) use archetype::{Archetype, is_right};
pub(crate) use tally::Tally;
pub(crate) use trial::Case;
use trial::trial_of;

/// What the seconds of a trial are counted from: s to build the path, s for a round.
pub(crate) const SECONDS: (f64, f64) = (8.0, 7.0);

/// Pair noise of the sites.
pub(crate) const NOISE: [f64; 4] = [0.02, 0.05, 0.10, 0.20];

/// Runs `sites` trials of a case at one pair noise.
pub(crate) fn tally(case: Case, noise: f64, sites: u32) -> Tally {
    let mut tally = Tally::default();
    for site in 0..sites {
        tally.add(&trial_of(case, noise, u64::from(site)));
    }
    tally
}

/// The share of `sites` draws of an archetype that come out right.
pub(crate) fn share_right(archetype: Archetype, noise: f64, sites: u32) -> f64 {
    let right = (0..sites)
        .filter(|&site| is_right(archetype, noise, u64::from(site)))
        .count();
    f64::from(u32::try_from(right).unwrap_or(u32::MAX)) / f64::from(sites)
}
