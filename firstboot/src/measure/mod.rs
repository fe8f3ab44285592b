//! Measurements: what a setting does, seen on the node itself.
//!
//! A [`Measure`] takes rounds, each under the settings that are live at that moment. It never changes a setting
//! of the host: [`run_pairs`] asks its caller to switch, so that a round sees what a real apply and a real undo do.
//! What a measurement cannot see is said as well: its [`MeasureInfo`] names the groups that it exercises, and only for
//! those may its numbers speak.
//!
//! Everything ends: each tool has a limit, each round a [`Deadline`], and what a killed agent left behind is found by
//! its name and removed by [`cleanup_leftovers`].

mod child;
mod cpu;
mod deadline;
mod driver;
mod emulated_path;
mod error;
mod iperf3;
mod order;
mod peer;
mod progress;
mod storage;

pub use deadline::Deadline;
pub use driver::{Budget, Run, RunError, Stopped, run_pairs};
pub use emulated_path::{EmulatedPath, RequestResponse, Settings, cleanup_leftovers};
pub use error::MeasureError;
pub use iperf3::ReportError;
pub use peer::Peers;
pub use progress::{Progress, Step};
pub use storage::{FioError, Storage};

use dtnforge_profiles::measure::{Arm, MeasureInfo, Sample};

/// A way to measure.
pub trait Measure {
    /// What it is and what it needs. Does not touch the host.
    fn info(&self) -> MeasureInfo;

    /// Builds what the rounds need and finds out whether this host can be measured at all.
    ///
    /// # Errors
    /// [`MeasureError`]; nothing is left behind then.
    fn prepare(&mut self, deadline: Deadline) -> Result<(), MeasureError>;

    /// Takes the samples of one round under the settings that are live. `arm` and `pair` are labels for them.
    ///
    /// # Errors
    /// [`MeasureError`]; another round may be tried after it.
    fn round(&mut self, arm: Arm, pair: u32, deadline: Deadline) -> Result<Vec<Sample>, MeasureError>;

    /// Removes all that was built. Doing it twice is no error.
    ///
    /// # Errors
    /// What could not be removed.
    fn cleanup(&mut self) -> Result<(), MeasureError>;
}
