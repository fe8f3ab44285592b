//! `make bench`: ours beside a peer, from one run on one machine, as ratios. Absolute times say more about the machine
//! than about us, so no test waits on them; the limits that we promised are printed with what was measured.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench without its input has nothing to say"
)]

mod agent;
mod cost;
mod explain;
#[path = "../../../firstboot/tests/states/node.rs"]
#[expect(dead_code, reason = "the tests of commands use more of it")]
mod node;
mod report;

use report::Line;

fn main() {
    let lines: Vec<Line> = explain::lines().into_iter().chain(agent::lines()).collect();
    report::print(&lines);
}
