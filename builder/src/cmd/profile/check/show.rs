//! Findings and lints as text or JSON.

use super::Checked;
use crate::cmd::Failure;
use crate::cmd::profile::{print, print_json, table};
use dtnforge_profiles::lint::{Example, Lint, Needs, registry};

/// `--list`.
pub(super) fn list(json: bool) -> Result<(), Failure> {
    if json {
        return print_json(registry().collect::<Vec<_>>());
    }
    let mut rows = vec![["LINT", "SEVERITY", "WHAT IT FINDS"].map(str::to_owned).to_vec()];
    rows.extend(registry().map(|lint| {
        vec![
            lint.id.to_owned(),
            lint.severity.to_string(),
            lint.what.to_owned(),
        ]
    }));
    print(&table(&rows))
}

/// `--explain ID`.
pub(super) fn explain(lint: &Lint, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(lint);
    }
    let needs = match lint.needs {
        Needs::Files => "",
        Needs::Host => "; needs --host",
        Needs::Role => "; needs --role, but for profiles",
    };
    print(&format!(
        "{} ({}{needs}): {}\n\n{}\n\nSource: {}\n{}{}",
        lint.id,
        lint.severity,
        lint.what,
        lint.reason,
        lint.source,
        example("Bad", &lint.bad),
        example("Good", &lint.good)
    ))
}

fn example(title: &str, example: &Example) -> String {
    let mut text = match example.role {
        "" => format!("\n{title}:\n"),
        role => format!("\n{title}, with --role {role}:\n"),
    };
    let host = (!example.host.is_empty()).then_some(("on the host", example.host));
    for (name, content) in example.files.iter().copied().chain(host) {
        text += &format!("  # {name}\n");
        text.extend(content.lines().map(|line| format!("  {line}\n")));
    }
    text
}

/// The findings, what could not be judged, and a last line that sums up.
pub(super) fn report(checked: &Checked) -> Result<(), Failure> {
    let mut text = String::new();
    text.extend(checked.findings.iter().map(|finding| format!("{finding}\n")));
    let not_judged = checked.not_judged.iter();
    text.extend(not_judged.map(|lint| format!("not judged: {} (needs {})\n", lint.lint, lint.needs)));
    for profile in &checked.profiles {
        text += &format!(
            "{}: {} values, layer {}\n",
            profile.name, profile.values, profile.layer
        );
    }
    if checked.files == 0 {
        return print("no files: what was named has none of the kind that was asked for\n");
    }
    let (errors, warnings) = (count(checked.errors, "error"), count(checked.warnings, "warning"));
    print(&format!("{text}{errors}, {warnings}\n"))
}

fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
