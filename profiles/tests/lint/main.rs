//! Lints at work on whole files: seeded faults, published sets of values, our own catalog, and bytes of any kind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod any_bytes;
mod catalog;
mod published;
mod seeded;

use dtnforge_profiles::lint::{Finding, Input, Source};
use dtnforge_profiles::site::{Site, SiteFile};
use std::path::{Path, PathBuf};

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/lint")
        .join(name)
}

fn site(toml: &str) -> Site {
    toml::from_str::<SiteFile>(toml).unwrap().check().unwrap()
}

/// All files below a directory, in the order of their paths.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The files of a directory under the paths that they would have on a host.
fn sources(dir: &Path) -> Vec<Source> {
    let texts = files(dir).into_iter().map(|path| {
        let name = path.strip_prefix(dir).unwrap().display().to_string();
        Source::new(format!("/{name}"), std::fs::read_to_string(&path).unwrap())
    });
    texts.collect()
}

/// Everything of a directory: `host.toml` and `role` are about the host, all else is to be looked at.
fn input(dir: &Path) -> Input {
    let of_host = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_default();
    let (host, role) = (of_host("host.toml"), of_host("role"));
    let mut input = Input::of(&[], &host, role.trim()).unwrap();
    let about_host = ["/host.toml", "/role"];
    let sources = sources(dir).into_iter();
    sources
        .filter(|source| !about_host.contains(&source.path.as_str()))
        .for_each(|source| input.add(source));
    input
}

/// `file:line [id]`.
fn short(finding: &Finding) -> String {
    format!("{}:{} [{}]", finding.file, finding.line, finding.lint)
}
