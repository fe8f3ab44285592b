//! The order in which things happen on a node: [`start`] from what is on disk, [`look`] at the machine, [`attempt`] a
//! trial, decide, end. [`run`] is the whole.
//! [`window`] is what an admin does in his own time.

mod attempt;
pub mod because;
mod context;
mod counted;
pub mod evaluate;
mod fallback;
mod guilt;
mod kept;
pub mod leftover;
pub mod look;
pub mod prove;
mod run;
pub mod start;
mod stations;
pub mod window;

pub use context::Context;
pub use run::{End, run};
