//! The sentence: the outcome, the metric, the numbers and their interval.

use super::{Finding, Judged, MIN_PAIRS};
use crate::verdict::{Comparison, Outcome};

/// One sentence over all metrics. A metric that led to the outcome comes first; when it is not "kept", the others
/// are left to the table. What decides nothing, or did not decide and held nothing up, comes last.
pub(super) fn sentence(outcome: Outcome, judged: &[Judged]) -> String {
    let mut parts: Vec<String> = judged
        .iter()
        .filter(|metric| metric.decides() && metric.outcome() == outcome)
        .map(part)
        .collect();
    if parts.is_empty() {
        return "inconclusive: nothing was measured".to_owned();
    }
    if outcome == Outcome::Keep {
        parts.extend(
            judged
                .iter()
                .filter(|metric| metric.decides() && metric.outcome() == Outcome::Inconclusive)
                .map(|metric| format!("the peer does not decide: {}", part(metric))),
        );
    }
    let word = match outcome {
        Outcome::Keep => "kept",
        Outcome::Revert => "reverted",
        Outcome::Inconclusive => "inconclusive",
    };
    format!("{word}: {}", parts.join("; and "))
}

fn part(metric: &Judged) -> String {
    let over = metric
        .over
        .as_ref()
        .map(|over| format!(" over {over}"))
        .unwrap_or_default();
    match &metric.finding {
        Err(unusable) => format!("{}{over}: {unusable}", metric.name),
        Ok(finding) => {
            let tail: String = remarks(finding).iter().map(|text| format!("; {text}")).collect();
            format!(
                "{} {}{over} ({}){tail}",
                metric.name,
                change(finding),
                numbers(&finding.comparison)
            )
        }
    }
}

/// `1.90x`, or `unchanged` where no change lies inside the interval of a metric that passes.
fn change(finding: &Finding) -> String {
    let comparison = &finding.comparison;
    let may_be_none = comparison.ratio_low <= 1.0 && comparison.ratio_high >= 1.0;
    if finding.outcome == Outcome::Keep && may_be_none {
        "unchanged".to_owned()
    } else {
        format!("{}x", figure(comparison.ratio))
    }
}

fn numbers(comparison: &Comparison) -> String {
    format!(
        "{} -> {} {}, {} pairs, 95 % interval {} to {}",
        figure(comparison.as_found),
        figure(comparison.ours),
        comparison.unit,
        comparison.pairs,
        figure(comparison.ratio_low),
        figure(comparison.ratio_high),
    )
}

fn remarks(finding: &Finding) -> Vec<String> {
    let limit = figure(finding.comparison.limit);
    let verdict = match (finding.outcome, finding.pairs_to_decide) {
        (Outcome::Keep, _) => None,
        (Outcome::Inconclusive, _) if finding.comparison.pairs < MIN_PAIRS => {
            Some(format!("at least {MIN_PAIRS} pairs decide"))
        }
        (Outcome::Revert, _) => Some(format!("the limit is {limit}")),
        (Outcome::Inconclusive, Some(pairs)) => Some(format!(
            "the limit {limit} lies inside the interval, about {pairs} pairs would decide"
        )),
        (Outcome::Inconclusive, None) => Some(format!(
            "the limit {limit} lies inside the interval, and more pairs would hardly decide"
        )),
    };
    let smallest = format!(
        "a change of {} % or more could be seen",
        figure(finding.comparison.smallest_effect * 100.0)
    );
    verdict
        .into_iter()
        .chain(finding.remarks.iter().cloned())
        .chain([smallest])
        .collect()
}

/// Three digits that count, without an exponent where people can do without.
fn figure(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if !(0.001..1e9).contains(&size) => format!("{number:.2e}"),
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 => format!("{number:.1}"),
        size if size >= 0.0995 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_keep_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (1.9027, "1.90"),
            (0.95, "0.95"),
            (123.9, "124"),
            (99.96, "100"),
            (24.55, "24.6"),
            (0.0203, "0.0203"),
            (1e-7, "1.00e-7"),
            (2.5e12, "2.50e12"),
        ] {
            assert_eq!(figure(number), text);
        }
    }
}
