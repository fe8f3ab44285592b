//! CPU frequency policy: the governor of all cpufreq policies as one knob.
//!
//! Most guests have no cpufreq at all: then the knob is absent. Where policies differ, the value lists the governor
//! of each policy in order of its number, so that the way back restores each of them.

use super::attribute;
use super::{Door, DoorError, present};
use crate::host::Host;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::path::PathBuf;

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// The door to CPU policies.
#[derive(Debug)]
pub struct CpuDoor {
    host: Host,
}

impl CpuDoor {
    /// The door of `host`.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    /// The governor files, by number of the policy.
    fn files(&self, knob: &KnobId) -> Result<Vec<PathBuf>, DoorError> {
        if !matches!(knob, KnobId::Cpu(key) if key == "governor") {
            return Err(DoorError::wrong_door(knob));
        }
        let Ok(entries) = std::fs::read_dir(self.host.path(POLICIES)) else {
            return Ok(Vec::new());
        };
        let number = |name: &str| name.strip_prefix("policy")?.parse::<u32>().ok();
        let mut policies: Vec<(u32, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let number = number(entry.file_name().to_str()?)?;
                Some((number, entry.path().join("scaling_governor")))
            })
            .filter(|(_, file)| file.exists())
            .collect();
        policies.sort();
        Ok(policies.into_iter().map(|(_, file)| file).collect())
    }
}

impl Door for CpuDoor {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        let mut governors = Vec::new();
        for file in self.files(knob)? {
            match attribute::read(knob, &file)? {
                Reading::Is(value) => governors.push(value.to_string()),
                other => return Ok(other),
            }
        }
        match governors.first() {
            None => Ok(Reading::Absent),
            Some(first) if governors.iter().all(|governor| governor == first) => {
                Ok(Reading::Is(Value::new(first)))
            }
            Some(_) => Ok(Reading::Is(Value::new(&governors.join(" ")))),
        }
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        Ok(Undo::Write(present(knob, self.read(knob)?)?))
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        let files = self.files(knob)?;
        if files.is_empty() {
            return Err(DoorError::Vanished { knob: knob.clone() });
        }
        let words: Vec<&str> = value.as_str().split(' ').collect();
        if words.len() != 1 && words.len() != files.len() {
            let explanation = format!("{} words for {} policies", words.len(), files.len());
            return Err(DoorError::invalid(knob, value, &explanation));
        }
        for (file, word) in files.iter().zip(words.iter().cycle()) {
            attribute::write(knob, file, &Value::new(word))?;
        }
        Ok(())
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        match undo {
            Undo::Write(before) if self.read(knob)? == Reading::Is(before.clone()) => Ok(()),
            Undo::Write(before) => self.write(knob, before),
            _ => Err(DoorError::foreign_undo(knob, undo)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(governors: &[(u32, &str)]) -> (tempfile::TempDir, CpuDoor) {
        let dir = tempfile::tempdir().unwrap();
        for (number, governor) in governors {
            let policy = dir
                .path()
                .join(format!("sys/devices/system/cpu/cpufreq/policy{number}"));
            std::fs::create_dir_all(&policy).unwrap();
            std::fs::write(policy.join("scaling_governor"), format!("{governor}\n")).unwrap();
        }
        let door = CpuDoor::new(&Host::at(dir.path(), None));
        (dir, door)
    }

    fn governor() -> KnobId {
        "cpu:governor".parse().unwrap()
    }

    #[test]
    fn a_guest_without_cpufreq_has_no_governor() {
        let (_dir, door) = host(&[]);
        assert_eq!(door.read(&governor()).unwrap(), Reading::Absent);
        let error = door.write(&governor(), &"performance".into()).unwrap_err();
        assert!(matches!(error, DoorError::Vanished { .. }), "{error}");
    }

    #[test]
    fn different_governors_are_restored_each_to_its_own() {
        let (_dir, door) = host(&[(0, "powersave"), (2, "schedutil"), (10, "performance")]);
        let before = Reading::Is("powersave schedutil performance".into());
        assert_eq!(door.read(&governor()).unwrap(), before);
        let undo = door.undo_for(&governor()).unwrap();
        door.write(&governor(), &"performance".into()).unwrap();
        assert_eq!(door.read(&governor()).unwrap(), Reading::Is("performance".into()));
        door.undo(&governor(), &undo).unwrap();
        assert_eq!(door.read(&governor()).unwrap(), before);
    }

    #[test]
    fn a_list_that_does_not_fit_the_policies_is_refused_before_any_write() {
        let (_dir, door) = host(&[(0, "powersave"), (1, "powersave"), (2, "powersave")]);
        let error = door
            .write(&governor(), &"performance performance".into())
            .unwrap_err();
        assert!(matches!(error, DoorError::Refused { .. }), "{error}");
        assert_eq!(door.read(&governor()).unwrap(), Reading::Is("powersave".into()));
    }
}
