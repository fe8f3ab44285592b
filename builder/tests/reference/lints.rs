//! `lints.md`: the registry of lints.

use crate::markdown::{self, code, name, prose, table};
use dtnforge_profiles::lint::{Example, Lint, Needs, Theme, registry};

const INTRODUCTION: &str = "\
What `dtnforge profile check` looks for: in the built-in catalog, in profiles of your own, and with `--sysctl`, `--tuned`,
`--udev` and `--script` in what a host has already. `dtnforge profile check --explain ID` shows what stands here.

An *error* is a line that does not do what it says (refused, lost, in the wrong unit), or that harms every host: exit code 1.
A *warning* harms some hosts, or costs something and gains nothing: exit code 1 with `--strict` only. A file that is no
profile at all, or that cannot be read, is exit code 2. Where no `--host` says which kernel is meant, it is that of
Debian 13, Linux 6.12.

A lint that lacks a fact to judge something that it saw says so (`not judged: ...`), instead of guessing. Scripts and rules
are read, never run: a variable stays a variable, and a condition is passed over.

";

pub(crate) fn page() -> String {
    let mut text = markdown::page("Lints") + INTRODUCTION;
    for theme in Theme::ALL {
        let lints: Vec<&Lint> = registry().filter(|lint| lint.theme == theme).collect();
        text += &format!("## {}\n\n", theme.heading());
        text += &table(
            &["lint", "severity", "what it finds"],
            lints.iter().map(|lint| row(lint)),
        );
        for lint in lints {
            text += &entry(lint);
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn row(lint: &Lint) -> Vec<String> {
    vec![
        format!("[{0}](#{0})", lint.id),
        name(lint.severity),
        prose(lint.what),
    ]
}

fn entry(lint: &Lint) -> String {
    let needs = match lint.needs {
        Needs::Files => "",
        Needs::Host => " Needs `--host`.",
        Needs::Role => " Needs `--role`, but for profiles.",
    };
    format!(
        "### {}\n\n{}.{needs}\n\n{}\n\nSource: {}.\n\n{}{}",
        lint.id,
        prose(lint.what),
        prose(lint.reason),
        prose(lint.source),
        example("Bad", &lint.bad),
        example("Good", &lint.good)
    )
}

fn example(title: &str, example: &Example) -> String {
    let mut title = title.to_owned();
    if !example.role.is_empty() {
        title += &format!(", with {}", code(&format!("--role {}", example.role)));
    }
    let mut blocks = String::new();
    for (path, text) in example.files {
        blocks += &format!("```\n# {path}\n{}\n```\n\n", text.trim_end());
    }
    if !example.host.is_empty() {
        blocks += &format!("on the host\n\n```\n{}\n```\n\n", example.host.trim_end());
    }
    format!("{title}:\n\n{blocks}")
}
