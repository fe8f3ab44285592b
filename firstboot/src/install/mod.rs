//! A host that is no image of ours: layers, units and what tuned needs, put in and taken out again as a whole.
//!
//! Nothing is started and no value is changed: what was there is the baseline of a trial that an admin begins. The units
//! are those of the image that make sense without its boot counter; they are part of this program, so that a layer file
//! and the program are all that a host needs.
//!
//! What is placed is written to a [`Record`] first, so that [`remove`] finds all of it whatever happened in between.

mod layers;
mod place;
mod record;
mod remove;
#[cfg(test)]
mod tests;
mod units;

pub use place::{InstallError, Installed, Program, install};
pub use record::Record;
pub use remove::{RemoveError, Removed, remove};
