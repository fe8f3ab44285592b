//! Has a committed node lost its network? Judged against what was good when its plan was committed. Pure.
//!
//! The verdict of a commit keeps the checks of its trial. What passed then and is missing now may be the work of the
//! plan; what failed then already says nothing. One way in is enough: a node that lost one of two data links, or one
//! of two routers, is reachable, and is left alone.

use super::{Gateway, Neighbour, Reach};
use dtnforge_profiles::verdict::Check;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What was good when a plan was committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Data NICs that had carrier.
    links: BTreeSet<String>,
    /// Families whose default router answered.
    routers: BTreeSet<String>,
    /// Whether an interface had an address that reaches beyond the link.
    network: bool,
    /// Whether something listened on a port of sshd.
    sshd: bool,
}

/// What is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// No data NIC has carrier.
    Link(String),
    /// No interface has carrier and an address.
    Address(String),
    /// No router answers.
    Router(String),
    /// Nothing listens on a port of sshd.
    Sshd,
}

impl Loss {
    /// Whether a cable, a switch or a server of addresses could be the cause.
    pub fn is_of_the_network(&self) -> bool {
        !matches!(self, Loss::Sshd)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Link(detail) | Loss::Address(detail) | Loss::Router(detail) => f.write_str(detail),
            Loss::Sshd => f.write_str("nothing listens on a port of sshd"),
        }
    }
}

impl Known {
    /// Out of the checks of a verdict.
    pub fn of(checks: &[Check]) -> Self {
        let passed: Vec<&str> = checks
            .iter()
            .filter(|check| check.ok && check.required)
            .map(|check| check.name.as_str())
            .collect();
        let ending = |prefix| {
            let names = passed.iter().filter_map(|name| name.strip_prefix(prefix));
            names.map(str::to_owned).collect()
        };
        Self {
            links: ending("link:"),
            routers: ending("gateway:"),
            network: passed.contains(&"network"),
            sshd: passed.contains(&"sshd"),
        }
    }

    /// The same with the present names of NICs that had others then: `renamed` is old name -> new name.
    #[must_use]
    pub fn renamed(mut self, renamed: &BTreeMap<String, String>) -> Self {
        let present = |name: &String| renamed.get(name).unwrap_or(name).clone();
        self.links = self.links.iter().map(present).collect();
        self
    }

    /// The data NICs that had carrier.
    pub fn ports(&self) -> Vec<String> {
        self.links.iter().cloned().collect()
    }

    /// What is missing now; `None` when the node can be reached as far as it could be then.
    pub fn lost(&self, seen: &Reach) -> Option<Loss> {
        self.lost_link(seen)
            .or_else(|| self.lost_address(seen))
            .or_else(|| self.lost_router(seen))
            .or_else(|| (self.sshd && seen.ssh_ports.is_empty()).then_some(Loss::Sshd))
    }

    /// Whether nothing is missing, and a router is known to have answered where one did then.
    pub fn is_all_there(&self, seen: &Reach) -> bool {
        let answered = |family: &String| {
            let answers = |gateway: &Gateway| {
                gateway.family.to_string() == *family && matches!(gateway.neighbour, Neighbour::Resolved(_))
            };
            seen.gateways.iter().any(answers)
        };
        self.lost(seen).is_none() && (self.routers.is_empty() || self.routers.iter().any(answered))
    }

    fn lost_link(&self, seen: &Reach) -> Option<Loss> {
        let has_carrier = |name: &String| {
            let link = seen.links.iter().find(|link| link.interface == *name);
            link.is_some_and(|link| link.carrier)
        };
        if self.links.is_empty() || self.links.iter().any(has_carrier) {
            return None;
        }
        Some(Loss::Link(format!("no carrier on {}", self.ports().join(", "))))
    }

    fn lost_address(&self, seen: &Reach) -> Option<Loss> {
        let why = seen.network.as_ref().err()?;
        self.network.then(|| Loss::Address(why.clone()))
    }

    fn lost_router(&self, seen: &Reach) -> Option<Loss> {
        let mut silent = Vec::new();
        for family in &self.routers {
            match seen
                .gateways
                .iter()
                .find(|gateway| gateway.family.to_string() == *family)
            {
                None => silent.push(format!("no default route ({family})")),
                Some(gateway) => match &gateway.neighbour {
                    Neighbour::Unresolved(_) => {
                        let (address, interface) = (gateway.address, &gateway.interface);
                        silent.push(format!("the router {address} on {interface} does not answer"));
                    }
                    // One that answers is a way out; one that could not be asked says nothing.
                    Neighbour::Resolved(_) | Neighbour::NotRun(_) => return None,
                },
            }
        }
        (!silent.is_empty()).then(|| Loss::Router(silent.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Family;
    use crate::detect::Link;

    fn check(name: &str, ok: bool, required: bool) -> Check {
        Check {
            name: name.into(),
            ok,
            required,
            detail: String::new(),
        }
    }

    fn all_good() -> Known {
        let names = [
            "link:ens2",
            "link:ens3",
            "network",
            "gateway:ipv4",
            "gateway:ipv6",
            "sshd",
        ];
        Known::of(&names.map(|name| check(name, true, true)))
    }

    fn router(address: &str, neighbour: Neighbour) -> Gateway {
        let address: std::net::IpAddr = address.parse().unwrap();
        Gateway {
            family: if address.is_ipv4() { Family::V4 } else { Family::V6 },
            address,
            interface: "ens2".into(),
            neighbour,
        }
    }

    fn answers() -> Neighbour {
        Neighbour::Resolved("REACHABLE".into())
    }

    fn silent() -> Neighbour {
        Neighbour::Unresolved("FAILED".into())
    }

    fn seen() -> Reach {
        let link = |name: &str| Link {
            interface: name.into(),
            carrier: true,
            speed_mbps: None,
        };
        Reach {
            links: vec![link("ens2"), link("ens3")],
            network: Ok("ens2 has carrier and a public address".into()),
            gateways: vec![router("192.0.2.1", answers()), router("fe80::1", answers())],
            ssh_ports: BTreeSet::from([22]),
        }
    }

    fn lost(change: impl FnOnce(&mut Reach)) -> Option<String> {
        let mut seen = seen();
        change(&mut seen);
        all_good().lost(&seen).map(|loss| loss.to_string())
    }

    #[test]
    fn one_link_and_one_router_are_enough() {
        assert_eq!(lost(|_| ()), None);
        assert_eq!(lost(|seen| seen.links[0].carrier = false), None);
        assert_eq!(lost(|seen| seen.gateways[0].neighbour = silent()), None);
        assert_eq!(lost(|seen| seen.gateways.truncate(1)), None);
    }

    #[test]
    fn what_is_missing_is_named_the_lowest_layer_first() {
        let no_link = |seen: &mut Reach| {
            seen.links.truncate(1);
            seen.links[0].carrier = false;
            seen.network = Err("no carrier on ens2".into());
            seen.gateways.clear();
        };
        assert_eq!(lost(no_link).as_deref(), Some("no carrier on ens2, ens3"));
        let no_address = |seen: &mut Reach| {
            seen.network = Err("carrier on ens2, but no address that reaches beyond the link".into());
            seen.gateways.clear();
        };
        assert_eq!(
            lost(no_address).as_deref(),
            Some("carrier on ens2, but no address that reaches beyond the link")
        );
        let no_router = |seen: &mut Reach| {
            seen.gateways = vec![router("192.0.2.1", silent())];
        };
        assert_eq!(
            lost(no_router).as_deref(),
            Some("the router 192.0.2.1 on ens2 does not answer, no default route (ipv6)")
        );
        assert_eq!(
            lost(|seen| seen.ssh_ports.clear()).as_deref(),
            Some("nothing listens on a port of sshd")
        );
    }

    #[test]
    fn a_nic_is_looked_for_under_its_present_name() {
        let renamed = [("ens2".to_owned(), "enp1s0".to_owned())].into();
        assert_eq!(all_good().renamed(&renamed).ports(), ["enp1s0", "ens3"]);
    }

    #[test]
    fn what_failed_in_the_trial_too_is_not_missed_now() {
        let known = Known::of(&[
            check("link:ens2", false, false),
            check("network", false, false),
            check("gateway:ipv4", false, true),
            check("sshd", true, false),
        ]);
        assert_eq!(known, Known::default());
        let nothing = Reach {
            links: vec![],
            network: Err("no network interface".into()),
            gateways: vec![],
            ssh_ports: BTreeSet::new(),
        };
        assert_eq!(known.lost(&nothing), None);
    }

    #[test]
    fn a_router_that_could_not_be_asked_is_not_silent() {
        let unasked = Neighbour::NotRun("cannot run ip".into());
        let seen = |seen: &mut Reach| {
            seen.gateways = vec![router("192.0.2.1", silent()), router("fe80::1", unasked)];
        };
        assert_eq!(lost(seen), None);
    }

    #[test]
    fn a_glance_is_enough_only_when_a_router_is_known_to_have_answered() {
        let unasked = || Neighbour::NotRun("no entry in the neighbour table".into());
        let mut seen = seen();
        assert!(all_good().is_all_there(&seen));
        seen.gateways[0].neighbour = unasked();
        assert!(all_good().is_all_there(&seen));
        seen.gateways[1].neighbour = unasked();
        assert!(!all_good().is_all_there(&seen));
        assert_eq!(all_good().lost(&seen), None);
        assert!(Known::default().is_all_there(&seen), "there was no router then");
    }
}
