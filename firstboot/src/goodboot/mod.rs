//! How a boot is judged: good, not yet, or given up; and what is done about one that is given up.
//!
//! A *good boot* is a node that can be reached and whose agent ended: network configured, sshd listening, any verdict.
//! [`judge`] says so out of what was seen, and only it leads to the boot loader's entry being blessed. A boot without a
//! network is never judged bad: it waits. A boot that fails otherwise is [given up](give_up): where the boot loader
//! counts, the node reboots and the count ends it; everywhere else it stays up, with all the ways in that can be had.

mod access;
mod agent;
mod give_up;
mod judge;
mod reboot;
mod units;

pub use access::open as open_access;
pub use agent::{Agent, END_PATH};
pub use agent::{forget_end, note_end, observe as observe_agent};
pub use give_up::{Deed, Situation, asked_for_rescue, decide, described, is_rescue};
pub use judge::{Judgement, SSHD_LIMIT, Seen, judge};
pub use reboot::{ask_for_reboot, reboot};
pub use units::trouble;

#[cfg(test)]
mod tests;
