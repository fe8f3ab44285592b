//! Names for people: a knob names its device by what survives a reboot, a reader knows `eth0` and `nvme0n1`.

use crate::door::block;
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::KnobId;

/// The present name of a knob's device; `None` for a knob of the host, and for a device that is gone.
pub fn device_name(host: &Host, knob: &KnobId) -> Option<String> {
    match knob {
        KnobId::Nic(id, _) | KnobId::Qdisc(id, _) => netdev::find(host, id),
        KnobId::Block(id, _) => block::find(host, id),
        _ => None,
    }
}
