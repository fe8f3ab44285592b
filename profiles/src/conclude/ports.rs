//! Which ports carry data: of those that may, the fastest with link, each once.

use super::candidates::candidates;
use super::ceiling;
use super::link::{self, LinkState};
use super::{Reasons, stack};
use crate::facts::{Facts, Nic};
use crate::site::Site;

/// A port that may carry data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    pub(super) nic: &'a Nic,
    /// The bond or team that it is a leg of.
    pub(super) bond: Option<&'a Nic>,
    /// All that is known of the host.
    pub(super) facts: &'a Facts,
}

impl Port<'_> {
    pub(super) fn state(&self) -> LinkState {
        link::state_of(self)
    }

    pub(super) fn mbps(&self) -> Option<u32> {
        link::mbps_of(self)
    }

    /// Part of a cluster fabric (InfiniBand, Omni-Path), not of an Ethernet.
    fn is_fabric(&self) -> bool {
        self.nic.kind.as_deref() == Some("ipoib") || self.nic.fabric.is_some()
    }

    /// The card: the PCI address without its function.
    fn card(&self) -> Option<&str> {
        let slot = self.nic.pci_slot.as_deref()?;
        Some(slot.rsplit_once('.').map_or(slot, |(card, _)| card))
    }

    /// Whether both are functions of one card.
    pub(super) fn shares_card_with(&self, other: &Port<'_>) -> bool {
        self.name == other.name || (self.card().is_some() && self.card() == other.card())
    }

    /// Whether an address that others can reach is on it, or on a bond, VLAN or bridge above it.
    fn has_address(&self) -> bool {
        stack::above(self.nic, self.facts).into_iter().any(|nic| {
            let scope = nic
                .addr_scope
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            nic.default_network == Some(true) || scope.contains("public") || scope.contains("private")
        })
    }
}

/// The data ports of a host, and why them.
pub(super) fn choose<'a>(facts: &'a Facts, site: &Site, reasons: &mut Reasons) -> Vec<Port<'a>> {
    let all = candidates(facts);
    note_unusable(facts, reasons);
    if !site.data_nics.is_empty() {
        return stated(&site.data_nics, all, reasons);
    }
    let up: Vec<Port<'a>> = all
        .iter()
        .copied()
        .filter(|port| port.state() == LinkState::Up)
        .collect();
    let chosen = if up.is_empty() {
        without_link_state(all, reasons)
    } else {
        fastest(up, &all, reasons)
    };
    if chosen.is_empty() && !reasons.why.iter().any(|why| why.starts_with("data_nics")) {
        reasons
            .why
            .push("data_nics: none, no port can carry data".to_owned());
    }
    chosen
}

/// The ports that the site names, a bond by its legs. One without link, or that can carry no data, is none.
fn stated<'a>(names_of_site: &[String], all: Vec<Port<'a>>, reasons: &mut Reasons) -> Vec<Port<'a>> {
    let is_named =
        |name: Option<&str>| name.is_some_and(|name| names_of_site.iter().any(|named| named == name));
    let bond_name = |port: &Port<'a>| port.bond.and_then(|bond| bond.name.as_deref());
    for name in names_of_site {
        let known = |port: &Port<'a>| port.name == name || bond_name(port) == Some(name.as_str());
        if !all.iter().any(known) {
            reasons.findings.push(format!(
                "{name} carries the data by the site's word, and is no port of this host that can"
            ));
        }
    }
    let mut ports: Vec<Port<'a>> = all
        .into_iter()
        .filter(|port| is_named(Some(port.name)) || is_named(bond_name(port)))
        .collect();
    let named = names(&ports);
    ports.retain(|port| port.state() != LinkState::Down);
    reasons.why.push(match (ports.is_empty(), named.as_str()) {
        (false, _) => format!("data_nics: {}, stated by the site", names(&ports)),
        (true, "") => "data_nics: none, the site names no port of this host".to_owned(),
        (true, named) => format!("data_nics: none, no carrier on {named}"),
    });
    ports
}

/// The fastest ports with link; an Ethernet of 10G or more goes before a fabric.
fn fastest<'a>(up: Vec<Port<'a>>, all: &[Port<'a>], reasons: &mut Reasons) -> Vec<Port<'a>> {
    let (fabric, ethernet): (Vec<_>, Vec<_>) = up.into_iter().partition(Port::is_fabric);
    let top = |ports: &[Port<'_>]| ports.iter().filter_map(Port::mbps).max();
    let may_be_up = |port: &Port<'_>| !port.is_fabric() && port.state() != LinkState::Down;
    let any_ethernet = all.iter().any(may_be_up);
    if !fabric.is_empty() && any_ethernet && top(&ethernet).is_none_or(|mbps| mbps < 10_000) {
        reasons.unsure("data_nic");
        reasons.unsure("speed_class");
        reasons
            .why
            .push("data_nics: cannot tell, beside a fabric there is no Ethernet of 10G or more".to_owned());
        return Vec::new();
    }
    let ports = if ethernet.is_empty() { fabric } else { ethernet };
    let Some(best) = top(&ports) else {
        return all_of_unknown_speed(ports, reasons);
    };
    let (chosen, slower): (Vec<_>, Vec<_>) = ports.into_iter().partition(|port| {
        // A leg that has link but no speed of its own goes with the leg that has one.
        port.mbps().is_none_or(|mbps| mbps == best) && (port.mbps().is_some() || port.bond.is_some())
    });
    note_doubts(&chosen, &slower, all, best, reasons);
    reasons.why.push(format!(
        "data_nics: {}, the fastest with link ({best} Mb/s)",
        names(&chosen)
    ));
    chosen
}

/// Ports with link whose speed nobody knows: one port or one bond is the answer, several are not.
fn all_of_unknown_speed<'a>(ports: Vec<Port<'a>>, reasons: &mut Reasons) -> Vec<Port<'a>> {
    if is_one(&ports) {
        reasons
            .why
            .push(format!("data_nics: {}, all that has link", names(&ports)));
        return ports;
    }
    let (with, _): (Vec<_>, Vec<_>) = ports.iter().copied().partition(Port::has_address);
    reasons.unsure("data_nic");
    if is_one(&with) {
        reasons.why.push(format!(
            "data_nics: {}, the one that has an address",
            names(&with)
        ));
        return with;
    }
    reasons.why.push(format!(
        "data_nics: cannot tell, the speed of none of {} is known",
        names(&ports)
    ));
    Vec::new()
}

/// No port is known to have link: one card that is no management card is the answer, several are not.
fn without_link_state<'a>(all: Vec<Port<'a>>, reasons: &mut Reasons) -> Vec<Port<'a>> {
    let down = |port: &Port<'_>| port.state() == LinkState::Down;
    if !all.is_empty() && all.iter().all(down) {
        let names = names(&all);
        reasons.findings.push(format!(
            "no link on {names}: the node stays stock until a data port has one"
        ));
        reasons
            .why
            .push(format!("data_nics: none, no carrier on {names}"));
        return Vec::new();
    }
    let mut ports: Vec<_> = all
        .into_iter()
        .filter(|port| !down(port) && !port.is_fabric())
        .collect();
    narrow(&mut ports, |port| ceiling::mbps(port.nic) != Some(1_000));
    let many = ports.len();
    narrow(&mut ports, |port| ceiling::mbps(port.nic).is_none());
    narrow(&mut ports, |port| !port.name.starts_with("pci-"));
    if many > 1 && !is_one_bond(&ports) {
        reasons.unsure("data_nic");
    }
    if ports.len() > 1 && are_alike(&ports) {
        reasons.why.push(format!(
            "data_nics: {}, alike, and none shows its link",
            names(&ports)
        ));
        return ports;
    }
    if is_one(&ports) {
        reasons.why.push(format!(
            "data_nics: {}, the only card that may carry data",
            names(&ports)
        ));
        return ports;
    }
    if !ports.is_empty() {
        reasons.why.push(format!(
            "data_nics: cannot tell, none of {} shows its link",
            names(&ports)
        ));
    }
    Vec::new()
}

/// Keeps what fits, when anything does.
fn narrow(ports: &mut Vec<Port<'_>>, fits: impl Fn(&Port<'_>) -> bool) {
    if ports.iter().any(&fits) {
        ports.retain(&fits);
    }
}

fn is_one_bond(ports: &[Port<'_>]) -> bool {
    let bond = |port: &Port<'_>| port.bond.and_then(|bond| bond.name.clone());
    ports
        .first()
        .is_some_and(|first| bond(first).is_some() && ports.iter().all(|port| bond(port) == bond(first)))
}

/// One port, the legs of one bond, or the ports of one card.
fn is_one(ports: &[Port<'_>]) -> bool {
    let one_card = || {
        let card = ports.first().and_then(Port::card);
        card.is_some() && ports.iter().all(|port| port.card() == card)
    };
    ports.len() == 1 || is_one_bond(ports) || (!ports.is_empty() && one_card())
}

/// Ports of equal cards.
fn are_alike(ports: &[Port<'_>]) -> bool {
    let kind = |port: &Port<'_>| (port.nic.driver.clone(), port.nic.model.clone());
    let first = ports.first().map(kind);
    first
        .as_ref()
        .is_some_and(|(driver, model)| driver.is_some() && model.is_some())
        && ports.iter().all(|port| Some(kind(port)) == first)
}

fn names(ports: &[Port<'_>]) -> String {
    ports.iter().map(|port| port.name).collect::<Vec<_>>().join(", ")
}

/// What speaks against the fastest ports: an address elsewhere, equal ports on several cards, a dead leg.
fn note_doubts(chosen: &[Port<'_>], slower: &[Port<'_>], all: &[Port<'_>], best: u32, reasons: &mut Reasons) {
    let fast = |port: &&Port<'_>| port.mbps().is_some_and(|mbps| mbps >= 10_000);
    let rival = slower.iter().filter(fast).find(|port| port.has_address());
    if let Some(rival) = rival.filter(|_| !chosen.iter().any(Port::has_address)) {
        reasons.unsure("data_nic");
        reasons.unsure("speed_class");
        let (name, chosen) = (rival.name, names(chosen));
        reasons.findings.push(format!(
            "the address is on {name}, and {chosen} is faster and has none"
        ));
    }
    if !is_one(chosen) {
        reasons.unsure("data_nic");
    }
    let dead = all
        .iter()
        .filter(|port| port.state() == LinkState::Down && port.bond.is_some());
    for port in dead.filter(|port| is_one_bond(&[chosen, &[**port]].concat())) {
        reasons.findings.push(format!(
            "{} is a leg of the data bond and has no link: the host has the other legs only",
            port.name
        ));
    }
    note_idle(all, best, reasons);
}

/// Ports without link that could be faster than the data port: they count as not there until they have one.
fn note_idle(all: &[Port<'_>], best: u32, reasons: &mut Reasons) {
    let faster = |port: &&Port<'_>| ceiling::mbps(port.nic).is_none_or(|ceiling| ceiling > best);
    let idle: Vec<&str> = all
        .iter()
        .filter(|port| port.state() != LinkState::Up && !port.is_fabric() && port.bond.is_none())
        .filter(faster)
        .map(|port| port.name)
        .collect();
    if best < 25_000 && !idle.is_empty() {
        reasons.findings.push(format!(
            "no link is seen on {}, which may be faster; buffers and class are for {best} Mb/s until one has link",
            idle.join(", ")
        ));
    }
}

fn note_unusable(facts: &Facts, reasons: &mut Reasons) {
    for nic in facts.nics.iter().filter(|nic| nic.driver_bound == Some(false)) {
        let name = nic
            .name
            .as_deref()
            .or(nic.pci_slot.as_deref())
            .unwrap_or("a port");
        reasons
            .findings
            .push(format!("{name} has no driver, so it is no port of this system"));
    }
}
