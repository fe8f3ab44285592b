//! What a device and its driver make of a value: lowered to their maximum, to a number that they take, or left out.
//!
//! What a device says of itself goes before the table of drivers.

use super::Lowered;
use super::wanted::{Inputs, lower, record};
use crate::catalog::in_range;
use crate::device::DeviceId;
use crate::driver::{self, Driver};
use crate::facts::Nic;
use crate::knob::{Disrupts, KnobDef, KnobId, Rounding};
use crate::value::Value;

impl Inputs<'_> {
    /// The value that the device and its driver can take.
    ///
    /// # Errors
    /// Why there is none: a sentence for [`super::Skipped`].
    pub(super) fn within_device(
        &self,
        definition: &KnobDef,
        knob: &KnobId,
        value: Value,
    ) -> Result<(Value, Option<Lowered>), String> {
        let KnobId::Nic(device, key) = knob else {
            return self.within_limit(definition, knob, None, value);
        };
        let driver = self.driver_of(device)?;
        if let Some(why) = driver.and_then(|driver| driver.objection(key, value.as_str())) {
            return Err(why);
        }
        self.within_limit(definition, knob, driver, value)
    }

    /// What writing a knob interrupts; for rings a driver may be better than the registry's word for all of them.
    pub(super) fn disrupts(&self, knob: &KnobId, definition: &KnobDef) -> Disrupts {
        let known = match knob {
            KnobId::Nic(device, key) if key.starts_with("ring.") => self.driver_of(device).ok().flatten(),
            _ => None,
        };
        known
            .and_then(|driver| driver.ring_change)
            .unwrap_or(definition.disrupts)
    }

    /// Why the settings of a port are left alone as a whole: its card is limited, and none of them lifts that. The MTU is
    /// no matter of speed.
    pub(super) fn limited(&self, knob: &KnobId) -> Option<&str> {
        let KnobId::Nic(device, key) = knob else {
            return None;
        };
        let name = self.nic(device)?.name.as_ref().filter(|_| key != "mtu")?;
        self.seen.limited.get(name).map(String::as_str)
    }

    /// The bond or team that a NIC is a leg of.
    pub(super) fn bond_above(&self, knob: &KnobId) -> Option<&str> {
        let nic = self.nic(knob.device()?)?;
        let is_bond = |other: &&Nic| {
            let named = other.name.is_some() && other.name == nic.master;
            named && matches!(other.kind.as_deref(), Some("bond" | "team"))
        };
        self.facts.nics.iter().find(is_bond)?.name.as_deref()
    }

    fn nic(&self, device: &DeviceId) -> Option<&Nic> {
        self.facts.nics.iter().find(|nic| is_device(nic, device))
    }

    /// What is known of the driver of a NIC.
    fn driver_of(&self, device: &DeviceId) -> Result<Option<&'static Driver>, String> {
        match self.nic(device).and_then(|nic| nic.driver.as_deref()) {
            Some(name) => driver::find(name).map_err(|error| error.to_string()),
            None => Ok(None),
        }
    }

    fn within_limit(
        &self,
        definition: &KnobDef,
        knob: &KnobId,
        driver: Option<&Driver>,
        value: Value,
    ) -> Result<(Value, Option<Lowered>), String> {
        if definition.rounding != Rounding::Clamp {
            return Ok((value, None));
        }
        let limit = self.limit(knob, driver);
        if limit.as_ref().is_some_and(|limit| limit.most <= 0) {
            return Err("the device takes no value".to_owned());
        }
        let lowered = limit.as_ref().and_then(|limit| {
            let lower = lower(&value, limit.most)?;
            Some((lower, format!("{} takes {} at most", limit.whose, limit.most)))
        });
        let most = limit.as_ref().map(|limit| limit.most);
        let lowered = match (driver, knob) {
            (Some(driver), KnobId::Nic(_, key)) if key.starts_with("ring.") => {
                rounded(driver, most, &value, lowered)
            }
            _ => lowered,
        };
        let lowest = lowered.as_ref().map_or(&value, |(value, _)| value);
        if let (Err(_), Some(limit)) = (in_range(definition, lowest), limit) {
            let (whose, most) = (limit.whose, limit.most);
            return Err(format!(
                "{whose} takes {most} at most, and that is less than makes sense"
            ));
        }
        Ok(record(value, lowered))
    }

    fn limit(&self, knob: &KnobId, driver: Option<&Driver>) -> Option<Limit> {
        let own = self.target.limits.get(knob).map(|most| Limit {
            most: *most,
            whose: "the device".to_owned(),
        });
        let known = || match (driver, knob) {
            (Some(driver), KnobId::Nic(_, key)) => Some(Limit {
                most: driver.most(key)?,
                whose: format!("driver {}", driver.name),
            }),
            _ => None,
        };
        own.or_else(known)
    }
}

/// The most that can be written, and who says so.
struct Limit {
    most: i64,
    whose: String,
}

fn is_device(nic: &Nic, device: &DeviceId) -> bool {
    match (&nic.pci_slot, &nic.mac) {
        (Some(slot), Some(mac)) => DeviceId::nic(slot, mac).is_ok_and(|id| id == *device),
        _ => false,
    }
}

/// A ring with a number that its driver takes as it is, so that it reads back as it was written.
fn rounded(
    driver: &Driver,
    most: Option<i64>,
    asked: &Value,
    lowered: Option<(Value, String)>,
) -> Option<(Value, String)> {
    let wanted = lowered.as_ref().map_or(asked, |(value, _)| value).integer()?;
    let fitting = driver.ring(wanted, most);
    if fitting == wanted {
        return lowered;
    }
    let why = format!("driver {} takes no number between", driver.name);
    let why = match lowered {
        Some((_, before)) => format!("{before}, and {why}"),
        None => why,
    };
    Some((Value::from(fitting), why))
}
