//! What follows from the facts of a host: its data NICs, their speed, the data store, and whether it is a guest.
//!
//! A confident wrong answer is worse than "cannot tell": where the facts do not decide, the likelier value is given
//! and its key stands in [`Conclusions::cannot_tell`], or the answer is unknown. Each answer comes with its reason.

mod candidates;
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

/// Concludes on the facts of a host; the site may state what the kernel does not know.
pub fn conclude(facts: &Facts, site: &Site) -> Conclusions {
    let mut reasons = Reasons::default();
    let virtualised = virtualised::conclude(facts, &mut reasons);
    let ports = ports::choose(facts, &mut reasons);
    let link = link::conclude(&ports, site, &mut reasons);
    if virtualised.guest != Guest::Yes {
        link::look_at_pcie(&ports, link.mbps, &mut reasons);
    }
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
