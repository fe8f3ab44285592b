//! Link state and speed of a port, and what the speed of the data link is.

use super::Reasons;
use super::ports::Port;
use crate::facts::Nic;
use crate::site::Site;

/// Whether a port has link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkState {
    Up,
    Down,
    /// Nothing says so, either way.
    Unknown,
}

/// The link state of a port; of a leg that shows none, the state of its bond.
pub(super) fn state_of(port: &Port<'_>) -> LinkState {
    match own_state(port.nic) {
        LinkState::Unknown => match port.bond.map(own_state) {
            Some(LinkState::Up) => LinkState::Up,
            _ => LinkState::Unknown,
        },
        known => known,
    }
}

fn own_state(nic: &Nic) -> LinkState {
    let operstate = nic.operstate.as_deref().unwrap_or_default();
    if nic.carrier == Some(false) || matches!(operstate, "down" | "lowerlayerdown" | "notpresent") {
        return LinkState::Down;
    }
    let up = operstate == "up" || nic.carrier == Some(true) || known_speed(nic.speed_mbps).is_some();
    // 40000 is what a port of an RDMA device shows when it is down.
    let rate = known_speed(nic.ib_rate_mbps).is_some_and(|rate| rate != 40_000);
    if up || rate {
        LinkState::Up
    } else {
        LinkState::Unknown
    }
}

/// The kernel's number as a speed: -1, 0, 65535 and 4294967295 all mean that it knows none.
fn known_speed(number: Option<i64>) -> Option<u32> {
    let number = u32::try_from(number?).ok()?;
    (number > 0 && number != 65_535 && number != u32::MAX).then_some(number)
}

/// The negotiated speed of a port in Mb/s; of a leg that shows none, its share of the bond's sum.
pub(super) fn mbps_of(port: &Port<'_>) -> Option<u32> {
    // Where no leg is listed, the bond itself is the port.
    if matches!(port.nic.kind.as_deref(), Some("bond" | "team")) {
        return share_of_bond(port.nic);
    }
    let own = known_speed(port.nic.speed_mbps).or_else(|| known_speed(port.nic.ib_rate_mbps));
    own.or_else(|| share_of_bond(port.bond?))
}

fn share_of_bond(bond: &Nic) -> Option<u32> {
    let sum = known_speed(bond.speed_mbps)?;
    // An active-backup bond or team shows the speed of its active leg.
    if is_backup(bond) {
        return Some(sum);
    }
    let listed = || u32::try_from(bond.members.as_ref()?.len()).ok();
    sum.checked_div(bond.aggregator_ports.or_else(listed)?)
}

/// The speed of the data link.
pub(super) struct Link {
    pub(super) mbps: Option<u32>,
    pub(super) stated: bool,
}

pub(super) fn conclude(ports: &[Port<'_>], site: &Site, reasons: &mut Reasons) -> Link {
    let seen = ports.iter().filter_map(mbps_of).max();
    let stated = site.link_mbps.filter(|_| seen.is_none() && !ports.is_empty());
    match (seen, stated) {
        (Some(mbps), _) => reasons.why.push(format!("speed_class: {mbps} Mb/s negotiated")),
        (None, Some(mbps)) => {
            reasons
                .why
                .push(format!("speed_class: {mbps} Mb/s stated by the site"));
            reasons.findings.push(format!(
                "the link speed, {mbps} Mb/s, is stated by the site; the kernel knows none"
            ));
        }
        (None, None) => {
            reasons.unsure("speed_class");
            reasons.why.push(match ports.first() {
                Some(port) => format!("speed_class: unknown, {}", why_unknown(port.nic)),
                None => "speed_class: unknown, there is no data port".to_owned(),
            });
        }
    }
    Link {
        mbps: seen.or(stated),
        stated: stated.is_some(),
    }
}

/// What the data ports carry together. Of an active-backup bond one leg is in use.
pub(super) fn of_host(ports: &[Port<'_>], flow: Option<u32>) -> Option<u32> {
    let first = ports.first()?;
    let backup = first.bond.is_some_and(is_backup);
    let is_up = |port: &&Port<'_>| port.state() == LinkState::Up;
    let sum: u32 = ports
        .iter()
        .filter(is_up)
        .filter_map(mbps_of)
        .fold(0, u32::saturating_add);
    match sum {
        0 => flow,
        _ if backup => flow,
        sum => Some(sum),
    }
}

fn is_backup(bond: &Nic) -> bool {
    let mode = bond.bond_mode.as_deref().unwrap_or_default();
    mode.contains("active-backup") || bond.team_runner.as_deref() == Some("activebackup")
}

fn why_unknown(nic: &Nic) -> String {
    let name = nic.name.as_deref().unwrap_or("the port");
    match (
        nic.speed_mbps,
        nic.speed_error.as_deref().or(nic.speed_text.as_deref()),
    ) {
        (Some(number), _) => format!("{name} reports {number}"),
        (None, Some(text)) => format!("{name} reports {text:?}"),
        (None, None) => format!("{name} reports none"),
    }
}
