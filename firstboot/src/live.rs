//! What is not written on a running host, whoever asks: the link of a bond's member would go down.

use crate::host::Host;
use crate::netdev;
use crate::people;
use dtnforge_profiles::knob::{Disrupts, KnobId};

/// Why a knob is not written while the host runs; `None` when it may be.
pub fn forbidden(host: &Host, knob: &KnobId, disrupts: Disrupts) -> Option<String> {
    if disrupts < Disrupts::Link {
        return None;
    }
    let name = people::device_name(host, knob)?;
    let bond = netdev::bond_of(host, &name)?;
    Some(format!(
        "{name} is a member of {bond}, and this takes its link down"
    ))
}
