//! Sysctls: files under `/proc/sys`, read and written as `sysctl.d` names them.
//!
//! Page cache limits come in twins: setting `vm.dirty_bytes` makes the kernel zero `vm.dirty_ratio`, and back. Zero
//! then means "the other one is in force", and cannot be written. So the way back from a twin that was zero is to
//! write the other one.

use super::attribute;
use super::{Door, DoorError, present};
use crate::host::Host;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::path::PathBuf;

/// Pairs of keys of which the kernel keeps one at zero.
const TWINS: &[(&str, &str)] = &[
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
];

/// The door to sysctls.
#[derive(Debug)]
pub struct SysctlDoor {
    host: Host,
}

/// The path under `/proc/sys` of a key as sysctl.d(5) writes it: when the first separator is a dot, dots separate
/// and slashes stand for dots inside a name (`net.ipv4.conf.eth0/100.forwarding`); else slashes separate.
pub fn relative_path(key: &str) -> String {
    let dots_separate = key.find(['.', '/']).is_some_and(|at| key[at..].starts_with('.'));
    if !dots_separate {
        return key.to_owned();
    }
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    key.chars().map(swap).collect()
}

/// The other key of a pair.
fn twin_of(key: &str) -> Option<&'static str> {
    TWINS.iter().find_map(|(bytes, ratio)| {
        if *bytes == key {
            Some(*ratio)
        } else if *ratio == key {
            Some(*bytes)
        } else {
            None
        }
    })
}

impl SysctlDoor {
    /// The door of `host`.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    fn path(&self, knob: &KnobId) -> Result<PathBuf, DoorError> {
        match knob {
            KnobId::Sysctl(key) => Ok(self.host.path(&format!("/proc/sys/{}", relative_path(key)))),
            _ => Err(DoorError::wrong_door(knob)),
        }
    }

    /// The value, which must be there.
    fn value(&self, knob: &KnobId) -> Result<Value, DoorError> {
        present(knob, self.read(knob)?)
    }
}

impl Door for SysctlDoor {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        attribute::read(knob, &self.path(knob)?)
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        let before = self.value(knob)?;
        let KnobId::Sysctl(key) = knob else {
            return Err(DoorError::wrong_door(knob));
        };
        match twin_of(key) {
            Some(twin) if before.integer() == Some(0) => {
                let twin = KnobId::Sysctl(twin.to_owned());
                let value = self.value(&twin)?;
                Ok(Undo::WriteTwin { twin, value, before })
            }
            _ => Ok(Undo::Write(before)),
        }
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        attribute::write(knob, &self.path(knob)?, value)
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        match undo {
            Undo::Write(before) => {
                if self.value(knob)? == *before {
                    return Ok(());
                }
                self.write(knob, before)
            }
            Undo::WriteTwin { twin, value, before } => {
                if self.value(knob)? == *before && self.value(twin)? == *value {
                    return Ok(());
                }
                self.write(twin, value)
            }
            _ => Err(DoorError::foreign_undo(knob, undo)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with these sysctl files.
    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, SysctlDoor) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join("proc/sys").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let door = SysctlDoor::new(&Host::at(dir.path(), None));
        (dir, door)
    }

    fn knob(key: &str) -> KnobId {
        KnobId::Sysctl(key.to_owned())
    }

    #[test]
    fn dots_and_slashes_follow_sysctl_d() {
        for (key, path) in [
            ("net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem"),
            (
                "net.ipv4.conf.eth0/100.forwarding",
                "net/ipv4/conf/eth0.100/forwarding",
            ),
            (
                "net/ipv4/conf/eth0.100/forwarding",
                "net/ipv4/conf/eth0.100/forwarding",
            ),
            ("single", "single"),
        ] {
            assert_eq!(relative_path(key), path);
        }
    }

    #[test]
    fn a_vector_is_written_and_taken_back() {
        let (_dir, door) = host(&[("net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")]);
        let knob = knob("net.ipv4.tcp_rmem");
        let undo = door.undo_for(&knob).unwrap();
        door.write(&knob, &"4096 131072 67108864".into()).unwrap();
        assert_eq!(
            door.read(&knob).unwrap(),
            Reading::Is("4096 131072 67108864".into())
        );
        door.undo(&knob, &undo).unwrap();
        door.undo(&knob, &undo).unwrap();
        assert_eq!(
            door.read(&knob).unwrap(),
            Reading::Is("4096 131072 6291456".into())
        );
    }

    #[test]
    fn a_key_that_the_kernel_lacks_is_absent_and_has_no_undo() {
        let (_dir, door) = host(&[]);
        let knob = knob("net.ipv4.tcp_shrink_window");
        assert_eq!(door.read(&knob).unwrap(), Reading::Absent);
        assert_eq!(
            door.undo_for(&knob).unwrap_err().to_string(),
            "sysctl:net.ipv4.tcp_shrink_window: the device or file is gone"
        );
    }

    #[test]
    fn a_twin_that_was_zero_is_undone_through_the_other() {
        let (dir, door) = host(&[("vm/dirty_bytes", "0\n"), ("vm/dirty_ratio", "20\n")]);
        let knob = knob("vm.dirty_bytes");
        let undo = door.undo_for(&knob).unwrap();
        let expected = Undo::WriteTwin {
            twin: "sysctl:vm.dirty_ratio".parse().unwrap(),
            value: "20".into(),
            before: "0".into(),
        };
        assert_eq!(undo, expected);
        // What the kernel does when dirty_bytes is written.
        door.write(&knob, &"4294967296".into()).unwrap();
        std::fs::write(dir.path().join("proc/sys/vm/dirty_ratio"), "0\n").unwrap();
        door.undo(&knob, &undo).unwrap();
        let ratio = std::fs::read_to_string(dir.path().join("proc/sys/vm/dirty_ratio")).unwrap();
        assert_eq!(ratio, "20\n");
    }

    #[test]
    fn a_twin_in_force_is_undone_by_itself() {
        let (_dir, door) = host(&[("vm/dirty_bytes", "1073741824\n"), ("vm/dirty_ratio", "0\n")]);
        assert_eq!(
            door.undo_for(&knob("vm.dirty_bytes")).unwrap(),
            Undo::Write("1073741824".into())
        );
    }

    #[test]
    fn an_undo_record_of_another_kind_is_refused() {
        let (_dir, door) = host(&[("vm/swappiness", "60\n")]);
        let undo = Undo::DelQdisc { before: "fq".into() };
        let error = door.undo(&knob("vm.swappiness"), &undo).unwrap_err();
        assert!(matches!(error, DoorError::ForeignUndo { .. }), "{error}");
    }
}
