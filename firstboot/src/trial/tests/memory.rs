//! A host in memory for the tests of a trial.

use super::{BUFFERS, CONTROL, MTU, RING, SWAP, TUNED, knob};
use crate::door::{Door, DoorError};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A host in memory: values by knob, a log of writes, and the habits that make trouble.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) values: Mutex<BTreeMap<KnobId, Value>>,
    pub(super) log: Mutex<Vec<String>>,
    /// Knobs that refuse every write.
    pub(super) refusing: Vec<KnobId>,
    /// Knobs that keep their value whatever is written.
    pub(super) deaf: Vec<KnobId>,
    /// Whether the ring is rounded up to a multiple of 96 while the MTU is 9000, as vmxnet3 does.
    pub(super) rounding: bool,
    /// What the tuned of this host saw at its start.
    pub(super) seen_by_tuned: Mutex<BTreeMap<KnobId, Value>>,
}

impl Memory {
    pub(super) fn stock() -> Self {
        let values = [
            (BUFFERS, "4096 131072 6291456"),
            (CONTROL, "cubic"),
            (SWAP, "60"),
            (RING, "512"),
            (MTU, "1500"),
            (TUNED, "none"),
        ];
        Self {
            values: Mutex::new(values.map(|(name, value)| (knob(name), value.into())).into()),
            ..Self::default()
        }
    }

    pub(super) fn value(&self, name: &str) -> String {
        self.values.lock().unwrap()[&knob(name)].to_string()
    }

    pub(super) fn set(&self, name: &str, value: &str) {
        self.values.lock().unwrap().insert(knob(name), value.into());
    }

    pub(super) fn all(&self) -> BTreeMap<KnobId, Value> {
        self.values.lock().unwrap().clone()
    }

    /// tuned sets the swappiness when it starts, remembers what it saw, and writes that back when it stops.
    fn tuned(&self, profile: &str) {
        if profile == "none" {
            let seen = std::mem::take(&mut *self.seen_by_tuned.lock().unwrap());
            self.values.lock().unwrap().extend(seen);
        } else {
            let mut seen = self.all();
            seen.retain(|knob, _| matches!(knob, KnobId::Sysctl(_)));
            *self.seen_by_tuned.lock().unwrap() = seen;
            self.set(SWAP, "10");
        }
    }
}

impl Door for Memory {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        let value = self.values.lock().unwrap().get(knob).cloned();
        Ok(value.map_or(Reading::Absent, Reading::Is))
    }

    fn limit(&self, _: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        crate::door::present(knob, self.read(knob)?).map(Undo::Write)
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        if self.refusing.contains(knob) {
            return Err(DoorError::Refused {
                knob: knob.clone(),
                value: value.to_string(),
                errno: nix::errno::Errno::EINVAL,
                explanation: None,
            });
        }
        self.log.lock().unwrap().push(format!("{knob}={value}"));
        let mut value = value.clone();
        if self.rounding && knob.to_string() == RING && self.value(MTU) == "9000" {
            value = value
                .integer()
                .unwrap()
                .unsigned_abs()
                .next_multiple_of(96)
                .to_string()
                .into();
        }
        if !self.deaf.contains(knob) {
            self.values.lock().unwrap().insert(knob.clone(), value.clone());
        }
        if matches!(knob, KnobId::Tuned(_)) {
            self.tuned(value.as_str());
        }
        Ok(())
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        let Undo::Write(before) = undo else {
            panic!("unexpected record {undo:?}");
        };
        if crate::door::present(knob, self.read(knob)?)? == *before {
            return Ok(());
        }
        self.write(knob, before)
    }
}
