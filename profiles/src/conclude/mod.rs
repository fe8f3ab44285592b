//! What follows from the facts of a host: its data NICs, their speed, the data store, and whether it is a guest.
//!
//! A confident wrong answer is worse than "cannot tell": where the facts do not decide, the likelier value is given
//! and its key stands in [`Conclusions::cannot_tell`], or the answer is unknown. Each answer comes with its reason.

mod candidates;
mod card;
mod ceiling;
mod classes;
mod disks;
mod link;
mod medium;
mod ports;
mod size;
mod stack;
mod storage;
mod virtualised;

pub use classes::{SpeedClass, StorageClass};
pub use virtualised::{Guest, Virtualised};

use crate::facts::Facts;
use crate::site::Site;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answers that profiles are matched against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusions {
    /// Interfaces that carry data: physical ports, each once; empty when there is none or it cannot be told.
    pub data_nics: Vec<String>,
    /// Kernel drivers of these interfaces, each once, where they are known.
    #[serde(default)]
    pub drivers: Vec<String>,
    /// Class of the speed of one flow.
    pub speed_class: SpeedClass,
    /// Speed of one port in Mb/s; `None` when it is unknown.
    pub link_mbps: Option<u32>,
    /// Speed of all data ports with link together, Mb/s: of a bond, what its legs carry together.
    #[serde(default)]
    pub host_mbps: Option<u32>,
    /// Data ports whose card cannot do what its link promises, with the reason. Their settings are left alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limited: BTreeMap<String, String>,
    /// Whether the site stated the speed, because the kernel knows none.
    pub link_stated: bool,
    /// Class of what holds the data.
    pub storage_class: StorageClass,
    /// Local disks that hold the data, when local disks do.
    pub data_disks: Vec<String>,
    /// Whether the host is a guest, with the sign that speaks for it.
    pub virtualised: Virtualised,
    /// NUMA node of the first data NIC.
    pub numa_node: Option<i64>,
    /// Keys whose answer is not certain: `data_nic`, `speed_class`, `storage_class`, `virtualised`.
    pub cannot_tell: Vec<String>,
    /// The reasons, one sentence for each answer.
    pub why: Vec<String>,
    /// What an admin should know of the machine: a narrow PCIe link, a port without a driver, a bond with a dead leg.
    pub findings: Vec<String>,
}

/// An answer on the way: the reason, whether it is certain, and what was noticed beside it.
#[derive(Debug, Default)]
struct Reasons {
    why: Vec<String>,
    cannot_tell: Vec<&'static str>,
    findings: Vec<String>,
}

impl Reasons {
    fn unsure(&mut self, key: &'static str) {
        if !self.cannot_tell.contains(&key) {
            self.cannot_tell.push(key);
        }
    }
}

impl Conclusions {
    /// What to ask the admin: for each answer that is not certain, the question and the key that answers it.
    pub fn questions(&self) -> Vec<String> {
        let asks = |key: &str| self.cannot_tell.iter().any(|unsure| unsure == key);
        QUESTIONS
            .iter()
            .filter(|(key, ..)| asks(key))
            .map(|(_, question, answer)| format!("{question} (key `{answer}` in site.toml)"))
            .collect()
    }
}

/// What is not certain, the question for it, and the key in `site.toml` that answers it.
const QUESTIONS: [(&str, &str, &str); 4] = [
    ("data_nic", "which interfaces carry the data?", "data_nics"),
    ("speed_class", "what is the speed of the data link?", "link_mbps"),
    ("storage_class", "what holds the data?", "storage_class"),
    ("virtualised", "is this host a guest?", "virtualised"),
];

/// Concludes on the facts of a host; the site may state what the kernel does not know.
pub fn conclude(facts: &Facts, site: &Site) -> Conclusions {
    let mut reasons = Reasons::default();
    let virtualised = virtualised::conclude(facts, site, &mut reasons);
    let ports = ports::choose(facts, site, &mut reasons);
    let link = link::conclude(&ports, site, &mut reasons);
    let limited = match virtualised.guest {
        Guest::Yes => BTreeMap::new(),
        _ => card::look_at(&ports, &mut reasons),
    };
    let store = storage::conclude(facts, site, &mut reasons);
    Conclusions {
        numa_node: ports
            .first()
            .and_then(|port| port.nic.numa_node)
            .filter(|node| *node >= 0),
        drivers: drivers_of(&ports),
        data_nics: ports.iter().map(|port| port.name.to_owned()).collect(),
        speed_class: link.mbps.map_or(SpeedClass::Unknown, SpeedClass::of),
        link_mbps: link.mbps,
        link_stated: link.stated,
        storage_class: store.class,
        data_disks: store.disks,
        virtualised,
        host_mbps: link::of_host(&ports, link.mbps),
        limited,
        cannot_tell: reasons.cannot_tell.into_iter().map(str::to_owned).collect(),
        why: reasons.why,
        findings: reasons.findings,
    }
}

fn drivers_of(ports: &[ports::Port<'_>]) -> Vec<String> {
    let mut drivers: Vec<String> = ports.iter().filter_map(|port| port.nic.driver.clone()).collect();
    drivers.sort();
    drivers.dedup();
    drivers
}

#[cfg(test)]
mod tests;
