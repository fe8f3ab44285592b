//! Student's t distribution: how far the mean of a few numbers may be off.
//!
//! For whole degrees of freedom its integral is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4), so no gamma
//! function and no table is needed, for any error probability.

use std::f64::consts::{FRAC_2_PI, PI};

/// Halvings until a quantile is as good as a double can hold it.
const HALVINGS: u32 = 200;

/// The probability that a t value with `degrees` degrees of freedom is at most `t`. `None` for 0 degrees.
pub fn t_cdf(t: f64, degrees: u32) -> Option<f64> {
    (degrees > 0).then(|| f64::midpoint(1.0, within(t.abs(), degrees).copysign(t)))
}

/// Half of a two-sided interval that misses the truth with probability `error`, in standard errors: 0.05 stands for a
/// 95 % interval. `None` for 0 degrees of freedom (one number alone has no interval) or an `error` that is not between
/// 0 and 1.
pub fn t_two_sided(error: f64, degrees: u32) -> Option<f64> {
    if degrees == 0 || !(error > 0.0 && error < 1.0) {
        return None;
    }
    let wanted = 1.0 - error;
    let mut high = 1.0;
    // The tails of one degree are heavy; 1e9 standard errors are beyond every error that a double can tell from 0.
    while within(high, degrees) < wanted && high < 1e9 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if within(middle, degrees) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// The probability of a value between -`t` and `t`, for `t` at least 0.
fn within(t: f64, degrees: u32) -> f64 {
    let angle = (t / f64::from(degrees).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let squared = cosine * cosine;
    if degrees.is_multiple_of(2) {
        // sin (1 + 1/2 cos^2 + 1*3/(2*4) cos^4 + ...), degrees/2 terms.
        let (mut term, mut sum) = (1.0, 1.0);
        for index in 1..degrees / 2 {
            let index = f64::from(index);
            term *= squared * (2.0 * index - 1.0) / (2.0 * index);
            sum += term;
        }
        sine * sum
    } else {
        // 2/pi (angle + sin cos (1 + 2/3 cos^2 + 2*4/(3*5) cos^4 + ...)), (degrees-1)/2 terms.
        let (mut term, mut sum) = (cosine, 0.0);
        for index in 1..=(degrees - 1) / 2 {
            sum += term;
            let index = f64::from(index);
            term *= squared * (2.0 * index) / (2.0 * index + 1.0);
        }
        FRAC_2_PI * (angle.min(PI / 2.0) + sine * sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `error, degrees, value`; made once by this script:
    ///
    /// ```text
    /// from scipy import stats
    /// for error, degrees in [...]:
    ///     print(error, degrees, repr(float(stats.t.ppf(1 - error / 2, degrees))))
    /// ```
    const QUANTILES: [(f64, u32, f64); 16] = [
        (0.05, 1, 12.706204736174694),
        (0.05, 2, 4.302652729749462),
        (0.05, 5, 2.5705818356363146),
        (0.05, 12, 2.1788128296672284),
        (0.05, 23, 2.0686576104190486),
        (0.0158, 1, 40.2841174557837),
        (0.0158, 2, 7.860987259497924),
        (0.0158, 5, 3.5844732686153113),
        (0.0158, 12, 2.808271098767591),
        (0.0158, 23, 2.6058925768954664),
        (0.001, 1, 636.6192487687897),
        (0.001, 2, 31.599054576445365),
        (0.001, 5, 6.868826625881276),
        (0.001, 12, 4.3177912836062475),
        (0.001, 23, 3.7676268043118246),
        (0.05, 1000, 1.9623390808264083),
    ];

    /// `t, degrees, probability`; `stats.t.cdf(t, degrees)`.
    const PROBABILITIES: [(f64, u32, f64); 10] = [
        (-2.5, 5, 0.02724504967118813),
        (2.5, 5, 0.9727549503288119),
        (0.0, 7, 0.5),
        (-1.3, 8, 0.11490181245926265),
        (4.0, 1, 0.9220208696226306),
        (-4.0, 2, 0.028595479208968315),
        (0.7, 23, 0.7545261530545001),
        (-6.0, 23, 2.0284331069062197e-06),
        (1.96, 1000, 0.9748634075221256),
        (-12.0, 12, 2.417964243322842e-08),
    ];

    #[test]
    fn quantiles_agree_with_scipy() {
        for (error, degrees, scipy) in QUANTILES {
            let ours = t_two_sided(error, degrees).unwrap();
            assert!(
                (ours / scipy - 1.0).abs() < 1e-9,
                "error {error}, {degrees} degrees: {ours}, scipy {scipy}"
            );
        }
    }

    #[test]
    fn probabilities_agree_with_scipy() {
        for (t, degrees, scipy) in PROBABILITIES {
            let ours = t_cdf(t, degrees).unwrap();
            assert!(
                (ours - scipy).abs() < 1e-12,
                "t {t}, {degrees} degrees: {ours}, scipy {scipy}"
            );
        }
    }

    #[test]
    fn one_number_alone_and_a_senseless_error_have_no_interval() {
        assert_eq!(t_two_sided(0.05, 0), None);
        assert_eq!(t_cdf(1.0, 0), None);
        for error in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(t_two_sided(error, 5), None, "{error}");
        }
    }
}
