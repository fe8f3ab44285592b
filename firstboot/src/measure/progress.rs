//! What a run says while it runs, for the status line and the journal.

use dtnforge_profiles::measure::{Arm, Sample};
use std::fmt;

/// One thing that happened. Its [`Display`](fmt::Display) form is a line for people.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Name of the measurement.
    pub measure: &'a str,
    /// Number of the pair, from 0.
    pub pair: u32,
    /// Settings that are live.
    pub arm: Arm,
    /// What happened.
    pub step: Step<'a>,
}

/// What happened in a round.
#[derive(Debug)]
pub enum Step<'a> {
    /// It begins.
    Begins,
    /// It gave these samples.
    Measured(&'a [Sample]),
    /// It failed for this reason and is tried once more.
    TriedAgain(String),
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arm = match self.arm {
            Arm::KernelDefaults => "kernel defaults",
            Arm::AsFound => "as found",
            Arm::Ours => "ours",
        };
        // People count from 1.
        write!(f, "{}, pair {}, {arm}: ", self.measure, self.pair + 1)?;
        match &self.step {
            Step::Begins => f.write_str("begins"),
            Step::TriedAgain(why) => write!(f, "failed and is tried once more: {why}"),
            Step::Measured(samples) => {
                for (index, sample) in samples.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {:.1} {}", sample.metric, sample.value, sample.unit)?;
                }
                Ok(())
            }
        }
    }
}
