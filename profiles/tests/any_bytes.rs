//! Whatever stands in a file that the agent reads, reading it ends in a value or an error, never in a panic.
//!
//! Each reader gets a good file with a few mistakes in it: a byte turned, a part cut out, put in twice or replaced by noise.
//! The runner is deterministic: every run reads the same files. `DTNFORGE_FUZZ=1000000` reads more of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files fails")]

use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::journal::{self, Event, Record};
use dtnforge_profiles::label::Snapshot;
use dtnforge_profiles::layer::Index;
use dtnforge_profiles::site::SiteFile;
use dtnforge_profiles::state::{self, State};
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::window::{Phase, WINDOW_SCHEMA, Window};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const STATE: &str = include_str!("../src/state/committed.json");
const FACTS: &str = include_str!("hardware/a100-node-a-dual-100g-cx6dx-x8.toml");
const PROFILE: &str = include_str!("../catalog/dtn-nvme.toml");
const SITE: &str = "schema = 1\nrole = 'dtn'\nlink_mbps = 25000\ndata_nics = ['eth0']\nunproved = 'hold'\n";

/// A mistake in a file.
#[derive(Debug, Clone)]
enum Mistake {
    Turn(prop::sample::Index, u8),
    Cut(prop::sample::Index, usize),
    Twice(prop::sample::Index, usize),
    Noise(prop::sample::Index, Vec<u8>),
    End(prop::sample::Index),
}

fn mistakes() -> impl Strategy<Value = Vec<Mistake>> {
    let at = any::<prop::sample::Index>;
    let one = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Mistake::Turn(at, byte)),
        (at(), 1..64_usize).prop_map(|(at, length)| Mistake::Cut(at, length)),
        (at(), 1..64_usize).prop_map(|(at, length)| Mistake::Twice(at, length)),
        (at(), prop::collection::vec(any::<u8>(), 1..16)).prop_map(|(at, noise)| Mistake::Noise(at, noise)),
        at().prop_map(Mistake::End),
    ];
    prop::collection::vec(one, 1..4)
}

fn with(mut bytes: Vec<u8>, mistakes: &[Mistake]) -> Vec<u8> {
    for mistake in mistakes {
        if bytes.is_empty() {
            break;
        }
        let size = bytes.len();
        match mistake {
            Mistake::Turn(at, byte) => bytes[at.index(size)] ^= byte,
            Mistake::Cut(at, length) => {
                let from = at.index(size);
                bytes.drain(from..size.min(from + length));
            }
            Mistake::Twice(at, length) => {
                let from = at.index(size);
                let part = bytes[from..size.min(from + length)].to_vec();
                bytes.splice(from..from, part);
            }
            Mistake::Noise(at, noise) => {
                let from = at.index(size);
                bytes.splice(from..from, noise.iter().copied());
            }
            Mistake::End(at) => bytes.truncate(at.index(size)),
        }
    }
    bytes
}

/// Reads `good` with mistakes in it, again and again; returns how many of them were taken and how many refused.
fn read_all(good: &str, read: impl Fn(&[u8]) -> bool) -> (u32, u32) {
    assert!(read(good.as_bytes()), "the good file is refused");
    let cases = std::env::var("DTNFORGE_FUZZ")
        .ok()
        .and_then(|text| text.parse().ok());
    let config = Config {
        cases: cases.unwrap_or(1_500),
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let counts = std::cell::Cell::new((0, 0));
    runner
        .run(&mistakes(), |mistakes| {
            let (taken, refused) = counts.get();
            counts.set(match read(&with(good.as_bytes().to_vec(), &mistakes)) {
                true => (taken + 1, refused),
                false => (taken, refused + 1),
            });
            Ok(())
        })
        .unwrap();
    let (taken, refused) = counts.get();
    assert!(
        refused > 100,
        "only {refused} files were refused: the mistakes are too harmless"
    );
    (taken, refused)
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn committed() -> dtnforge_profiles::state::Commit {
    match state::parse(STATE.as_bytes()).unwrap().state {
        State::Committed(commit) => *commit,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_state_file_with_mistakes_is_a_state_or_a_reason() {
    read_all(STATE, |bytes| match state::parse(bytes) {
        Ok(mut file) => {
            // What was read can be worked with and written again.
            file.state.conclude_dead_attempt();
            assert!(state::parse(file.to_text().unwrap().as_bytes()).is_ok());
            true
        }
        Err(bad) => {
            assert!(!bad.to_string().is_empty());
            false
        }
    });
}

#[test]
fn a_journal_with_mistakes_never_gives_a_record_that_was_not_written() {
    let intent = |seq, value: &str| Record {
        seq,
        event: Event::Intent {
            knob: "sysctl:net.ipv4.tcp_rmem".parse().unwrap(),
            to: value.into(),
            undo: Undo::Write("4096 131072 6291456".into()),
        },
    };
    let written = [
        intent(0, "4096 131072 33554432"),
        intent(1, "4096 131072 67108864"),
    ];
    let good: String = written.iter().map(|record| record.to_line().unwrap()).collect();
    read_all(&good, |bytes| {
        let lossy = String::from_utf8_lossy(bytes);
        let Ok(records) = journal::parse(&lossy) else {
            return false;
        };
        for record in &records {
            assert!(written.contains(record), "{record:?} was never written");
        }
        records.len() == written.len()
    });
}

#[test]
fn the_record_of_a_trial_with_mistakes_is_a_window_or_a_reason() {
    let good = Window {
        schema: WINDOW_SCHEMA,
        phase: Phase::Live,
        until: Some(120),
        commit: committed(),
    };
    read_all(&good.to_text().unwrap(), |bytes| Window::parse(bytes).is_ok());
}

#[test]
fn facts_with_mistakes_are_facts_or_a_reason() {
    read_all(FACTS, |bytes| {
        let Some(facts) = text(bytes).and_then(|text| Facts::read(text).ok()) else {
            return false;
        };
        // Whatever was read has a fingerprint.
        assert_ne!(facts.fingerprint(), Digest::of(b""));
        true
    });
}

#[test]
fn a_profile_with_mistakes_is_a_profile_or_a_list_of_problems() {
    let bases: Vec<(&str, &str)> = Catalog::embedded_files()
        .filter(|(name, _)| name.starts_with("base-"))
        .collect();
    read_all(PROFILE, |bytes| {
        let Some(text) = text(bytes) else { return false };
        let files: Vec<(&str, &str)> = bases.iter().copied().chain([("dtn-nvme.toml", text)]).collect();
        Catalog::parse(&files).is_ok()
    });
}

#[test]
fn decisions_of_a_site_with_mistakes_are_decisions_or_a_reason() {
    read_all(SITE, |bytes| {
        let file = text(bytes).and_then(|text| toml::from_str::<SiteFile>(text).ok());
        file.is_some_and(|file| file.check().is_ok())
    });
}

#[test]
fn labels_and_lists_of_layers_that_are_anything_else_are_refused() {
    for bytes in [&b""[..], b"{}", b"[]", b"null", b"\xff\xfe", STATE.as_bytes()] {
        assert!(serde_json::from_slice::<Snapshot>(bytes).is_err());
        assert!(text(bytes).is_none_or(|text| Index::parse(text).is_err()));
    }
}
