//! Doors: the narrow ways through which knobs are read and written, one for each kind of effect.
//!
//! A [`Door`] reads, writes and takes back one knob at a time and decides nothing. [`Doors`] sends each knob to the
//! door of its kind. The order of writes, the journal and the read-back are the [transaction](crate::trial)'s.

mod attribute;
pub mod block;
pub mod cpu;
pub mod ethtool;
pub mod link;
mod netlink;
pub mod nic;
pub mod qdisc;
mod router;
pub mod sysctl;
pub mod tuned;

pub use router::Doors;

use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;

/// A way to a kind of knob.
pub trait Door {
    /// The present value. Does not change anything.
    ///
    /// # Errors
    /// When reading fails in a way that says nothing about support: [`DoorError`].
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError>;

    /// The largest value that the device takes, where it says so (ring and channel maximums).
    fn limit(&self, knob: &KnobId) -> Option<i64>;

    /// The way back to the present value, complete, made before a write.
    ///
    /// # Errors
    /// When the present value cannot be read: then nothing may be written.
    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError>;

    /// Writes. The caller has stored the undo before and reads back after.
    ///
    /// # Errors
    /// [`DoorError`].
    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError>;

    /// Takes a write back. Idempotent: doing it twice, or for a write that never happened, is no error.
    ///
    /// # Errors
    /// [`DoorError`].
    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError>;
}

/// Why a door did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The device or file is gone.
    #[error("{knob}: the device or file is gone")]
    Vanished {
        /// The knob.
        knob: KnobId,
    },
    /// The device is busy.
    #[error("{knob}: busy ({why})")]
    Busy {
        /// The knob.
        knob: KnobId,
        /// What it said.
        why: String,
    },
    /// This host does not have the setting, or not under our hands.
    #[error("{knob}: not supported here: {why}")]
    Unsupported {
        /// The knob.
        knob: KnobId,
        /// The reason.
        why: String,
    },
    /// The kernel refused the value.
    #[error("{knob}: the kernel refused {value:?}: {errno}{}", .explanation.as_deref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// The knob.
        knob: KnobId,
        /// The value.
        value: String,
        /// The errno.
        errno: nix::errno::Errno,
        /// The driver's words, where it gave some.
        explanation: Option<String>,
    },
    /// Reading or writing failed for another reason.
    #[error("{knob}: {source}")]
    Io {
        /// The knob.
        knob: KnobId,
        /// The cause.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("{knob}: {source}")]
    Command {
        /// The knob.
        knob: KnobId,
        /// The cause.
        source: crate::host::CommandError,
    },
    /// The undo record does not belong to this kind of knob.
    #[error("{knob}: the undo record {undo:?} does not fit this knob")]
    ForeignUndo {
        /// The knob.
        knob: KnobId,
        /// The record.
        undo: Undo,
    },
}

impl DoorError {
    /// The error for a knob that the called door does not handle.
    fn wrong_door(knob: &KnobId) -> Self {
        Self::Unsupported {
            knob: knob.clone(),
            why: "no such setting is known".to_owned(),
        }
    }

    /// The error for a value that this knob cannot have, found before the kernel was asked.
    fn invalid(knob: &KnobId, value: &Value, explanation: &str) -> Self {
        Self::Refused {
            knob: knob.clone(),
            value: value.to_string(),
            errno: nix::errno::Errno::EINVAL,
            explanation: Some(explanation.to_owned()),
        }
    }

    /// The error for an undo record of another kind of knob.
    fn foreign_undo(knob: &KnobId, undo: &Undo) -> Self {
        Self::ForeignUndo {
            knob: knob.clone(),
            undo: undo.clone(),
        }
    }
}

/// The way back to the present value of a knob where a value of ours may be live: a root qdisc of ours, which
/// [`Door::undo_for`] takes for the leftover of a trial, is then written again as it is.
///
/// # Errors
/// When the present value cannot be read.
pub fn way_back(doors: &dyn Door, knob: &KnobId) -> Result<Undo, DoorError> {
    match doors.undo_for(knob) {
        Err(DoorError::Busy { .. }) if matches!(knob, KnobId::Qdisc(..)) => {
            Ok(Undo::Write(present(knob, doors.read(knob)?)?))
        }
        other => other,
    }
}

/// The value of a reading that must be there.
///
/// # Errors
/// [`DoorError::Vanished`] or [`DoorError::Unsupported`].
pub fn present(knob: &KnobId, reading: Reading) -> Result<Value, DoorError> {
    match reading {
        Reading::Is(value) => Ok(value),
        Reading::Absent => Err(DoorError::Vanished { knob: knob.clone() }),
        Reading::Unsupported(why) => Err(DoorError::Unsupported {
            knob: knob.clone(),
            why,
        }),
    }
}
