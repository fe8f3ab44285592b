//! NIC settings: MTU by sysfs; rings, channels, adaptive moderation, pause frames and LRO by ethtool.
//!
//! A NIC that is gone is absent. What a driver does not offer, or keeps fixed, is unsupported and says why, so that a
//! plan leaves it out.

use super::ethtool::{Ethtool, EthtoolError, Side};
use super::{Door, DoorError, attribute, link, present};
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::sync::Arc;

/// The feature of the kernel behind `feature.lro`.
const LRO: &str = "rx-lro";

/// The door to NICs.
#[derive(Debug)]
pub struct NicDoor {
    host: Host,
    /// `None` for a host in a directory, which has no kernel to ask.
    ethtool: Option<Arc<dyn Ethtool>>,
}

/// A setting of a NIC that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Mtu,
    Ring(Side),
    Combined,
    Adaptive(Side),
    Pause(Side),
    Lro,
}

impl Setting {
    fn of(key: &str) -> Option<Self> {
        Some(match key {
            "mtu" => Self::Mtu,
            "ring.rx" => Self::Ring(Side::Rx),
            "ring.tx" => Self::Ring(Side::Tx),
            "channels.combined" => Self::Combined,
            "coalesce.adaptive-rx" => Self::Adaptive(Side::Rx),
            "coalesce.adaptive-tx" => Self::Adaptive(Side::Tx),
            "pause.rx" => Self::Pause(Side::Rx),
            "pause.tx" => Self::Pause(Side::Tx),
            "feature.lro" => Self::Lro,
            _ => return None,
        })
    }
}

impl NicDoor {
    /// The door of `host`, with `ethtool` as the way to its drivers.
    pub fn new(host: &Host, ethtool: Option<Arc<dyn Ethtool>>) -> Self {
        Self {
            host: host.clone(),
            ethtool,
        }
    }

    /// The setting and the present name of the NIC; no name when the NIC is gone.
    fn locate(&self, knob: &KnobId) -> Result<(Setting, Option<String>), DoorError> {
        let KnobId::Nic(id, key) = knob else {
            return Err(DoorError::wrong_door(knob));
        };
        let setting = Setting::of(key).ok_or_else(|| DoorError::wrong_door(knob))?;
        Ok((setting, netdev::find(&self.host, id)))
    }

    fn ethtool(&self) -> Result<&dyn Ethtool, EthtoolError> {
        self.ethtool
            .as_deref()
            .ok_or_else(|| EthtoolError::Unsupported("no kernel to ask for this host".to_owned()))
    }

    /// Reads a setting that ethtool knows.
    fn ask(&self, ifname: &str, setting: Setting) -> Result<Value, EthtoolError> {
        let missing = |what: &str| EthtoolError::Unsupported(format!("the driver has no {what}"));
        let ethtool = self.ethtool()?;
        match setting {
            Setting::Mtu => Err(EthtoolError::Unsupported("not an ethtool setting".to_owned())),
            Setting::Ring(side) => {
                let rings = ethtool.rings(ifname)?;
                let (now, what) = match side {
                    Side::Rx => (rings.rx, "receive ring"),
                    Side::Tx => (rings.tx, "transmit ring"),
                };
                now.map(number).ok_or_else(|| missing(what))
            }
            Setting::Combined => {
                let channels = ethtool.channels(ifname)?;
                channels
                    .combined
                    .map(number)
                    .ok_or_else(|| missing("combined queues"))
            }
            Setting::Adaptive(side) => {
                let coalesce = ethtool.coalesce(ifname)?;
                let now = match side {
                    Side::Rx => coalesce.adaptive_rx,
                    Side::Tx => coalesce.adaptive_tx,
                };
                now.map(switch).ok_or_else(|| missing("adaptive moderation"))
            }
            Setting::Pause(side) => {
                let pause = ethtool.pause(ifname)?;
                Ok(switch(match side {
                    Side::Rx => pause.rx,
                    Side::Tx => pause.tx,
                }))
            }
            Setting::Lro => {
                let feature = ethtool.feature(ifname, LRO)?;
                if feature.fixed {
                    let now = switch(feature.active);
                    return Err(EthtoolError::Unsupported(format!(
                        "the driver keeps it {now} [fixed]"
                    )));
                }
                Ok(switch(feature.active))
            }
        }
    }

    /// Sets a setting that ethtool knows.
    fn tell(&self, knob: &KnobId, ifname: &str, setting: Setting, value: &Value) -> Result<(), DoorError> {
        let number = || wanted_number(knob, value);
        let on = || wanted_switch(knob, value);
        let said = |error| from_ethtool(knob, value, error);
        let ethtool = self.ethtool().map_err(said)?;
        match setting {
            Setting::Mtu => Err(DoorError::wrong_door(knob)),
            Setting::Ring(side) => {
                let wanted = number()?;
                // Both rings are sent, the other one as it is: a driver may take what is not said for its default.
                let now = ethtool.rings(ifname).map_err(said)?;
                let (rx, tx) = match side {
                    Side::Rx => (Some(wanted), now.tx),
                    Side::Tx => (now.rx, Some(wanted)),
                };
                ethtool.set_rings(ifname, rx, tx).map_err(said)
            }
            Setting::Combined => ethtool.set_combined(ifname, number()?).map_err(said),
            Setting::Adaptive(side) => ethtool.set_adaptive(ifname, side, on()?).map_err(said),
            Setting::Pause(side) => {
                let wanted = on()?;
                let mut pause = ethtool.pause(ifname).map_err(said)?;
                match side {
                    Side::Rx => pause.rx = wanted,
                    Side::Tx => pause.tx = wanted,
                }
                ethtool.set_pause(ifname, pause).map_err(said)
            }
            Setting::Lro => ethtool.set_feature(ifname, LRO, on()?).map_err(said),
        }
    }
}

impl Door for NicDoor {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        let (setting, ifname) = self.locate(knob)?;
        let Some(ifname) = ifname else {
            return Ok(Reading::Absent);
        };
        if setting == Setting::Mtu {
            return attribute::read(knob, &self.host.path(&format!("/sys/class/net/{ifname}/mtu")));
        }
        match self.ask(&ifname, setting) {
            Ok(value) => Ok(Reading::Is(value)),
            Err(EthtoolError::Unsupported(why)) => Ok(Reading::Unsupported(why)),
            Err(EthtoolError::NoDevice) => Ok(Reading::Absent),
            Err(error) => Err(attribute::io_error(
                knob,
                std::io::Error::other(error.to_string()),
            )),
        }
    }

    fn limit(&self, knob: &KnobId) -> Option<i64> {
        let (setting, ifname) = self.locate(knob).ok()?;
        let ifname = ifname?;
        let limit = match setting {
            Setting::Mtu => {
                self.host
                    .is_live()
                    .then(|| link::query(&ifname))
                    .flatten()?
                    .max_mtu
            }
            Setting::Ring(Side::Rx) => self.ethtool().ok()?.rings(&ifname).ok()?.rx_max,
            Setting::Ring(Side::Tx) => self.ethtool().ok()?.rings(&ifname).ok()?.tx_max,
            Setting::Combined => self.ethtool().ok()?.channels(&ifname).ok()?.combined_max,
            Setting::Adaptive(_) | Setting::Pause(_) | Setting::Lro => None,
        };
        limit.map(i64::from)
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        Ok(Undo::Write(present(knob, self.read(knob)?)?))
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        let (setting, ifname) = self.locate(knob)?;
        let ifname = ifname.ok_or_else(|| DoorError::Vanished { knob: knob.clone() })?;
        if setting == Setting::Mtu {
            let file = self.host.path(&format!("/sys/class/net/{ifname}/mtu"));
            return attribute::write(knob, &file, value);
        }
        self.tell(knob, &ifname, setting, value)
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        match undo {
            // A NIC that has the value already is left alone: setting it again may still take the link down.
            Undo::Write(before) if present(knob, self.read(knob)?)? == *before => Ok(()),
            Undo::Write(before) => self.write(knob, before),
            _ => Err(DoorError::foreign_undo(knob, undo)),
        }
    }
}

fn number(number: u32) -> Value {
    Value::from(i64::from(number))
}

fn switch(on: bool) -> Value {
    Value::new(if on { "on" } else { "off" })
}

fn wanted_number(knob: &KnobId, value: &Value) -> Result<u32, DoorError> {
    let number = value.integer().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| DoorError::invalid(knob, value, "expected a number"))
}

fn wanted_switch(knob: &KnobId, value: &Value) -> Result<bool, DoorError> {
    match value.as_str() {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(DoorError::invalid(knob, value, "expected on or off")),
    }
}

/// The door's error for one of ethtool's.
fn from_ethtool(knob: &KnobId, value: &Value, error: EthtoolError) -> DoorError {
    let knob = knob.clone();
    match error {
        EthtoolError::Unsupported(why) => DoorError::Unsupported { knob, why },
        EthtoolError::NoDevice => DoorError::Vanished { knob },
        EthtoolError::Refused {
            errno: nix::errno::Errno::EBUSY,
            explanation,
        } => DoorError::Busy {
            knob,
            why: explanation.unwrap_or_else(|| format!("setting {value}")),
        },
        EthtoolError::Refused { errno, explanation } => DoorError::Refused {
            knob,
            value: value.to_string(),
            errno,
            explanation,
        },
        EthtoolError::Broken(why) => attribute::io_error(&knob, std::io::Error::other(why)),
    }
}

#[cfg(test)]
mod tests;
