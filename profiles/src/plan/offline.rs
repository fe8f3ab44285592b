//! A host that is only known by its report: what a plan can say of it without reading a knob.

use super::{Reading, Target};
use crate::device::DeviceId;
use crate::facts::{Facts, Nic, Numbers};
use crate::knob::KnobId;
use crate::value::Value;

/// The target for [`super::make`] from facts alone: kernel, and ring and channel sizes where the report has them.
pub fn offline_target(facts: &Facts) -> Target {
    let mut target = Target {
        kernel: facts.host.kernel.clone().unwrap_or_default(),
        offline: true,
        ..Target::default()
    };
    for nic in &facts.nics {
        add_nic(&mut target, nic);
    }
    target
}

fn add_nic(target: &mut Target, nic: &Nic) {
    let (Some(slot), Some(mac)) = (&nic.pci_slot, &nic.mac) else {
        return;
    };
    // A port without an identity gets no knob either, and the plan says so.
    let Ok(device) = DeviceId::nic(slot, mac) else {
        return;
    };
    for (numbers, name, key) in [
        (&nic.rings, "rx", "ring.rx"),
        (&nic.rings, "tx", "ring.tx"),
        (&nic.channels, "combined", "channels.combined"),
    ] {
        let knob = KnobId::Nic(device.clone(), key.to_owned());
        if let Some(now) = number(numbers, name) {
            target
                .readings
                .insert(knob.clone(), Reading::Is(Value::from(now)));
        }
        if let Some(most) = number(numbers, &format!("{name}_max")) {
            target.limits.insert(knob, most);
        }
    }
}

fn number(numbers: &Option<Numbers>, name: &str) -> Option<i64> {
    numbers.as_ref()?.get(name)?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_of_the_report_are_readings_and_limits() {
        let facts = "[[nic]]\nname = 'eth0'\npci_slot = '0000:01:00.0'\nmac = '52:54:00:00:00:01'\n\
            rings = { rx = 512, rx_max = 8160, tx = 'n/a' }\n";
        let target = offline_target(&toml::from_str(facts).unwrap());
        let knob: KnobId = "nic/0000:01:00.0+52:54:00:00:00:01:ring.rx".parse().unwrap();
        assert_eq!(
            target.readings,
            [(knob.clone(), Reading::Is("512".into()))].into()
        );
        assert_eq!(target.limits, [(knob, 8160)].into());
    }
}
