//! Holm's step-down: which of several metrics are harmed, when each had its chance to look so by luck.
//!
//! Six metrics at 5 % each would revert 26 % of harmless profiles. The metric with the least chance is held against
//! the error divided by the number of metrics, the next against the error divided by one less, until one passes.

/// For each chance (the probability of so much harm by luck), whether the harm counts. Together they are wrong with a
/// probability of at most `error`.
pub(super) fn harmed(chances: &[f64], error: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&left, &right| chances[left].total_cmp(&chances[right]));
    let mut harmed = vec![false; chances.len()];
    let mut left = f64::from(u32::try_from(chances.len()).unwrap_or(u32::MAX));
    for index in order {
        // Written so that a chance that is not a number counts as none.
        let counts = chances[index] <= error / left;
        if !counts {
            break;
        }
        harmed[index] = true;
        left -= 1.0;
    }
    harmed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_may_be_luck_ends_it() {
        // statsmodels: multipletests([0.01, 0.04, 0.03, 0.005], 0.05, "holm")[0] is [True, False, False, True].
        assert_eq!(
            harmed(&[0.01, 0.04, 0.03, 0.005], 0.05),
            [true, false, false, true]
        );
        assert_eq!(harmed(&[0.03, 0.03], 0.05), [false, false]);
        assert_eq!(harmed(&[0.02, 0.04], 0.05), [true, true]);
        assert_eq!(harmed(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert_eq!(harmed(&[], 0.05), Vec::<bool>::new());
    }
}
