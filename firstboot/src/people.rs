//! Names for people: a knob names its device by what survives a reboot, a reader knows `eth0` and `nvme0n1`.

use crate::door::block;
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::{Disrupts, KnobId};

/// The present name of a knob's device; `None` for a knob of the host, and for a device that is gone.
pub fn device_name(host: &Host, knob: &KnobId) -> Option<String> {
    match knob {
        KnobId::Nic(id, _) | KnobId::Qdisc(id, _) => netdev::find(host, id),
        KnobId::Block(id, _) => block::find(host, id),
        _ => None,
    }
}

/// A moment, seconds since 1970, in RFC 3339. A clock before 1970 counts as 1970.
pub fn time(seconds: i64) -> String {
    let offset = std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + offset).to_string()
}

/// What a write interrupts.
pub fn interrupts(disrupts: Disrupts) -> &'static str {
    match disrupts {
        Disrupts::None => "nothing",
        Disrupts::Queue => "queued packets",
        Disrupts::Link => "the link",
        Disrupts::Reboot => "all (a reboot)",
    }
}
