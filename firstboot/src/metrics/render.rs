//! A status as Prometheus text (exposition format 0.0.4). Pure.

use super::LastRun;
use dtnforge_profiles::status::{Activation, Status};
use dtnforge_profiles::verdict::Outcome;
use std::fmt::Write;

/// Each metric with its help: what the file says, and what the documentation is held against.
pub const METRICS: &[(&str, &str)] = &[
    (
        "dtnforge_state",
        "1 for the state that the node is in, 0 for each other",
    ),
    (
        "dtnforge_info",
        "Always 1: version, profile, layer and boot mode as labels",
    ),
    (
        "dtnforge_active",
        "1 when committed values were put in place in this boot",
    ),
    ("dtnforge_knobs", "Knobs of the committed plan"),
    (
        "dtnforge_drift_knobs",
        "Committed knobs whose live value is another one, or gone",
    ),
    ("dtnforge_verdict", "1 for the outcome of the last verdict"),
    ("dtnforge_verdict_ratio", "Ours / as found in the last verdict"),
    (
        "dtnforge_verdict_ratio_low",
        "Lower end of the 95 % interval of the ratio",
    ),
    (
        "dtnforge_verdict_ratio_high",
        "Upper end of the 95 % interval of the ratio",
    ),
    (
        "dtnforge_verdict_ratio_limit",
        "The worst ratio that counts as no harm",
    ),
    (
        "dtnforge_trials_begun",
        "Trials of the layer that were begun and did not end well",
    ),
    (
        "dtnforge_trials_left",
        "Trials of the layer before it is rejected until an admin says retry",
    ),
    (
        "dtnforge_boot_tries_left",
        "Tries that the boot counter of the tuned entry has left",
    ),
    (
        "dtnforge_last_run_timestamp_seconds",
        "End of the last run in this boot",
    ),
    (
        "dtnforge_last_run_exit_code",
        "Exit code of the last run in this boot",
    ),
];

/// The states of a node, in the order in which they are shown.
const STATES: &[&str] = &[
    "stock",
    "baseline",
    "trial",
    "committed",
    "rejected",
    "rollback-unverified",
    "fallback",
    "held",
];

/// One line: labels and value.
struct Sample {
    labels: Vec<(&'static str, String)>,
    value: f64,
}

fn plain(value: impl Into<f64>) -> Vec<Sample> {
    vec![labelled(Vec::new(), value)]
}

fn labelled(labels: Vec<(&'static str, String)>, value: impl Into<f64>) -> Sample {
    Sample {
        labels,
        value: value.into(),
    }
}

/// The whole text. A metric without a value (no verdict, an entry that is not counted) is left out.
pub fn render(status: &Status, last_run: Option<&LastRun>, tries_left: Option<u32>) -> String {
    let mut out = String::new();
    for (name, help) in METRICS {
        let samples = samples(name, status, last_run, tries_left);
        if samples.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
        for sample in samples {
            let _ = writeln!(out, "{name}{} {}", labels(&sample.labels), number(sample.value));
        }
    }
    out
}

fn samples(name: &str, status: &Status, last_run: Option<&LastRun>, tries_left: Option<u32>) -> Vec<Sample> {
    match name {
        "dtnforge_state" => states(&status.state),
        "dtnforge_info" => vec![info(status)],
        "dtnforge_active" => plain(u8::from(matches!(
            status.activation,
            Activation::LiveFromTrial | Activation::Early
        ))),
        "dtnforge_knobs" => plain(count(status.active.len())),
        "dtnforge_drift_knobs" => plain(count(status.active.iter().filter(|knob| !knob.ok).count())),
        "dtnforge_verdict" => outcome(status),
        "dtnforge_verdict_ratio" => ratios(status, |metric| metric.ratio),
        "dtnforge_verdict_ratio_low" => ratios(status, |metric| metric.ratio_low),
        "dtnforge_verdict_ratio_high" => ratios(status, |metric| metric.ratio_high),
        "dtnforge_verdict_ratio_limit" => ratios(status, |metric| metric.limit),
        "dtnforge_trials_begun" => plain(status.attempts.begun),
        "dtnforge_trials_left" => plain(status.attempts.left),
        "dtnforge_boot_tries_left" => tries_left.map(plain).unwrap_or_default(),
        "dtnforge_last_run_timestamp_seconds" => {
            last_run.map(|run| plain(seconds(run.at))).unwrap_or_default()
        }
        "dtnforge_last_run_exit_code" => last_run.map(|run| plain(run.exit)).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn states(present: &str) -> Vec<Sample> {
    // A state that this list does not know is shown all the same.
    let unknown = (!STATES.contains(&present)).then_some(present);
    STATES
        .iter()
        .copied()
        .chain(unknown)
        .map(|state| labelled(vec![("state", state.to_owned())], u8::from(state == present)))
        .collect()
}

fn info(status: &Status) -> Sample {
    let layer = status.layer.as_deref().unwrap_or_default();
    let labels = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("profile", status.profile.clone().unwrap_or_default()),
        ("layer", layer.get(..12).unwrap_or(layer).to_owned()),
        ("mode", status.boot.mode.clone().unwrap_or_default()),
    ];
    labelled(labels, 1)
}

fn outcome(status: &Status) -> Vec<Sample> {
    let Some(verdict) = &status.verdict else {
        return Vec::new();
    };
    [
        ("keep", Outcome::Keep),
        ("revert", Outcome::Revert),
        ("inconclusive", Outcome::Inconclusive),
    ]
    .into_iter()
    .map(|(name, outcome)| {
        labelled(
            vec![("outcome", name.to_owned())],
            u8::from(verdict.outcome == outcome),
        )
    })
    .collect()
}

fn ratios(status: &Status, of: impl Fn(&dtnforge_profiles::verdict::Comparison) -> f64) -> Vec<Sample> {
    let metrics = status.verdict.iter().flat_map(|verdict| &verdict.metrics);
    metrics
        .map(|metric| labelled(vec![("metric", metric.metric.clone())], of(metric)))
        .collect()
}

/// A count of things on a host fits; what did not would be shown as the largest that does.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A moment as Prometheus wants it: exact to the second until the year 285 million.
fn seconds(at: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
    let seconds = at as f64;
    seconds
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

fn labels(labels: &[(&str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped = |text: &str| {
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_cannot_leave_their_quotes() {
        let text = labels(&[("profile", "a\"b\\c\nd".to_owned())]);
        assert_eq!(text, r#"{profile="a\"b\\c\nd"}"#);
    }

    #[test]
    fn numbers_are_written_as_prometheus_reads_them() {
        for (value, expected) in [
            (1.0, "1"),
            (2.03, "2.03"),
            (0.0, "0"),
            (1_764_500_000.0, "1764500000"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn exactly_one_state_is_set_and_a_new_one_is_not_lost() {
        for present in ["committed", "some-new-state"] {
            let set: Vec<Sample> = states(present)
                .into_iter()
                .filter(|sample| sample.value > 0.0)
                .collect();
            assert_eq!(set.len(), 1);
            assert_eq!(set[0].labels, [("state", present.to_owned())]);
        }
    }

    #[test]
    fn names_are_what_prometheus_allows_and_differ() {
        let allowed = |c: char| c.is_ascii_lowercase() || c == '_';
        for (index, (name, help)) in METRICS.iter().enumerate() {
            assert!(
                name.starts_with("dtnforge_") && name.chars().all(allowed),
                "{name}"
            );
            assert!(!help.is_empty() && !help.contains('\n'), "{name}");
            assert!(
                METRICS[..index].iter().all(|(other, _)| other != name),
                "{name} twice"
            );
        }
    }
}
