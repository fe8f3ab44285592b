//! The little statistics that a verdict needs: pairs of numbers, their mean ratio, and how sure one can be of it.
//!
//! Rounds of *as found* and *ours* are taken next to each other in time, so each pair shares the state of the
//! machine: clock, neighbours, memory. The ratio within a pair is free of what drifts between pairs. Ratios are
//! averaged as logarithms, because twice as fast and half as fast are equally far from no change.
//! Student's t ([`t_two_sided`]) says how far the mean of so few pairs may be off ([`PairedRatio`]).

mod paired;
mod student;

pub use paired::{PairedRatio, PairedRatioError};
pub use student::{t_cdf, t_two_sided};
