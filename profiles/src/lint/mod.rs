//! `dtnforge profile check`: mistakes in profiles, and in what a site has already.
//!
//! Everything that sets something (a profile of ours, a file of sysctl.d, a profile of tuned, a udev rule, a script or
//! unit) is read into one list of settings, each with its place, its owner and whether it takes effect. A lint is an
//! entry of a [registry]: an id that stays, a severity, the reason, the source, one example that is bad and one that is
//! good, and a function that looks at that list. Readers and lints take text; nothing here reads a file or a host.
//!
//! A lint that would have to know the host says so, instead of guessing.

mod catalog;
mod context;
mod definition;
mod finding;
mod input;
mod kernel;
mod key;
mod order;
mod reached;
mod read;
mod report;
mod rules;
mod setting;
mod stock_tuned;
mod text;
mod tuned;

pub use definition::{Example, Lint, Needs, Severity, Theme};
pub use finding::Finding;
pub use input::{BadInput, Form, Input, Source};
pub use report::{NotJudged, Report};

use context::Context;
use finding::Found;

/// All lints, in the order of the reference page.
pub fn registry() -> impl Iterator<Item = &'static Lint> {
    rules::ALL.iter().copied().flatten()
}

/// The lint with this id.
pub fn find(id: &str) -> Option<&'static Lint> {
    registry().find(|lint| lint.id == id)
}

/// The id that was meant.
pub fn nearest(id: &str) -> Option<&'static str> {
    crate::suggest::nearest(id, registry().map(|lint| lint.id))
}

/// Looks at everything with every lint.
pub fn check(input: &Input) -> Report {
    let context = Context::of(input);
    let mut report = Report::default();
    for lint in registry() {
        let mut found = Found::new(lint, &mut report.findings);
        if let Err(missing) = (lint.check)(&context, &mut found) {
            report.not_judged.push(NotJudged {
                lint: lint.id.to_owned(),
                needs: missing.0.to_owned(),
            });
        }
    }
    let order = |finding: &Finding| (finding.file.clone(), finding.line, finding.lint.clone());
    report.findings.sort_by_cached_key(order);
    report
}

#[cfg(test)]
mod tests;
