//! Named checks: is the node still reachable while a trial is live?
//!
//! Two observations, one before the trial and one while it is live, are compared by a pure function. A trial is only
//! blamed for what was good before it: a check that failed already then is listed, and is not required. Nothing
//! outside of the site is asked, and no name is resolved: the farthest that a check looks is the next router.
//!
//! | check | asks |
//! |---|---|
//! | `link:<interface>` | does each data NIC have carrier, at the speed that it had? |
//! | `network` | has an interface with carrier an address that reaches beyond its link? |
//! | `gateway:ipv4`, `gateway:ipv6` | does the default router answer on the link, where there is one? |
//! | `sshd` | does something listen on the ports of sshd? |
//! | `failed-units` | which units have failed since; listed, never required |
//!
//! The same looks tell whether a boot is good ([`configured`], [`listening`]) and whether a committed node has lost its
//! network ([`Known`]).

mod gateway;
mod loss;
mod network;
mod sshd;
mod units;

use crate::detect::{self, Clock, Link, SystemClock};
use crate::host::Host;
use dtnforge_profiles::conclude::Conclusions;
use dtnforge_profiles::verdict::Check;
pub use gateway::{Family, Gateway, Neighbour};
pub use loss::{Known, Loss};
pub use network::{configured, waiting_for_address};
pub use sshd::{listening, masked};
use std::collections::BTreeSet;
use std::time::Duration;
pub use units::failed as failed_units;

/// How long a link, a router or sshd may take to come back after a change, s: a NIC that is reset trains its link
/// anew, and a lost lease is asked for again.
pub const RECOVERY: Duration = Duration::from_secs(20);
/// The time between two looks while something is missing.
const STEP: Duration = Duration::from_millis(500);

/// What was seen at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// How far the node can be reached.
    pub reach: Reach,
    /// The failed units, or why they could not be listed.
    pub failed_units: Result<BTreeSet<String>, String>,
}

/// How far a node can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The data NICs.
    pub links: Vec<Link>,
    /// By which interface the network is configured, or what is missing.
    pub network: Result<String, String>,
    /// The default router of each family that has one.
    pub gateways: Vec<Gateway>,
    /// The ports of sshd that something listens on; loopback does not count.
    pub ssh_ports: BTreeSet<u16>,
}

/// Looks once, as [`reach`] does, and at the units.
pub fn observe(host: &Host, conclusions: &Conclusions) -> Observation {
    Observation {
        reach: reach(host, &conclusions.data_nics),
        failed_units: units::failed(host),
    }
}

/// Looks once how far the node can be reached. A router that has not been talked to is given a few seconds to answer.
pub fn reach(host: &Host, ports: &[String]) -> Reach {
    reach_with(host, ports, gateway::observe(host, &SystemClock::default()))
}

/// The same at a glance: nobody is talked to, and of a router counts what the kernel knows already.
pub fn reach_at_a_glance(host: &Host, ports: &[String]) -> Reach {
    reach_with(host, ports, gateway::glance(host))
}

fn reach_with(host: &Host, ports: &[String], gateways: Vec<Gateway>) -> Reach {
    Reach {
        links: detect::links(host, ports),
        network: network::configured(host),
        gateways,
        ssh_ports: sshd::listening(host),
    }
}

/// Looks until all that was good before is good again, for at most [`RECOVERY`], and returns the last look.
pub fn observe_again(host: &Host, conclusions: &Conclusions, before: &Observation) -> Observation {
    until_recovered(before, || observe(host, conclusions), &SystemClock::default())
}

fn until_recovered(
    before: &Observation,
    mut look: impl FnMut() -> Observation,
    clock: &dyn Clock,
) -> Observation {
    let start = clock.now();
    loop {
        let seen = look();
        let passes = compare(before, &seen)
            .iter()
            .all(|check| check.ok || !check.required);
        if passes || clock.now().saturating_sub(start) >= RECOVERY {
            return seen;
        }
        clock.sleep(STEP);
    }
}

/// Judges what was seen in a trial against what was seen before it. Pure.
pub fn compare(before: &Observation, after: &Observation) -> Vec<Check> {
    let units = units::compare(&before.failed_units, &after.failed_units);
    let (before, after) = (&before.reach, &after.reach);
    let mut checks: Vec<Check> = before
        .links
        .iter()
        .map(|link| {
            link_check(
                link,
                after.links.iter().find(|now| now.interface == link.interface),
            )
        })
        .collect();
    checks.push(network::compare(&before.network, &after.network));
    checks.extend(gateway::compare(&before.gateways, &after.gateways));
    checks.push(sshd::compare(&before.ssh_ports, &after.ssh_ports));
    checks.push(units);
    checks
}

fn link_check(before: &Link, after: Option<&Link>) -> Check {
    let name = format!("link:{}", before.interface);
    let has_carrier = after.is_some_and(|link| link.carrier);
    let now = after.and_then(|link| link.speed_mbps);
    let (ok, detail) = match (has_carrier, before.speed_mbps, now) {
        (false, _, _) => (false, "no carrier".to_owned()),
        (true, Some(was), Some(now)) if now < was => (false, format!("{now} Mb/s, was {was} Mb/s")),
        (true, Some(was), None) => (false, format!("carrier of unknown speed, was {was} Mb/s")),
        (true, _, Some(now)) => (true, format!("{now} Mb/s")),
        (true, None, None) => (true, "carrier of unknown speed".to_owned()),
    };
    judged(name, before.carrier, ok, detail)
}

/// A check that counts only when it passed before the trial.
fn judged(name: String, before: bool, ok: bool, detail: String) -> Check {
    let detail = match (before, ok) {
        (false, false) => format!("{detail}; it failed before the trial too"),
        (false, true) => format!("{detail}; it failed before the trial"),
        (true, _) => detail,
    };
    Check {
        name,
        ok,
        required: before,
        detail,
    }
}

#[cfg(test)]
mod tests;
