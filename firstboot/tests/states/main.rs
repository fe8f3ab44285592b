//! The commands that an admin uses between trials, run as he runs them: the binary on a host in a directory.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where its own node fails it"
)]

mod audit;
mod docs;
mod drift;
mod faults;
mod labels;
mod metrics;
mod node;
mod report;
mod script;
mod selftest;
mod window;
