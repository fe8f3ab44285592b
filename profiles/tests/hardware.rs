//! Conclusions on real machines, published by other people: 81 that were judged for us in `tests/hardware`, and those
//! that we added in `tests/hardware_own`.
//!
//! Each file has the judgement of an engineer in `[expect]`, which the code under test does not see. An answer is right
//! when it equals the judgement, or when it is "cannot tell" and the judgement allows that; a wrong answer fails.

#![expect(
    clippy::unwrap_used,
    reason = "a file of the test that cannot be read fails the test"
)]

use dtnforge_profiles::conclude::{Conclusions, conclude};
use dtnforge_profiles::facts::{Facts, Nic};
use dtnforge_profiles::site::SiteFile;
use serde::Deserialize;
use std::path::Path;

/// The judgement; its other keys are for people.
#[derive(Debug, Clone, Deserialize)]
struct Expect {
    data_nic: String,
    #[serde(default)]
    data_nic_also: Vec<String>,
    speed_class: String,
    storage_class: String,
    virtualised: String,
    #[serde(default)]
    cannot_tell: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Right, and an answer.
    Firm,
    /// Right, and "cannot tell".
    Refused,
    Wrong,
}

impl Expect {
    fn allows(&self, key: &str) -> bool {
        self.cannot_tell.iter().any(|allowed| allowed == key)
    }

    fn mark(&self, key: &str, expected: &str, answer: &str) -> Mark {
        let refusal = |text: &str| matches!(text, "unknown" | "cannot-tell");
        match answer {
            answer if refusal(answer) && (self.allows(key) || answer == expected) => Mark::Refused,
            answer if answer == expected => Mark::Firm,
            _ => Mark::Wrong,
        }
    }

    fn mark_nics(&self, nics: &[String], facts: &Facts) -> Mark {
        if nics.is_empty()
            && (self.allows("data_nic") || matches!(self.data_nic.as_str(), "none" | "cannot-tell"))
        {
            return Mark::Refused;
        }
        // A bond stands for its legs as well.
        let mut named = nics.to_vec();
        for bond in facts
            .nics
            .iter()
            .filter(|nic| nic.name.as_ref().is_some_and(|name| nics.contains(name)))
        {
            named.extend(bond.members.iter().flatten().cloned());
        }
        let known = |name: &String| *name == self.data_nic || self.data_nic_also.contains(name);
        let must = matches!(self.data_nic.as_str(), "none" | "cannot-tell") || named.contains(&self.data_nic);
        if must && named.iter().all(known) {
            Mark::Firm
        } else {
            Mark::Wrong
        }
    }

    fn marks(&self, seen: &Conclusions, facts: &Facts) -> [(&'static str, Mark, String); 4] {
        let (speed, store) = (seen.speed_class.name(), seen.storage_class.name());
        let guest = seen.virtualised.guest.to_string();
        [
            (
                "data_nic",
                self.mark_nics(&seen.data_nics, facts),
                seen.data_nics.join(" "),
            ),
            (
                "speed_class",
                self.mark("speed_class", &self.speed_class, speed),
                speed.to_owned(),
            ),
            (
                "storage_class",
                self.mark("storage_class", &self.storage_class, store),
                store.to_owned(),
            ),
            (
                "virtualised",
                self.mark("virtualised", &self.virtualised, &guest),
                guest,
            ),
        ]
    }
}

/// A machine, as the code under test gets it, and the judgement.
fn read(path: &Path) -> (Facts, Expect) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let expect = table.remove("expect").unwrap().try_into().unwrap();
    // Remarks of people are no facts.
    for key in ["source", "source_detail", "notes"] {
        table.remove(key);
    }
    (Facts::read(&table.to_string()).unwrap(), expect)
}

fn machines(dir: &str) -> Vec<(String, Facts, Expect)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(dir);
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "toml"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths
        .iter()
        .map(|path| (name(path), read(path)))
        .map(|(name, (facts, expect))| (name, facts, expect))
        .collect()
}

/// The marks of many machines.
#[derive(Debug, Default)]
struct Tally {
    answers: usize,
    firm: usize,
    /// Answers where the judgement allows a refusal, and has a value.
    allowed: usize,
    firm_where_allowed: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn of(machines: &[(String, Facts, Expect)]) -> Self {
        let site = SiteFile::default().check().unwrap();
        let mut tally = Self::default();
        for (name, facts, expect) in machines {
            let seen = conclude(facts, &site);
            for (key, mark, answer) in expect.marks(&seen, facts) {
                tally.add(expect, key, mark);
                if mark == Mark::Wrong {
                    let why = &seen.why;
                    tally.wrong.push(format!(
                        "{name}: {key} is {answer:?}, expected {expect:?}\n  {why:?}"
                    ));
                }
            }
        }
        tally
    }

    fn add(&mut self, expect: &Expect, key: &str, mark: Mark) {
        self.answers += 1;
        self.firm += usize::from(mark == Mark::Firm);
        let value = match key {
            "data_nic" => &expect.data_nic,
            "speed_class" => &expect.speed_class,
            "storage_class" => &expect.storage_class,
            _ => &expect.virtualised,
        };
        // Where the judgement itself is "unknown" there is nothing firm to say.
        if expect.allows(key) && !matches!(value.as_str(), "unknown" | "cannot-tell" | "none") {
            self.allowed += 1;
            self.firm_where_allowed += usize::from(mark == Mark::Firm);
        }
    }
}

fn no_machine_of_is_judged_wrong(dir: &str, at_least: usize) {
    let machines = machines(dir);
    assert!(machines.len() >= at_least, "only {} machines", machines.len());
    let tally = Tally::of(&machines);
    println!(
        "{dir}: {} machines, {} answers, {} right, {} of them firm; firm where a refusal was allowed: {} of {}",
        machines.len(),
        tally.answers,
        tally.answers - tally.wrong.len(),
        tally.firm,
        tally.firm_where_allowed,
        tally.allowed
    );
    assert!(
        tally.wrong.is_empty(),
        "{} wrong:\n{}",
        tally.wrong.len(),
        tally.wrong.join("\n")
    );
    // Refusing everything would be right too, and help nobody.
    assert!(
        tally.firm_where_allowed * 3 >= tally.allowed * 2,
        "only {} of {} answers are firm where a refusal was allowed",
        tally.firm_where_allowed,
        tally.allowed
    );
}

#[test]
fn no_machine_is_judged_wrong() {
    no_machine_of_is_judged_wrong("hardware", 81);
}

#[test]
fn no_machine_of_our_own_choice_is_judged_wrong() {
    no_machine_of_is_judged_wrong("hardware_own", 33);
}

#[test]
fn a_machine_with_one_fact_less_never_gets_a_port_that_is_not_its_own() {
    let site = SiteFile::default().check().unwrap();
    for (name, facts, _) in [machines("hardware"), machines("hardware_own")].concat() {
        let whole = serde_json::to_value(&facts).unwrap();
        for (table, index, key) in facts_of(&whole) {
            let mut less = whole.clone();
            less[&table][index].as_object_mut().unwrap().remove(&key);
            let less: Facts = serde_json::from_value(less).unwrap();
            let seen = conclude(&less, &site);
            for nic in &seen.data_nics {
                let port = less
                    .nics
                    .iter()
                    .find(|port| port.name.as_ref() == Some(nic))
                    .unwrap();
                let kind = port.kind.as_deref().unwrap_or("physical");
                let never = ["representor", "subfunction", "bridge", "rdma-only"];
                assert!(
                    !never.contains(&kind),
                    "{name} without {table}[{index}].{key}: {nic} is a {kind}"
                );
            }
        }
    }
}

#[test]
fn the_order_in_which_devices_are_listed_decides_nothing() {
    let site = SiteFile::default().check().unwrap();
    for (name, facts, _) in [machines("hardware"), machines("hardware_own")].concat() {
        let answers = |facts: &Facts| {
            let seen = conclude(facts, &site);
            let mut nics = seen.data_nics;
            nics.sort();
            (nics, seen.speed_class, seen.storage_class, seen.virtualised.guest)
        };
        let mut turned = facts.clone();
        turned.nics.reverse();
        turned.blocks.reverse();
        turned.mounts.reverse();
        assert_eq!(answers(&turned), answers(&facts), "{name}");
    }
}

#[test]
fn the_names_of_ports_decide_nothing() {
    let site = SiteFile::default().check().unwrap();
    for (name, facts, _) in [machines("hardware"), machines("hardware_own")].concat() {
        let mut renamed = serde_json::to_value(&facts).unwrap();
        // A name from the PCI address means that the kernel has no interface for the port.
        let named = |nic: &&Nic| nic.name.as_ref().is_some_and(|name| !name.starts_with("pci-"));
        let physical = |nic: &&Nic| nic.kind.as_deref() == Some("physical");
        let ports = facts.nics.iter().filter(named).filter(physical);
        let names: Vec<String> = ports.filter_map(|nic| nic.name.clone()).collect();
        if let Some(nics) = renamed.get_mut("nic") {
            rename(nics, &names);
        }
        let seen = conclude(&serde_json::from_value(renamed).unwrap(), &site);
        let was = conclude(&facts, &site);
        let expected: Vec<String> = was.data_nics.iter().map(|nic| new_name(nic, &names)).collect();
        assert_eq!(seen.data_nics, expected, "{name}");
        assert_eq!(
            (seen.speed_class, seen.storage_class, seen.virtualised.guest),
            (was.speed_class, was.storage_class, was.virtualised.guest),
            "{name}"
        );
    }
}

fn new_name(name: &str, names: &[String]) -> String {
    let place = names.iter().position(|other| other == name);
    place.map_or_else(|| name.to_owned(), |place| format!("port{place}"))
}

/// Every text that is the name of a port, in all that refers to it as well.
fn rename(value: &mut serde_json::Value, names: &[String]) {
    match value {
        serde_json::Value::String(text) => *text = new_name(text, names),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        serde_json::Value::Object(table) => table.values_mut().for_each(|item| rename(item, names)),
        _ => {}
    }
}

/// Every fact of every device: table, index and key.
fn facts_of(report: &serde_json::Value) -> Vec<(String, usize, String)> {
    let mut keys = Vec::new();
    for table in ["nic", "block", "mount"] {
        for (index, device) in report[table].as_array().into_iter().flatten().enumerate() {
            // Without its kind, nothing says what an interface is.
            let facts = device.as_object().unwrap().keys().filter(|key| *key != "kind");
            keys.extend(facts.map(|key| (table.to_owned(), index, key.clone())));
        }
    }
    keys
}
