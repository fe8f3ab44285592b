//! Doors: the narrow ways through which knobs are read and written, one for each kind of effect.

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
    /// The kernel refused the value.
    #[error("{knob}: the kernel refused {value:?}: {errno}")]
    Refused {
        /// The knob.
        knob: KnobId,
        /// The value.
        value: String,
        /// The errno.
        errno: nix::errno::Errno,
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
