//! Reading all knobs of a host: every definition of the registry, for the host or for each of its devices.

use crate::audit::live_commit;
use crate::boot;
use crate::door::{self, Door, block};
use crate::flow::Context;
use crate::host::Host;
use crate::netdev;
use crate::owner::Owners;
use crate::people;
use dtnforge_profiles::device::DeviceId;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::knob::{KnobId, REGISTRY};
use dtnforge_profiles::label::{LABEL_SCHEMA, Label, LeftOut, Saved, Snapshot};
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::state::State;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::collections::BTreeMap;

/// The devices whose knobs are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices {
    /// NICs: physical ports only. A virtual function, a representor or a VLAN is never touched as if it were a port.
    pub nics: Vec<DeviceId>,
    /// Disks.
    pub disks: Vec<DeviceId>,
}

impl Devices {
    /// The devices among the facts of this host.
    pub fn of(host: &Host, facts: &Facts) -> Self {
        let ports = facts
            .nics
            .iter()
            .filter(|nic| nic.kind.as_deref() == Some("physical"));
        let names = ports
            .filter(|nic| nic.pci_slot.is_some())
            .filter_map(|nic| nic.name.as_deref());
        let disks = facts.blocks.iter().filter_map(|disk| disk.name.as_deref());
        Self {
            nics: names.filter_map(|name| netdev::identity(host, name)).collect(),
            disks: disks.filter_map(|name| block::identity(host, name)).collect(),
        }
    }
}

/// The knobs that a registry entry stands for. A word of the kernel command line is no value of the running host.
fn knobs(devices: &Devices) -> Vec<KnobId> {
    let of_pattern = |pattern: &'static str| -> Vec<KnobId> {
        let ids: &[DeviceId] = match pattern.split('/').next() {
            Some("nic" | "qdisc") => &devices.nics,
            Some("block") => &devices.disks,
            _ if pattern.starts_with("boot:") => return Vec::new(),
            _ => return pattern.parse().into_iter().collect(),
        };
        let named = ids.iter().map(|id| pattern.replacen("<dev>", id.as_str(), 1));
        named.filter_map(|name| name.parse().ok()).collect()
    };
    REGISTRY
        .iter()
        .flat_map(|definition| of_pattern(definition.pattern))
        .collect()
}

/// Reads everything and names it. Changes nothing.
pub fn capture(
    host: &Host,
    doors: &dyn Door,
    facts: &Facts,
    devices: &Devices,
    label: Label,
    state: &State,
) -> Snapshot {
    let commit = live_commit(host, state);
    let owners = Owners::read(host, doors, commit.map(|commit| &commit.plan));
    let mut snapshot = Snapshot {
        schema: LABEL_SCHEMA,
        label,
        at: Context::now(),
        boot_id: boot::boot_id(host),
        kernel: facts.host.kernel.clone().unwrap_or_default(),
        fingerprint: facts.fingerprint(),
        state: state.name().to_owned(),
        profile: commit.map(|commit| commit.profile.clone()),
        knobs: BTreeMap::new(),
        left_out: Vec::new(),
        devices: BTreeMap::new(),
    };
    for knob in knobs(devices) {
        let device = people::device_name(host, &knob);
        if let (Some(id), Some(name)) = (knob.device(), &device) {
            snapshot.devices.insert(id.as_str().to_owned(), name.clone());
        }
        match read(doors, &knob) {
            Ok(Some((value, back))) => {
                let owner = owners.of(&knob, &value, None);
                snapshot.knobs.insert(
                    knob,
                    Saved {
                        value,
                        back,
                        owner: Some(owner),
                    },
                );
            }
            Ok(None) => {}
            Err(why) => snapshot.left_out.push(LeftOut { knob, device, why }),
        }
    }
    snapshot
}

/// The value of a knob and the way back to it; `None` when the host does not have it.
fn read(doors: &dyn Door, knob: &KnobId) -> Result<Option<(Value, Undo)>, String> {
    match doors.read(knob).map_err(|error| error.to_string())? {
        Reading::Is(value) => {
            let back = door::way_back(doors, knob).map_err(|error| error.to_string())?;
            Ok(Some((value, back)))
        }
        Reading::Absent => Ok(None),
        Reading::Unsupported(why) => Err(why),
    }
}
