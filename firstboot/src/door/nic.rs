//! NIC settings: MTU by sysfs; rings, channels, adaptive moderation and LRO by ethtool.
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
            Setting::Adaptive(_) | Setting::Lro => None,
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
mod tests {
    use super::super::ethtool::{Channels, Coalesce, Feature, Rings};
    use super::*;
    use nix::errno::Errno;
    use std::sync::Mutex;

    /// A driver in memory that refuses like one: no more than its maximum, some things not at all.
    #[derive(Debug, Default)]
    struct Driver {
        rings: Mutex<Rings>,
        asked: Mutex<Vec<(Option<u32>, Option<u32>)>>,
        lro: Mutex<Option<Feature>>,
        busy: bool,
    }

    impl Ethtool for Driver {
        fn rings(&self, _: &str) -> Result<Rings, EthtoolError> {
            Ok(*self.rings.lock().unwrap())
        }
        fn set_rings(&self, _: &str, rx: Option<u32>, tx: Option<u32>) -> Result<(), EthtoolError> {
            if self.busy {
                return Err(EthtoolError::Refused {
                    errno: Errno::EBUSY,
                    explanation: Some("AF_XDP in use".to_owned()),
                });
            }
            self.asked.lock().unwrap().push((rx, tx));
            let mut rings = self.rings.lock().unwrap();
            if rx > rings.rx_max || tx > rings.tx_max {
                return Err(EthtoolError::Refused {
                    errno: Errno::EINVAL,
                    explanation: Some("requested ring size exceeds maximum".to_owned()),
                });
            }
            (rings.rx, rings.tx) = (rx, tx);
            Ok(())
        }
        fn channels(&self, _: &str) -> Result<Channels, EthtoolError> {
            Ok(Channels::default())
        }
        fn set_combined(&self, _: &str, _: u32) -> Result<(), EthtoolError> {
            Err(EthtoolError::Unsupported("EOPNOTSUPP".to_owned()))
        }
        fn coalesce(&self, _: &str) -> Result<Coalesce, EthtoolError> {
            Err(EthtoolError::Unsupported("EOPNOTSUPP".to_owned()))
        }
        fn set_adaptive(&self, _: &str, _: Side, _: bool) -> Result<(), EthtoolError> {
            Err(EthtoolError::Unsupported("EOPNOTSUPP".to_owned()))
        }
        fn feature(&self, _: &str, name: &str) -> Result<Feature, EthtoolError> {
            assert_eq!(name, "rx-lro");
            self.lro.lock().unwrap().ok_or(EthtoolError::NoDevice)
        }
        fn set_feature(&self, _: &str, _: &str, on: bool) -> Result<(), EthtoolError> {
            *self.lro.lock().unwrap() = Some(Feature {
                active: on,
                fixed: false,
            });
            Ok(())
        }
    }

    fn driver() -> Driver {
        Driver {
            rings: Mutex::new(Rings {
                rx: Some(1024),
                tx: Some(256),
                rx_max: Some(8192),
                tx_max: Some(4096),
            }),
            ..Driver::default()
        }
    }

    /// A host with one NIC.
    fn door(driver: Driver) -> (tempfile::TempDir, Arc<Driver>, NicDoor) {
        let dir = tempfile::tempdir().unwrap();
        let nic = dir.path().join("sys/class/net/eth0");
        std::fs::create_dir_all(&nic).unwrap();
        std::fs::write(nic.join("address"), "02:00:00:00:00:01\n").unwrap();
        std::fs::write(nic.join("mtu"), "1500\n").unwrap();
        std::os::unix::fs::symlink("../../../0000:01:00.0", nic.join("device")).unwrap();
        let driver = Arc::new(driver);
        let door = NicDoor::new(&Host::at(dir.path(), None), Some(driver.clone()));
        (dir, driver, door)
    }

    fn knob(key: &str) -> KnobId {
        format!("nic/0000:01:00.0+02:00:00:00:00:01:{key}")
            .parse()
            .unwrap()
    }

    #[test]
    fn setting_one_ring_sends_the_other_as_it_is() {
        let (_dir, driver, door) = door(driver());
        door.write(&knob("ring.rx"), &"8192".into()).unwrap();
        door.write(&knob("ring.tx"), &"2048".into()).unwrap();
        let expected = [(Some(8192), Some(256)), (Some(8192), Some(2048))];
        assert_eq!(*driver.asked.lock().unwrap(), expected);
        assert_eq!(door.limit(&knob("ring.rx")), Some(8192));
        assert_eq!(door.limit(&knob("ring.tx")), Some(4096));
    }

    #[test]
    fn an_undo_that_changes_nothing_leaves_the_driver_alone() {
        let (_dir, driver, door) = door(driver());
        let undo = door.undo_for(&knob("ring.rx")).unwrap();
        assert_eq!(undo, Undo::Write("1024".into()));
        door.undo(&knob("ring.rx"), &undo).unwrap();
        assert!(driver.asked.lock().unwrap().is_empty());
        door.write(&knob("ring.rx"), &"2048".into()).unwrap();
        door.undo(&knob("ring.rx"), &undo).unwrap();
        assert_eq!(door.read(&knob("ring.rx")).unwrap(), Reading::Is("1024".into()));
    }

    #[test]
    fn a_refusal_names_the_value_and_carries_the_drivers_words() {
        let (_dir, _driver, door) = door(driver());
        let error = door.write(&knob("ring.rx"), &"9000".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "nic/0000:01:00.0+02:00:00:00:00:01:ring.rx: the kernel refused \"9000\": EINVAL: Invalid argument \
             (requested ring size exceeds maximum)"
        );
        let error = door
            .write(&knob("ring.rx"), &"many".into())
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("(expected a number)"), "{error}");
    }

    #[test]
    fn a_busy_driver_says_why() {
        let (_dir, _driver, door) = door(Driver {
            busy: true,
            ..driver()
        });
        let error = door.write(&knob("ring.rx"), &"2048".into()).unwrap_err();
        assert!(error.to_string().ends_with("busy (AF_XDP in use)"), "{error}");
    }

    #[test]
    fn what_a_driver_has_not_is_unsupported_with_its_reason() {
        let (_dir, _driver, door) = door(driver());
        for (key, reason) in [
            ("channels.combined", "the driver has no combined queues"),
            ("coalesce.adaptive-rx", "EOPNOTSUPP"),
        ] {
            assert_eq!(
                door.read(&knob(key)).unwrap(),
                Reading::Unsupported(reason.to_owned())
            );
        }
        let error = door.read(&knob("feature.teleport")).unwrap_err();
        assert!(matches!(error, DoorError::Unsupported { .. }), "{error}");
    }

    #[test]
    fn a_fixed_feature_is_unsupported_and_a_free_one_is_switched() {
        let lro = |active, fixed| Driver {
            lro: Mutex::new(Some(Feature { active, fixed })),
            ..driver()
        };
        let (_dir, _driver, fixed) = door(lro(false, true));
        assert_eq!(
            fixed.read(&knob("feature.lro")).unwrap(),
            Reading::Unsupported("the driver keeps it off [fixed]".to_owned())
        );
        let (_dir, _driver, free) = door(lro(true, false));
        let undo = free.undo_for(&knob("feature.lro")).unwrap();
        free.write(&knob("feature.lro"), &"off".into()).unwrap();
        assert_eq!(
            free.read(&knob("feature.lro")).unwrap(),
            Reading::Is("off".into())
        );
        free.undo(&knob("feature.lro"), &undo).unwrap();
        assert_eq!(free.read(&knob("feature.lro")).unwrap(), Reading::Is("on".into()));
    }

    #[test]
    fn the_mtu_is_read_and_written_by_sysfs() {
        let (dir, _driver, door) = door(driver());
        assert_eq!(door.read(&knob("mtu")).unwrap(), Reading::Is("1500".into()));
        door.write(&knob("mtu"), &"9000".into()).unwrap();
        let text = std::fs::read_to_string(dir.path().join("sys/class/net/eth0/mtu")).unwrap();
        assert_eq!(text, "9000\n");
    }

    #[test]
    fn a_nic_that_is_gone_is_absent_and_takes_no_write() {
        let (_dir, _driver, door) = door(driver());
        let gone: KnobId = "nic/0000:09:00.0+02:00:00:00:00:01:ring.rx".parse().unwrap();
        assert_eq!(door.read(&gone).unwrap(), Reading::Absent);
        let error = door.undo(&gone, &Undo::Write("512".into())).unwrap_err();
        assert!(matches!(error, DoorError::Vanished { .. }), "{error}");
    }
}
