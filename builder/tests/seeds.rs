//! The examples of `docs/seeds.md` are tables that work, and what they become is what cloud-init's own schema takes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dtnforge::seed::{self, Format, Seed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The blocks of the page that are tables, with their headings.
fn examples() -> Vec<(String, String)> {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/seeds.md")).unwrap();
    let mut found = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap_or_default();
        for block in section.split("```toml\n").skip(1) {
            found.push((
                title.to_owned(),
                block.split("```").next().unwrap_or_default().to_owned(),
            ));
        }
    }
    found
}

fn seeds(title: &str, table: &str) -> Vec<Seed> {
    let nodes = seed::parse(Path::new(title), table).unwrap();
    nodes.iter().map(|node| Seed::of(node).unwrap()).collect()
}

#[test]
fn each_example_of_the_page_makes_seeds() {
    let made: Vec<(String, usize, bool)> = examples()
        .iter()
        .map(|(title, table)| {
            let seeds = seeds(title, table);
            (
                title.clone(),
                seeds.len(),
                seeds.iter().any(|seed| seed.needs_netplan),
            )
        })
        .collect();
    let found: Vec<(&str, usize, bool)> = made
        .iter()
        .map(|(title, count, netplan)| (title.as_str(), *count, *netplan))
        .collect();
    assert_eq!(
        found,
        [
            ("One node with DHCP", 1, false),
            ("A table of three nodes", 3, false),
            ("A bond of two NICs with a VLAN, dual stack, MTU 9000", 1, true),
            (
                "Two NICs on two dual-stack networks, each answering from its own address",
                1,
                true
            ),
            ("IPv6 only", 1, false),
        ]
    );
}

/// `cloud-init`, or the program that the environment names.
fn cloud_init() -> Command {
    Command::new(std::env::var_os("DTNFORGE_CLOUD_INIT").unwrap_or_else(|| "cloud-init".into()))
}

fn is_valid(kind: &str, path: &Path) -> bool {
    let checked = cloud_init()
        .args(["schema", "--schema-type", kind, "--config-file"])
        .arg(path)
        .output()
        .unwrap();
    if !checked.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&checked.stderr));
    }
    checked.status.success()
}

/// Skipped, with a word, where there is no cloud-init. Its schema of the network does not know tables of routes, which
/// netplan does: those examples are checked by their user-data only.
#[test]
fn cloud_init_takes_what_the_examples_become() {
    if cloud_init().arg("--version").output().is_err() {
        eprintln!("skipped: no cloud-init here; DTNFORGE_CLOUD_INIT may name one");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    for (number, (title, table)) in examples().iter().enumerate() {
        let out: PathBuf = home.path().join(number.to_string());
        for made in seed::output::write(&seeds(title, table), Format::Dir, &out, None).unwrap() {
            assert!(is_valid("cloud-config", &made.path.join("user-data")), "{title}");
            let network = made.path.join("network-config");
            let text = std::fs::read_to_string(&network).unwrap();
            assert!(
                text.contains("\"table\"") || is_valid("network-config", &network),
                "{title}"
            );
        }
    }
}

#[test]
fn the_ipv6_node_of_the_page_is_told_exactly_this() {
    let examples = examples();
    let (title, table) = examples.last().unwrap();
    let seed = seeds(title, table).remove(0);
    let text: String = seed
        .files
        .iter()
        .map(|(name, text)| format!("== {name}\n{text}"))
        .collect();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seed_of_an_ipv6_node.txt");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(golden).unwrap());
}
