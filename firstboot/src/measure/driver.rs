//! The run: rounds of both arms in pairs, until they decide or the time is spent.
//!
//! The numbers are looked at when [`is_look`] says so and at the end, never after each pair: a run that stops at the
//! first answer by chance has more chances than its intervals account for.

use super::order::Order;
use super::progress::{Progress, Step};
use super::{Deadline, Measure, MeasureError};
use dtnforge_profiles::decide::{Decision, Limits, MAX_PAIRS, MIN_PAIRS, decide, is_look};
use dtnforge_profiles::measure::{Arm, Sample};
use dtnforge_profiles::verdict::Outcome;
use std::time::{Duration, Instant};

/// How long a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// After the least number of pairs, no pair is begun that would end later than this.
    pub time: Duration,
    /// Whatever happens, the last round ends before this: the least number of pairs may use it on a slow machine.
    pub hard_limit: Duration,
    /// Pairs before the numbers are looked at.
    pub min_pairs: u32,
    /// Pairs after which the run ends undecided.
    pub max_pairs: u32,
}

impl Budget {
    /// A budget of `seconds` with as many pairs as the verdict wants, and as much again for a slow machine.
    pub fn seconds(seconds: u32) -> Self {
        let time = Duration::from_secs(seconds.into());
        Self {
            time,
            hard_limit: time * 2,
            min_pairs: MIN_PAIRS,
            max_pairs: MAX_PAIRS,
        }
    }
}

/// A run that came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// All samples, in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// What follows from them.
    pub decision: Decision,
    /// The arm that came first in pair 0, by chance.
    pub first: Arm,
    /// Pairs measured.
    pub pairs: u32,
    /// Why it ended there.
    pub stopped: Stopped,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The numbers keep or revert.
    Decided,
    /// One more pair would not have fitted into the time.
    TimeSpent,
    /// [`Budget::max_pairs`].
    MostPairs,
}

/// A run that broke off. The host has the settings of `arm`, or of the arm before when the switch failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// A round failed, and once more.
    #[error("not measured: pair {} failed twice: {first}; then: {again}", pair + 1)]
    Round {
        /// Pair, from 0.
        pair: u32,
        /// Settings that were live.
        arm: Arm,
        /// The first failure.
        first: MeasureError,
        /// The second one.
        again: MeasureError,
    },
    /// A round failed in a way that trying again does not change.
    #[error("not measured: pair {} failed: {source}", pair + 1)]
    NoRound {
        /// Pair, from 0.
        pair: u32,
        /// Settings that were live.
        arm: Arm,
        /// Why.
        source: MeasureError,
    },
    /// The caller could not switch, or wants to stop.
    #[error("{0}")]
    Switch(E),
}

/// Measures pairs with a prepared `measure`.
///
/// `switch` is called before every round, also when the arm stays the same, so it must not mind that; an error from it
/// ends the run, which is also how a caller stops one. After the run the settings of the last round are live.
///
/// # Errors
/// [`RunError`]. Cleaning up is the caller's in any case.
pub fn run_pairs<E>(
    measure: &mut dyn Measure,
    switch: &mut dyn FnMut(Arm) -> Result<(), E>,
    budget: &Budget,
    limits: &Limits,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Run, RunError<E>> {
    let mut runner = Runner {
        id: measure.info().id,
        deadline: Deadline::after(budget.hard_limit),
        measure,
        switch,
        progress,
    };
    runner.run(Order::random(), budget, limits)
}

struct Runner<'a, E> {
    id: String,
    deadline: Deadline,
    measure: &'a mut dyn Measure,
    switch: &'a mut dyn FnMut(Arm) -> Result<(), E>,
    progress: &'a mut dyn FnMut(&Progress<'_>),
}

impl<E> Runner<'_, E> {
    fn run(&mut self, order: Order, budget: &Budget, limits: &Limits) -> Result<Run, RunError<E>> {
        let begin = Instant::now();
        let mut longest = Duration::ZERO;
        let mut samples = Vec::new();
        let mut pairs = 0;
        loop {
            let pair_begin = Instant::now();
            for arm in order.arms(pairs) {
                samples.extend(self.round(arm, pairs)?);
            }
            pairs += 1;
            longest = longest.max(pair_begin.elapsed());
            if pairs < budget.min_pairs {
                continue;
            }
            let ends = ends(pairs, begin.elapsed() + longest, budget);
            if ends.is_none() && !is_look(pairs) {
                continue;
            }
            let decision = decide(&samples, limits);
            let decided = (decision.outcome != Outcome::Inconclusive).then_some(Stopped::Decided);
            if let Some(stopped) = decided.or(ends) {
                return Ok(Run {
                    samples,
                    decision,
                    first: order.first,
                    pairs,
                    stopped,
                });
            }
        }
    }

    /// One round; a failed one is tried once more.
    fn round(&mut self, arm: Arm, pair: u32) -> Result<Vec<Sample>, RunError<E>> {
        let first = match self.attempt(arm, pair)? {
            Ok(samples) => return Ok(samples),
            Err(source) if !source.may_pass() => return Err(RunError::NoRound { pair, arm, source }),
            Err(first) => first,
        };
        self.tell(arm, pair, Step::TriedAgain(first.to_string()));
        self.attempt(arm, pair)?.map_err(|again| RunError::Round {
            pair,
            arm,
            first,
            again,
        })
    }

    fn attempt(&mut self, arm: Arm, pair: u32) -> Result<Result<Vec<Sample>, MeasureError>, RunError<E>> {
        (self.switch)(arm).map_err(RunError::Switch)?;
        self.tell(arm, pair, Step::Begins);
        let round = self
            .deadline
            .limit(Duration::MAX)
            .and_then(|_| self.measure.round(arm, pair, self.deadline));
        if let Ok(samples) = &round {
            self.tell(arm, pair, Step::Measured(samples));
        }
        Ok(round)
    }

    fn tell(&mut self, arm: Arm, pair: u32, step: Step<'_>) {
        (self.progress)(&Progress {
            measure: &self.id,
            pair,
            arm,
            step,
        });
    }
}

/// Why the run has to end here, decided or not; `after_next` is when one more pair would end.
fn ends(pairs: u32, after_next: Duration, budget: &Budget) -> Option<Stopped> {
    if pairs >= budget.max_pairs {
        Some(Stopped::MostPairs)
    } else if after_next > budget.time {
        Some(Stopped::TimeSpent)
    } else {
        None
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
