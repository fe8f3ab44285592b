//! The reference pages under `docs/reference` are made from the code and the catalog. `make docs` writes them; this test
//! fails when one is stale, is missing or has no maker.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod comparison;
mod exit_codes;
mod knobs;
mod lints;
mod markdown;
mod profiles;
mod schemas;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Pages by path below `docs/reference`.
type Pages = BTreeMap<String, String>;

fn pages() -> Pages {
    let mut pages = Pages::new();
    pages.extend([
        ("knobs.md".to_owned(), knobs::page()),
        ("exit-codes.md".to_owned(), exit_codes::page()),
        ("lints.md".to_owned(), lints::page()),
    ]);
    pages.insert("comparison.md".to_owned(), comparison::page());
    pages.extend(profiles::pages());
    pages.insert("README.md".to_owned(), readme());
    pages.extend(schemas::files());
    pages
}

/// What is where.
fn readme() -> String {
    let rows = [
        (
            "profiles.md",
            "every profile of the catalog, by role: values, reasons, sources",
        ),
        (
            "comparison.md",
            "our values beside those that others publish, and why they differ",
        ),
        ("knobs.md", "every setting that a profile may have"),
        (
            "lints.md",
            "every lint of `dtnforge profile check`, each with an example",
        ),
        ("exit-codes.md", "exit codes of both programs"),
        (
            "schema/",
            "JSON Schema of profiles, facts, site decisions, specs and tables of nodes, for editors",
        ),
    ];
    let row = |(page, about): (&str, &str)| vec![format!("[{page}]({page})"), about.to_owned()];
    let text = markdown::page("Reference") + "Made from the code and the catalog by `make docs`.\n\n";
    (text + &markdown::table(&["page", "what it is"], rows.map(row)))
        .trim_end()
        .to_owned()
        + "\n"
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference")
}

/// What is there now.
fn found() -> Pages {
    let mut found = Pages::new();
    let mut left = vec![dir()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(dir()).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn write(pages: &Pages) {
    for name in found().keys().filter(|name| !pages.contains_key(*name)) {
        std::fs::remove_file(dir().join(name)).unwrap();
    }
    for (name, text) in pages {
        let path = dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn every_page_says_what_the_code_says() {
    let pages = pages();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        write(&pages);
    }
    let found = found();
    let mut stale: Vec<String> = pages
        .iter()
        .filter(|(name, text)| found.get(*name) != Some(text))
        .map(|(name, _)| name.clone())
        .collect();
    stale.extend(
        found
            .keys()
            .filter(|name| !pages.contains_key(*name))
            .map(|name| format!("{name} (nothing makes it)")),
    );
    assert!(
        stale.is_empty(),
        "stale in docs/reference, run `make docs`: {stale:?}"
    );
}
