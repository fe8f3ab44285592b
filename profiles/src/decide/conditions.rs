//! The conditions of all rounds in one table: what was the same is said once, what differed is said for each arm.

use crate::measure::{Arm, Sample};
use std::collections::{BTreeMap, BTreeSet};

/// Joins the contexts of `samples`.
pub(super) fn joined(samples: &[&Sample]) -> BTreeMap<String, String> {
    let keys: BTreeSet<&String> = samples.iter().flat_map(|sample| sample.context.keys()).collect();
    keys.into_iter()
        .map(|key| (key.clone(), over_arms(samples, key)))
        .collect()
}

fn over_arms(samples: &[&Sample], key: &str) -> String {
    let of = |arm: Arm| -> Option<String> {
        let values: BTreeSet<&str> = samples
            .iter()
            .filter(|sample| sample.arm == arm)
            .filter_map(|sample| sample.context.get(key))
            .map(String::as_str)
            .collect();
        summary(&values)
    };
    match (of(Arm::AsFound), of(Arm::Ours)) {
        (Some(as_found), Some(ours)) if as_found == ours => as_found,
        (Some(as_found), Some(ours)) => format!("as found {as_found}; ours {ours}"),
        (Some(as_found), None) => format!("as found {as_found}"),
        (None, Some(ours)) => format!("ours {ours}"),
        (None, None) => String::new(),
    }
}

/// One value as it is, numbers as a range, other values as a list.
fn summary(values: &BTreeSet<&str>) -> Option<String> {
    let listed = || values.iter().copied().collect::<Vec<_>>().join(", ");
    if values.len() < 2 {
        return values.first().map(|&value| value.to_owned());
    }
    let Some(mut numbers) = values
        .iter()
        .map(|&text| text.parse().ok().map(|number: f64| (number, text)))
        .collect::<Option<Vec<_>>>()
    else {
        return Some(listed());
    };
    numbers.sort_by(|left, right| left.0.total_cmp(&right.0));
    match (numbers.first(), numbers.last()) {
        (Some((_, least)), Some((_, most))) => Some(format!("{least} to {most}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Better;

    fn sample(arm: Arm, context: &[(&str, &str)]) -> Sample {
        Sample {
            measure: "emulated-path".into(),
            metric: "throughput".into(),
            unit: "Mb/s".into(),
            better: Better::Higher,
            arm,
            pair: 0,
            value: 1.0,
            context: context
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    #[test]
    fn equal_conditions_are_said_once_and_others_for_each_arm() {
        let samples = [
            sample(
                Arm::AsFound,
                &[("rate", "225"), ("retransmits", "9"), ("cc", "cubic")],
            ),
            sample(
                Arm::AsFound,
                &[("rate", "225"), ("retransmits", "10"), ("cc", "cubic")],
            ),
            sample(Arm::Ours, &[("rate", "225"), ("retransmits", "0"), ("cc", "bbr")]),
            sample(
                Arm::Ours,
                &[
                    ("rate", "225"),
                    ("retransmits", "0"),
                    ("cc", "cubic"),
                    ("note", "x"),
                ],
            ),
        ];
        let table = joined(&samples.iter().collect::<Vec<_>>());
        assert_eq!(table["rate"], "225");
        assert_eq!(table["retransmits"], "as found 9 to 10; ours 0");
        assert_eq!(table["cc"], "as found cubic; ours bbr, cubic");
        assert_eq!(table["note"], "ours x");
    }
}
