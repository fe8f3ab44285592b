//! Quantiles of Student's t distribution for two-sided 95 % intervals.

/// `t.ppf(0.975, df)` for df = 1 to 30, from scipy 1.x; the same numbers as in any printed t table.
const TABLE: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157,
    2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922,
    2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831,
    2.048_407, 2.045_230, 2.042_272,
];

/// `norm.ppf(0.975)`, what t comes to with very many degrees of freedom.
const NORMAL: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of Student's t with `degrees` degrees of freedom: half of a two-sided 95 % interval, in
/// standard errors. `None` for 0 degrees: one number alone has no interval.
///
/// Above 30 degrees it is the Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun, 26.7.5),
/// which is right to six digits there.
pub fn t_975(degrees: u32) -> Option<f64> {
    let index = usize::try_from(degrees.checked_sub(1)?).ok()?;
    Some(
        TABLE
            .get(index)
            .copied()
            .unwrap_or_else(|| expanded(f64::from(degrees))),
    )
}

fn expanded(degrees: f64) -> f64 {
    let z = NORMAL;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / degrees + second / degrees.powi(2) + third / degrees.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_scipy_beyond_the_table() {
        let golden = [
            (1, 12.706205),
            (2, 4.302653),
            (30, 2.042272),
            (31, 2.039513446396408),
            (35, 2.030107928250343),
            (40, 2.021075390306273),
            (60, 2.0002978220142604),
            (120, 1.9799304050824402),
            (1000, 1.9623390808264083),
            (1_000_000, 1.959966356814107),
        ];
        for (degrees, scipy) in golden {
            let ours = t_975(degrees).unwrap();
            assert!((ours - scipy).abs() < 2e-6, "df {degrees}: {ours}, scipy {scipy}");
        }
    }

    #[test]
    fn quantiles_fall_without_a_step_where_the_table_ends() {
        for degrees in 1..200 {
            assert!(t_975(degrees) > t_975(degrees + 1), "at {degrees}");
        }
    }

    #[test]
    fn one_number_alone_has_no_interval() {
        assert_eq!(t_975(0), None);
    }
}
