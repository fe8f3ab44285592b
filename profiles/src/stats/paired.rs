//! The mean ratio of pairs with its confidence interval, and the probability that it shows harm by chance.

use super::student::{t_cdf, t_two_sided};

/// Ratios of the second to the first number of each pair, summed up. The logarithms are finite; a ratio itself can
/// still be infinite or 0 for numbers some 10^300 apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// Pairs, at least 2.
    pub pairs: u32,
    /// Mean of the logarithms of the ratios.
    log_mean: f64,
    /// Standard deviation of the logarithms between pairs.
    log_deviation: f64,
    /// Half of the interval, as a logarithm.
    half_width: f64,
    /// Probability that the interval misses the true ratio.
    error: f64,
}

/// Why pairs have no ratio or no interval.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PairedRatioError {
    /// Two pairs are the least that show any spread.
    #[error("{0} pair(s), and an interval needs at least 2")]
    TooFew(usize),
    /// Zero, negative, infinite or not a number: there is no ratio.
    #[error("a measured value of {0} has no ratio")]
    NoRatio(f64),
}

impl PairedRatio {
    /// Sums up `pairs` of (first, second), with an interval that misses the true ratio with probability `error`
    /// (0.05 for 95 %).
    ///
    /// # Errors
    /// With fewer than 2 pairs, or with a number that is not finite and above 0.
    pub fn of(pairs: &[(f64, f64)], error: f64) -> Result<Self, PairedRatioError> {
        let logs = pairs
            .iter()
            .copied()
            .map(log_ratio)
            .collect::<Result<Vec<_>, _>>()?;
        let too_few = PairedRatioError::TooFew(logs.len());
        let count = u32::try_from(logs.len()).map_err(|_| too_few.clone())?;
        let quantile = count
            .checked_sub(1)
            .and_then(|degrees| t_two_sided(error, degrees))
            .ok_or(too_few)?;
        let log_mean = logs.iter().sum::<f64>() / f64::from(count);
        let squares = logs.iter().map(|log| (log - log_mean).powi(2)).sum::<f64>();
        let log_deviation = (squares / f64::from(count - 1)).sqrt();
        Ok(Self {
            pairs: count,
            log_mean,
            log_deviation,
            half_width: quantile * log_deviation / f64::from(count).sqrt(),
            error,
        })
    }

    /// Second / first, the geometric mean over pairs.
    pub fn ratio(&self) -> f64 {
        self.log_mean.exp()
    }

    /// Lower end of the interval of the ratio.
    pub fn low(&self) -> f64 {
        (self.log_mean - self.half_width).exp()
    }

    /// Upper end of the interval of the ratio.
    pub fn high(&self) -> f64 {
        (self.log_mean + self.half_width).exp()
    }

    /// The smallest relative change that these pairs tell from no change: a mean ratio nearer to 1 than this has 1
    /// inside its interval. 0.04 stands for 4 %.
    pub fn smallest_effect(&self) -> f64 {
        self.half_width.exp_m1()
    }

    /// The probability of a mean at least this far below 1 if the true ratio were 1.
    pub fn chance_of_less(&self) -> f64 {
        if self.log_deviation == 0.0 {
            return if self.log_mean < 0.0 { 0.0 } else { 1.0 };
        }
        let standard_error = self.log_deviation / f64::from(self.pairs).sqrt();
        // There are at least 2 pairs, so there is a degree of freedom.
        t_cdf(self.log_mean / standard_error, self.pairs - 1).unwrap_or(1.0)
    }

    /// The same for a mean above 1.
    pub fn chance_of_more(&self) -> f64 {
        let mirrored = Self {
            log_mean: -self.log_mean,
            ..*self
        };
        mirrored.chance_of_less()
    }

    /// How many pairs with this spread and this mean, of `least..=most`, would put the whole interval on one side of
    /// `limit`; `None` when more would be needed.
    pub fn pairs_to_decide(&self, limit: f64, least: u32, most: u32) -> Option<u32> {
        let distance = (self.log_mean - limit.ln()).abs();
        (least.max(2)..=most).find(|&count| {
            t_two_sided(self.error, count - 1)
                .is_some_and(|t| t * self.log_deviation / f64::from(count).sqrt() <= distance)
        })
    }
}

fn log_ratio((first, second): (f64, f64)) -> Result<f64, PairedRatioError> {
    for value in [first, second] {
        if !(value.is_finite() && value > 0.0) {
            return Err(PairedRatioError::NoRatio(value));
        }
    }
    // The difference of logarithms, because the quotient of two finite numbers can be infinite or 0.
    Ok(second.ln() - first.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First numbers, second numbers, and the ratio, low and high ends that scipy gives:
    /// `ttest_1samp(log(b / a), 0).confidence_interval(0.95)`, through `exp`.
    type Golden = (&'static [f64], &'static [f64], f64, f64, f64);

    const GOLDEN: [Golden; 4] = [
        (
            &[124.0, 123.1, 125.2],
            &[236.0, 238.5, 233.9],
            1.9027519706072744,
            1.8186561783043733,
            1.990736404626746,
        ),
        (
            &[100.0, 101.5, 99.2, 100.4, 98.9],
            &[97.0, 99.9, 96.1, 98.8, 95.2],
            0.9738887675137731,
            0.961871935173321,
            0.9860557282176984,
        ),
        (
            &[410.0, 395.5, 433.1, 402.7],
            &[405.2, 401.1, 420.9, 399.0],
            0.9911592549599904,
            0.963883830619684,
            1.0192065034032756,
        ),
        (
            &[12.5, 12.5],
            &[12.0, 13.0],
            0.9991996797437437,
            0.600903960719154,
            1.6614967869493287,
        ),
    ];

    fn zip(first: &[f64], second: &[f64]) -> Vec<(f64, f64)> {
        first.iter().copied().zip(second.iter().copied()).collect()
    }

    #[test]
    fn ratio_and_interval_agree_with_scipy() {
        for (first, second, ratio, low, high) in GOLDEN {
            let summary = PairedRatio::of(&zip(first, second), 0.05).unwrap();
            for (ours, scipy) in [
                (summary.ratio(), ratio),
                (summary.low(), low),
                (summary.high(), high),
            ] {
                assert!((ours - scipy).abs() < 1e-6, "{ours}, scipy {scipy} for {first:?}");
            }
        }
    }

    /// Of the first three of [`GOLDEN`]: `ttest_1samp(log(b / a), 0, alternative="less").pvalue`, and the ends of
    /// `confidence_interval(1 - 0.0158)`, through `exp`.
    const SEQUENTIAL: [(f64, f64, f64); 3] = [
        (0.9998666979807372, 1.7519233516693102, 2.066565902098472),
        (0.002043287830915719, 0.9565168433119406, 0.9915761945241386),
        (0.19288126860406082, 0.9490394400322486, 1.0351484113868452),
    ];

    #[test]
    fn chances_and_wider_intervals_agree_with_scipy() {
        for ((first, second, ..), (chance, low, high)) in GOLDEN.into_iter().zip(SEQUENTIAL) {
            let summary = PairedRatio::of(&zip(first, second), 0.0158).unwrap();
            for (ours, scipy) in [
                (summary.chance_of_less(), chance),
                (summary.chance_of_more(), 1.0 - chance),
                (summary.low(), low),
                (summary.high(), high),
            ] {
                assert!((ours - scipy).abs() < 1e-9, "{ours}, scipy {scipy} for {first:?}");
            }
        }
    }

    #[test]
    fn equal_ratios_leave_nothing_to_chance() {
        let less = PairedRatio::of(&[(2.0, 1.0); 6], 0.05).unwrap();
        assert!(less.chance_of_less() == 0.0 && less.chance_of_more() == 1.0);
    }

    #[test]
    fn a_change_of_the_smallest_effect_puts_one_end_of_the_interval_at_no_change() {
        let summary = PairedRatio::of(&zip(GOLDEN[2].0, GOLDEN[2].1), 0.05).unwrap();
        let low_if_so = (1.0 + summary.smallest_effect()) * summary.low() / summary.ratio();
        assert!((low_if_so - 1.0).abs() < 1e-12, "{low_if_so}");
    }

    #[test]
    fn pairs_to_decide_is_the_first_count_whose_interval_leaves_the_limit() {
        // Mean 0, deviation 0.02: half of the interval is 0.0497 with 3 pairs, and ln 0.95 is -0.0513.
        let spread = 0.02_f64;
        let pairs = [(1.0, spread.exp()), (1.0, 1.0), (1.0, (-spread).exp())];
        let summary = PairedRatio::of(&pairs, 0.05).unwrap();
        assert_eq!(summary.pairs_to_decide(0.95, 2, 20), Some(3));
        assert_eq!(summary.pairs_to_decide(0.98, 2, 20), Some(7));
        assert_eq!(summary.pairs_to_decide(1.0, 2, 20), None);
    }

    #[test]
    fn numbers_without_a_ratio_are_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = PairedRatio::of(&[(1.0, 1.0), (1.0, bad)], 0.05)
                .unwrap_err()
                .to_string();
            assert_eq!(error, format!("a measured value of {bad} has no ratio"));
        }
    }

    #[test]
    fn one_pair_has_no_interval() {
        let error = PairedRatio::of(&[(1.0, 2.0)], 0.05).unwrap_err().to_string();
        assert_eq!(error, "1 pair(s), and an interval needs at least 2");
    }

    #[test]
    fn extreme_numbers_stay_finite_or_say_why() {
        let summary = PairedRatio::of(&[(1e-300, 1e300), (1e-300, 1e300)], 0.05).unwrap();
        assert!(summary.half_width.is_finite() && summary.log_mean.is_finite());
    }
}
