//! Cards that cannot do what their link promises: a slot that carries less, a link trained below its width, a driver in
//! safe mode. Each is a finding with its consequence; the settings of a limited port are left as they are, because
//! none of them can lift the limit, and a change would only blur what is to be repaired.

use super::Reasons;
use super::ports::Port;
use crate::facts::{Nic, Numbers};
use std::collections::BTreeMap;

/// Why the settings of a port are left alone, by interface name.
pub(super) type Limited = BTreeMap<String, String>;

/// Looks at the cards of the data ports of a machine. In a guest, what a port shows of its slot means nothing.
pub(super) fn look_at(ports: &[Port<'_>], reasons: &mut Reasons) -> Limited {
    let mut limited = Limited::new();
    for port in ports {
        if is_in_safe_mode(port.nic) {
            limited.insert(port.name.to_owned(), "its driver is in safe mode".to_owned());
            reasons.findings.push(format!(
                "{} is in safe mode, without its DDP package: one queue, no moderation, about one core of throughput; \
                 its settings are left alone. Put intel/ice/ddp/ice.pkg of linux-firmware in place, also in the initrd",
                port.name
            ));
        }
        if let Some(slot) = slot_of(port.nic) {
            look_at_slot(port, ports, &slot, &mut limited, reasons);
        }
    }
    limited
}

/// What a slot carries.
struct Slot {
    gts: f64,
    width: u32,
    gbps: f64,
}

fn slot_of(nic: &Nic) -> Option<Slot> {
    let (gts, width) = (nic.pcie_gts?, nic.pcie_width?);
    (width > 0 && gts > 0.0).then(|| Slot {
        gts,
        width,
        gbps: gbps(gts, width),
    })
}

/// The rate after line coding: 8b/10b up to 5 GT/s, 128b/130b above.
fn gbps(gts: f64, width: u32) -> f64 {
    let coding = if gts > 5.0 { 128.0 / 130.0 } else { 0.8 };
    gts * f64::from(width) * coding
}

fn look_at_slot(
    port: &Port<'_>,
    ports: &[Port<'_>],
    slot: &Slot,
    limited: &mut Limited,
    reasons: &mut Reasons,
) {
    let Some(mbps) = port.mbps() else { return };
    let (name, carries) = (port.name, slot.gbps * 1000.0);
    let of_slot = format!(
        "PCIe of {name} is {} GT/s x{}, {:.0} Gb/s",
        slot.gts, slot.width, slot.gbps
    );
    let trained = below_its_width(port.nic, slot);
    if carries < f64::from(mbps) {
        limited.insert(
            name.to_owned(),
            format!("its slot carries {:.0} Gb/s, less than its link", slot.gbps),
        );
        let repair = match trained {
            Some(most) => format!("it could be {most}: reseat the card, or look at the settings of the slot"),
            None => "move the card to a wider slot".to_owned(),
        };
        reasons.findings.push(format!(
            "{of_slot}: less than its link of {mbps} Mb/s; its settings are left alone, none of them lifts that; {repair}"
        ));
        return;
    }
    if let Some(most) = trained {
        reasons.findings.push(format!(
            "{of_slot}, and it could be {most}; it still carries the link of {mbps} Mb/s, so nothing is held back"
        ));
    }
    let sharing: Vec<&Port<'_>> = ports
        .iter()
        .filter(|other| other.shares_card_with(port))
        .collect();
    let sum: u64 = sharing.iter().filter_map(|port| port.mbps()).map(u64::from).sum();
    // Told once for a card, by its first port.
    let first = sharing.first().is_some_and(|first| first.name == name);
    if let (true, Ok(sum)) = (first && sharing.len() > 1, u32::try_from(sum))
        && carries < f64::from(sum)
    {
        reasons.findings.push(format!(
            "{of_slot}, for {} ports with {sum} Mb/s together: one at a time reaches its speed",
            sharing.len()
        ));
    }
}

/// The speed and width that a slot could have, when it has less.
fn below_its_width(nic: &Nic, slot: &Slot) -> Option<String> {
    let gts = nic.pcie_gts_max.unwrap_or(slot.gts);
    let width = nic.pcie_width_max.unwrap_or(slot.width);
    let better = gbps(gts, width) > slot.gbps * 1.01;
    better.then(|| format!("{gts} GT/s x{width}"))
}

/// Without its DDP package, ice offers rings and one queue, and no moderation (kernel drivers/net/ethernet/intel/ice,
/// `ice_ethtool_safe_mode_ops`).
fn is_in_safe_mode(nic: &Nic) -> bool {
    let one_queue =
        |channels: &Numbers| channels.get("combined").and_then(serde_json::Value::as_u64) == Some(1);
    nic.driver.as_deref() == Some("ice")
        && nic.kind.as_deref() == Some("physical")
        && nic.rings.is_some()
        && nic.coalesce.is_none()
        && nic.channels.as_ref().is_some_and(one_queue)
}
