//! The order in which things happen on a node: [`start`] from what is on disk, [`look`] at the machine, [`attempt`] a
//! trial, decide, end. [`run`] is the whole.
//! [`window`] is what an admin does in his own time.

mod attempt;
mod context;
mod counted;
mod fallback;
mod guilt;
pub mod leftover;
pub mod look;
mod run;
pub mod start;
pub mod window;

pub use context::Context;
pub use run::{End, run};
