//! The reference page of all lints, written from the registry.

use super::definition::{Example, Lint, Needs, Theme};
use super::registry;
use std::fmt::Write as _;

/// The whole page, Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Lints\n\n\
         What `dtnforge profile check` looks for. This page is written from the code: `UPDATE=1 cargo test -p \
         dtnforge-profiles --test lint` writes it anew.\n\n\
         An **error** is a line that does not do what it says (refused, lost, in the wrong unit), or that harms every \
         host; the exit code is 1. A **warning** harms some hosts, or costs something and gains nothing; it fails with \
         `--strict` only. A file that is no profile at all, or that cannot be read, is exit code 2.\n\n\
         `dtnforge profile check --explain ID` shows the same text.\n",
    );
    for theme in Theme::ALL {
        let _ = write!(page, "\n## {}\n\n| id | severity | what it finds |\n|---|---|---|\n", theme.heading());
        for lint in registry().filter(|lint| lint.theme == theme) {
            let _ = writeln!(page, "| [{0}](#{0}) | {1} | {2} |", lint.id, lint.severity, lint.what);
        }
        for lint in registry().filter(|lint| lint.theme == theme) {
            entry(&mut page, lint);
        }
    }
    page
}

fn entry(page: &mut String, lint: &Lint) {
    let _ = write!(page, "\n### {}\n\n**{}**: {}.", lint.id, lint.severity, lint.what);
    page.push_str(match lint.needs {
        Needs::Files => "",
        Needs::Host => " Needs `--host`.",
        Needs::Role => " Needs `--role`, for files that are not ours.",
    });
    let _ = write!(page, "\n\n{}\n\nSource: {}.\n", lint.reason, lint.source);
    example(page, "Bad", &lint.bad);
    example(page, "Good", &lint.good);
}

fn example(page: &mut String, name: &str, example: &Example) {
    let conditions: Vec<String> = [
        (!example.role.is_empty()).then(|| format!("role {}", example.role)),
        (!example.host.is_empty()).then(|| format!("on this host: `{}`", example.host.trim().replace('\n', "; "))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let conditions = match conditions.is_empty() {
        true => String::new(),
        false => format!(" ({})", conditions.join(", ")),
    };
    let _ = write!(page, "\n{name}{conditions}:\n\n```\n");
    for (path, text) in example.files {
        let _ = write!(page, "# {path}\n{}\n", text.trim_end());
    }
    page.push_str("```\n");
}
