//! All doors behind one: each knob goes to the door of its kind.

use super::block::BlockDoor;
use super::cpu::CpuDoor;
use super::ethtool::{Ethtool, KernelEthtool};
use super::nic::NicDoor;
use super::qdisc::QdiscDoor;
use super::sysctl::SysctlDoor;
use super::tuned::TunedDoor;
use super::{Door, DoorError};
use crate::host::Host;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::sync::Arc;

/// The doors of one host.
#[derive(Debug)]
pub struct Doors {
    sysctl: SysctlDoor,
    nic: NicDoor,
    qdisc: QdiscDoor,
    block: BlockDoor,
    cpu: CpuDoor,
    tuned: TunedDoor,
    boot: BootDoor,
}

/// The door that is shut: a word of the kernel command line is no run-time setting.
#[derive(Debug)]
struct BootDoor;

impl Doors {
    /// The doors of `host`. A host in a directory has no drivers to ask, so that NIC settings other than the MTU are
    /// unsupported there.
    pub fn new(host: &Host) -> Self {
        let kernel = || Arc::new(KernelEthtool) as Arc<dyn Ethtool>;
        Self::with_ethtool(host, host.is_live().then(kernel))
    }

    /// The doors of `host` with another way to its drivers.
    pub fn with_ethtool(host: &Host, ethtool: Option<Arc<dyn Ethtool>>) -> Self {
        Self {
            sysctl: SysctlDoor::new(host),
            nic: NicDoor::new(host, ethtool),
            qdisc: QdiscDoor::new(host),
            block: BlockDoor::new(host),
            cpu: CpuDoor::new(host),
            tuned: TunedDoor::new(host),
            boot: BootDoor,
        }
    }

    fn of(&self, knob: &KnobId) -> &dyn Door {
        match knob {
            KnobId::Sysctl(_) => &self.sysctl,
            KnobId::Nic(..) => &self.nic,
            KnobId::Qdisc(..) => &self.qdisc,
            KnobId::Block(..) => &self.block,
            KnobId::Cpu(_) => &self.cpu,
            KnobId::Tuned(_) => &self.tuned,
            KnobId::Boot(_) => &self.boot,
        }
    }
}

impl Door for Doors {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        self.of(knob).read(knob)
    }

    fn limit(&self, knob: &KnobId) -> Option<i64> {
        self.of(knob).limit(knob)
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        self.of(knob).undo_for(knob)
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        self.of(knob).write(knob, value)
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        self.of(knob).undo(knob, undo)
    }
}

impl BootDoor {
    fn shut(knob: &KnobId) -> DoorError {
        DoorError::Unsupported {
            knob: knob.clone(),
            why: "the kernel command line is set at boot".to_owned(),
        }
    }
}

impl Door for BootDoor {
    fn read(&self, _knob: &KnobId) -> Result<Reading, DoorError> {
        Ok(Reading::Unsupported(
            "the kernel command line is set at boot".to_owned(),
        ))
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        Err(Self::shut(knob))
    }

    fn write(&self, knob: &KnobId, _value: &Value) -> Result<(), DoorError> {
        Err(Self::shut(knob))
    }

    fn undo(&self, knob: &KnobId, _undo: &Undo) -> Result<(), DoorError> {
        Err(Self::shut(knob))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_knob_has_a_door_that_knows_it() {
        let dir = tempfile::tempdir().unwrap();
        let doors = Doors::new(&Host::at(dir.path(), Some(dir.path())));
        for (knob, expected) in [
            ("sysctl:vm.swappiness", Reading::Absent),
            ("nic/0000:01:00.0+02:00:00:00:00:01:ring.rx", Reading::Absent),
            ("qdisc/0000:01:00.0+02:00:00:00:00:01:leaf", Reading::Absent),
            ("block/nvme0n1:read_ahead_kb", Reading::Absent),
            ("cpu:governor", Reading::Absent),
            ("tuned:profile", Reading::Absent),
            (
                "boot:iommu",
                Reading::Unsupported("the kernel command line is set at boot".to_owned()),
            ),
        ] {
            assert_eq!(doors.read(&knob.parse().unwrap()).unwrap(), expected, "{knob}");
        }
    }
}
