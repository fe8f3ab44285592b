use super::super::ethtool::{Channels, Coalesce, Feature, Pause, Rings};
use super::*;
use nix::errno::Errno;
use std::sync::Mutex;

/// A driver in memory that refuses like one: no more than its maximum, some things not at all.
#[derive(Debug, Default)]
struct Driver {
    rings: Mutex<Rings>,
    asked: Mutex<Vec<(Option<u32>, Option<u32>)>>,
    lro: Mutex<Option<Feature>>,
    pause: Mutex<Option<Pause>>,
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
    fn pause(&self, _: &str) -> Result<Pause, EthtoolError> {
        let pause = *self.pause.lock().unwrap();
        pause.ok_or_else(|| EthtoolError::Unsupported("EOPNOTSUPP".to_owned()))
    }
    fn set_pause(&self, _: &str, pause: Pause) -> Result<(), EthtoolError> {
        *self.pause.lock().unwrap() = Some(pause);
        Ok(())
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
        ("pause.tx", "EOPNOTSUPP"),
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
fn pause_frames_of_one_side_are_set_and_the_other_stays() {
    let (_dir, driver, door) = door(Driver {
        pause: Mutex::new(Some(Pause { rx: true, tx: false })),
        ..driver()
    });
    let undo = door.undo_for(&knob("pause.tx")).unwrap();
    door.write(&knob("pause.tx"), &"on".into()).unwrap();
    assert_eq!(*driver.pause.lock().unwrap(), Some(Pause { rx: true, tx: true }));
    assert_eq!(door.read(&knob("pause.rx")).unwrap(), Reading::Is("on".into()));
    door.undo(&knob("pause.tx"), &undo).unwrap();
    assert_eq!(door.read(&knob("pause.tx")).unwrap(), Reading::Is("off".into()));
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
