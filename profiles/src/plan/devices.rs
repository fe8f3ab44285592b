//! The devices of a host that a profile's `<data>` stands for, each once, under names that survive a rename.

use crate::catalog::{KnobTemplate, Target};
use crate::conclude::Conclusions;
use crate::device::DeviceId;
use crate::facts::{Facts, Nic};
use crate::knob::KnobId;
use std::collections::BTreeMap;

/// Data NICs and data disks of a host.
pub(super) struct Devices {
    /// Identity and interface name.
    nics: Vec<(DeviceId, String)>,
    /// Identity (the kernel's name) of each data disk.
    disks: Vec<DeviceId>,
    /// Why a data NIC or disk is not among them.
    nameless: Vec<(Target, String)>,
}

impl Devices {
    pub(super) fn of(facts: &Facts, seen: &Conclusions) -> Self {
        let mut devices = Self {
            nics: Vec::new(),
            disks: Vec::new(),
            nameless: Vec::new(),
        };
        for name in &seen.data_nics {
            let nic = facts.nics.iter().find(|nic| nic.name.as_ref() == Some(name));
            match nic
                .ok_or_else(|| format!("{name} is not in the facts"))
                .and_then(identity)
            {
                Ok(id) if devices.nics.iter().any(|(other, _)| *other == id) => {}
                Ok(id) => devices.nics.push((id, name.clone())),
                Err(why) => devices.nameless.push((Target::DataNics, why)),
            }
        }
        for name in &seen.data_disks {
            match name.parse() {
                Ok(id) if devices.disks.contains(&id) => {}
                Ok(id) => devices.disks.push(id),
                Err(error) => devices.nameless.push((Target::DataDisks, format!("{error}"))),
            }
        }
        devices
    }

    /// The knobs that a template stands for on this host, and why there is none for a device.
    pub(super) fn expand(&self, template: &KnobTemplate) -> (Vec<KnobId>, Vec<String>) {
        let target = template.target();
        let knobs: Vec<KnobId> = match target {
            Target::Host => template.host_knob().cloned().into_iter().collect(),
            Target::DataNics => self.nics.iter().map(|(id, _)| template.knob_of(id)).collect(),
            Target::DataDisks => self.disks.iter().map(|id| template.knob_of(id)).collect(),
        };
        let mut missing: Vec<String> = Vec::new();
        missing.extend(
            self.nameless
                .iter()
                .filter(|(of, _)| *of == target)
                .map(|(_, why)| why.clone()),
        );
        if knobs.is_empty() && missing.is_empty() {
            missing.push(match target {
                Target::DataDisks => "no local disk holds the data".to_owned(),
                _ => "no data port".to_owned(),
            });
        }
        (knobs, missing)
    }

    /// Interface names by device, for people.
    pub(super) fn interfaces(&self) -> BTreeMap<String, String> {
        let nics = self
            .nics
            .iter()
            .map(|(id, name)| (id.as_str().to_owned(), name.clone()));
        nics.collect()
    }
}

fn identity(nic: &Nic) -> Result<DeviceId, String> {
    let name = nic.name.as_deref().unwrap_or("a port");
    if nic.kind.as_deref() == Some("ipoib") {
        return Err(format!("{name} is a port of a cluster fabric"));
    }
    match (&nic.pci_slot, &nic.mac) {
        (Some(slot), Some(mac)) => DeviceId::nic(slot, mac).map_err(|error| format!("{name}: {error}")),
        _ => Err(format!(
            "{name} has no PCI address or no permanent MAC to be known by"
        )),
    }
}
