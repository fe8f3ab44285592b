//! From the report of a machine to its plan and its files, on the largest report of a real machine that we have.

use crate::report::{Amount, Line, pair};
use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::conclude::conclude;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::matching::select;
use dtnforge_profiles::plan::{Plan, make, offline_target};
use dtnforge_profiles::site::{Site, SiteFile};
use dtnforge_profiles::{layer, render};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PROMISED: Amount = Amount::Time(Duration::from_millis(50));

/// The largest report that leads to a plan, with the most ports and disks.
fn largest() -> (PathBuf, String) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiles/tests/hardware");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    });
    texts
        .filter(|(_, text)| plan(text).is_some())
        .max_by_key(|(_, text)| text.len())
        .unwrap()
}

fn site() -> Site {
    toml::from_str::<SiteFile>("role = 'dtn'")
        .unwrap()
        .check()
        .unwrap()
}

/// All that `dtnforge profile explain` does, but for printing.
fn plan(report: &str) -> Option<Plan> {
    let (catalog, site) = (Catalog::embedded().unwrap(), site());
    let facts = Facts::read(report).unwrap();
    let seen = conclude(&facts, &site);
    let profile = select(&catalog, &seen, &site).chosen?;
    let layer = layer::build(profile, &site).unwrap();
    Some(make(
        profile,
        &layer.digest,
        &facts,
        &seen,
        &site,
        &offline_target(&facts),
    ))
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

pub(crate) fn lines() -> Vec<Line> {
    let (path, text) = largest();
    let name = path.file_stem().unwrap().to_string_lossy();
    println!("Report: {name}, {} bytes\n", text.len());
    vec![in_process(&text), as_program(&path), rendering(&text)]
}

fn in_process(text: &str) -> Line {
    let (ours, peer) = pair(
        200,
        || plan(text),
        || toml::from_str::<toml::Table>(text).unwrap(),
    );
    Line {
        what: "report to plan, catalog read anew".to_owned(),
        ours,
        peer: Some(("parsing the same report as plain TOML".to_owned(), peer)),
        limit: Some(PROMISED),
    }
}

fn as_program(path: &Path) -> Line {
    let path = path.to_str().unwrap();
    let explain = || {
        quiet(
            env!("CARGO_BIN_EXE_dtnforge"),
            &["profile", "explain", "--host", path, "--role", "dtn", "--json"],
        )
    };
    assert!(explain(), "dtnforge profile explain failed");
    let script = "import sys, tomllib; tomllib.load(open(sys.argv[1], 'rb'))";
    let python = || quiet("python3", &["-c", script, path]);
    let has_peer = python();
    let (ours, peer) = pair(30, explain, python);
    Line {
        what: "the same as a program, started and printed".to_owned(),
        ours,
        peer: has_peer.then(|| ("python3 that parses the same report".to_owned(), peer)),
        limit: Some(PROMISED),
    }
}

fn rendering(text: &str) -> Line {
    let plan = plan(text).unwrap();
    let (ours, peer) = pair(
        500,
        || render::files(&plan).unwrap(),
        || serde_json::to_vec(&plan).unwrap(),
    );
    Line {
        what: "plan to native files".to_owned(),
        ours,
        peer: Some(("the same plan as JSON".to_owned(), peer)),
        limit: None,
    }
}
