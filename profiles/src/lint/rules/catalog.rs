//! The catalog of profiles: what a file lacks, and which profile no host will ever get.

use crate::lint::catalog::ProfileView;
use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::{Found, Place};

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "profile-form",
        severity: Severity::Error,
        theme: Theme::Catalog,
        needs: Needs::Files,
        what: "A file is no profile",
        reason: "An unknown key is a slip of the pen as often as not, and a missing one a guess. Nothing of such a file \
                 is used; the other files are looked at all the same.",
        source: "docs/contracts.md; profiles/src/catalog",
        bad: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\ncolour = 'red'\n",
        )]),
        good: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n",
        )]),
        check: problems,
    },
    Lint {
        id: "no-source",
        severity: Severity::Error,
        theme: Theme::Catalog,
        needs: Needs::Files,
        what: "A value has no reason or no source",
        reason: "A number that nobody can trace is copied for ten years. Each value says why it is there and where it \
                 comes from, in the file, in `show` and in the rendered files.",
        source: "profiles/src/catalog",
        bad: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[[knob]]\nid = 'sysctl:vm.swappiness'\n\
             value = 10\nwhy = 'page cache goes first'\n",
        )]),
        good: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[[knob]]\nid = 'sysctl:vm.swappiness'\n\
             value = 10\nwhy = 'page cache goes first'\nsource = 'tuned 2.25.1'\n",
        )]),
        check: problems,
    },
    Lint {
        id: "profile-never-matches",
        severity: Severity::Error,
        theme: Theme::Catalog,
        needs: Needs::Files,
        what: "No host can match the profile",
        reason: "Its conditions exclude each other (a speed class outside min_mbps to max_mbps), or it is for no role. \
                 It looks like help and never is.",
        source: "profiles/src/matching.rs",
        bad: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[match]\nspeed_classes = ['10G']\n\
             min_mbps = 25000\n",
        )]),
        good: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[match]\nspeed_classes = ['25G']\n\
             min_mbps = 25000\n",
        )]),
        check: never_matches,
    },
    Lint {
        id: "profile-shadowed",
        severity: Severity::Warning,
        theme: Theme::Catalog,
        needs: Needs::Files,
        what: "Another profile is chosen for every host that matches",
        reason: "Of the profiles that fit, the one that asks for most wins, then the name. A profile that asks for no \
                 more than others, wherever it fits, is chosen only by name. Tried with every role, link speed, store \
                 and kind of machine.",
        source: "profiles/src/matching.rs",
        bad: Example::files(&[
            ("a.toml", "schema = 1\nname = 'a'\ntitle = 'A'\nroles = ['dtn']\n"),
            ("b.toml", "schema = 1\nname = 'b'\ntitle = 'B'\nroles = ['dtn']\n"),
        ]),
        good: Example::files(&[
            ("a.toml", "schema = 1\nname = 'a'\ntitle = 'A'\nroles = ['dtn']\n"),
            (
                "b.toml",
                "schema = 1\nname = 'b'\ntitle = 'B'\nroles = ['dtn']\n[match]\nstorage = ['nvme']\n",
            ),
        ]),
        check: shadowed,
    },
];

/// Adds the problems of catalog files that are of the lint that is looking.
pub(super) fn problems(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let lint = found.lint();
    for problem in context
        .catalog
        .problems
        .iter()
        .filter(|problem| problem.lint == lint)
    {
        let message = match problem.key.as_str() {
            "" => problem.what.clone(),
            key => format!("key `{key}`: {}", problem.what),
        };
        let hint = problem
            .hint
            .clone()
            .unwrap_or_else(|| "docs/reference has the form of a profile".to_owned());
        found.at(
            &Place::new(&problem.file.as_str().into(), problem.line),
            message,
            hint,
        );
    }
    Ok(())
}

fn never_matches(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let reached = context.reached();
    for ProfileView { profile, name_at, .. } in &context.catalog.profiles {
        if !profile.is_stock() && !reached.fitting.contains(&profile.name) {
            found.at(
                name_at,
                format!("no host can match {}", profile.name),
                "look at its roles and at [match]: all of them have to hold at once",
            );
        }
    }
    Ok(())
}

fn shadowed(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let reached = context.reached();
    for ProfileView { profile, name_at, .. } in &context.catalog.profiles {
        if reached.fitting.contains(&profile.name) && !reached.chosen.contains(&profile.name) {
            found.at(
                name_at,
                format!("{} is never chosen: for each host that it fits, another profile asks for more, or has a name that \
                         comes first", profile.name),
                "ask for something that the others do not, or remove it",
            );
        }
    }
    Ok(())
}
