//! The mean ratio of pairs with its 95 % confidence interval.

use super::student::t_975;

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
    /// Sums up `pairs` of (first, second).
    ///
    /// # Errors
    /// With fewer than 2 pairs, or with a number that is not finite and above 0.
    pub fn of(pairs: &[(f64, f64)]) -> Result<Self, PairedRatioError> {
        let logs = pairs
            .iter()
            .copied()
            .map(log_ratio)
            .collect::<Result<Vec<_>, _>>()?;
        let too_few = PairedRatioError::TooFew(logs.len());
        let count = u32::try_from(logs.len()).map_err(|_| too_few.clone())?;
        let quantile = count.checked_sub(1).and_then(t_975).ok_or(too_few)?;
        let log_mean = logs.iter().sum::<f64>() / f64::from(count);
        let squares = logs.iter().map(|log| (log - log_mean).powi(2)).sum::<f64>();
        let log_deviation = (squares / f64::from(count - 1)).sqrt();
        Ok(Self {
            pairs: count,
            log_mean,
            log_deviation,
            half_width: quantile * log_deviation / f64::from(count).sqrt(),
        })
    }

    /// Second / first, the geometric mean over pairs.
    pub fn ratio(&self) -> f64 {
        self.log_mean.exp()
    }

    /// Lower end of the 95 % interval of the ratio.
    pub fn low(&self) -> f64 {
        (self.log_mean - self.half_width).exp()
    }

    /// Upper end of the 95 % interval of the ratio.
    pub fn high(&self) -> f64 {
        (self.log_mean + self.half_width).exp()
    }

    /// The smallest relative change that these pairs tell from no change: a mean ratio nearer to 1 than this has 1
    /// inside its interval. 0.04 stands for 4 %.
    pub fn smallest_effect(&self) -> f64 {
        self.half_width.exp_m1()
    }

    /// How many pairs with this spread and this mean would put the whole interval on one side of `limit`; `None`
    /// when more than `most` would be needed.
    pub fn pairs_to_decide(&self, limit: f64, most: u32) -> Option<u32> {
        let distance = (self.log_mean - limit.ln()).abs();
        (2..=most).find(|&count| {
            t_975(count - 1).is_some_and(|t| t * self.log_deviation / f64::from(count).sqrt() <= distance)
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
            let summary = PairedRatio::of(&zip(first, second)).unwrap();
            for (ours, scipy) in [
                (summary.ratio(), ratio),
                (summary.low(), low),
                (summary.high(), high),
            ] {
                assert!((ours - scipy).abs() < 1e-6, "{ours}, scipy {scipy} for {first:?}");
            }
        }
    }

    #[test]
    fn a_change_of_the_smallest_effect_puts_one_end_of_the_interval_at_no_change() {
        let summary = PairedRatio::of(&zip(GOLDEN[2].0, GOLDEN[2].1)).unwrap();
        let low_if_so = (1.0 + summary.smallest_effect()) * summary.low() / summary.ratio();
        assert!((low_if_so - 1.0).abs() < 1e-12, "{low_if_so}");
    }

    #[test]
    fn pairs_to_decide_is_the_first_count_whose_interval_leaves_the_limit() {
        // Mean 0, deviation 0.02: half of the interval is 0.0497 with 3 pairs, and ln 0.95 is -0.0513.
        let spread = 0.02_f64;
        let pairs = [(1.0, spread.exp()), (1.0, 1.0), (1.0, (-spread).exp())];
        let summary = PairedRatio::of(&pairs).unwrap();
        assert_eq!(summary.pairs_to_decide(0.95, 20), Some(3));
        assert_eq!(summary.pairs_to_decide(0.98, 20), Some(7));
        assert_eq!(summary.pairs_to_decide(1.0, 20), None);
    }

    #[test]
    fn numbers_without_a_ratio_are_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = PairedRatio::of(&[(1.0, 1.0), (1.0, bad)])
                .unwrap_err()
                .to_string();
            assert_eq!(error, format!("a measured value of {bad} has no ratio"));
        }
    }

    #[test]
    fn one_pair_has_no_interval() {
        let error = PairedRatio::of(&[(1.0, 2.0)]).unwrap_err().to_string();
        assert_eq!(error, "1 pair(s), and an interval needs at least 2");
    }

    #[test]
    fn extreme_numbers_stay_finite_or_say_why() {
        let summary = PairedRatio::of(&[(1e-300, 1e300), (1e-300, 1e300)]).unwrap();
        assert!(summary.half_width.is_finite() && summary.log_mean.is_finite());
    }
}
