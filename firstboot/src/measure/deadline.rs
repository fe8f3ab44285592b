//! A point in time by which something has ended, whatever the tools do.

use super::error::MeasureError;
use std::time::{Duration, Instant};

/// A fixed point in time. Copies are the same point.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// The point `time` from now.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// Time that is left, 0 when it has passed.
    pub fn remaining(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The limit for a step that may take at most `most`: less when the deadline comes before.
    ///
    /// # Errors
    /// When the deadline has passed: then the step is not begun.
    pub fn limit(&self, most: Duration) -> Result<Duration, MeasureError> {
        let remaining = self.remaining();
        if remaining.is_zero() {
            return Err(MeasureError::DeadlinePassed);
        }
        Ok(remaining.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_gets_its_own_limit_or_what_is_left() {
        let deadline = Deadline::after(Duration::from_secs(60));
        assert_eq!(
            deadline.limit(Duration::from_secs(5)).unwrap(),
            Duration::from_secs(5)
        );
        assert!(deadline.limit(Duration::from_secs(600)).unwrap() <= Duration::from_secs(60));
    }

    #[test]
    fn after_the_deadline_no_step_begins() {
        let error = Deadline::after(Duration::ZERO)
            .limit(Duration::from_secs(5))
            .unwrap_err();
        assert!(matches!(error, MeasureError::DeadlinePassed), "{error}");
    }
}
