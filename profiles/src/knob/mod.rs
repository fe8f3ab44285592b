//! Knobs: one value in the kernel or a device, under one text grammar everywhere.
//!
//! A [`KnobId`] names one knob of one device; a [`KnobDef`] in the static [registry](REGISTRY) says what is true for
//! all knobs of its kind: unit, range, owner, group, scope, what a write disrupts, how a device rounds, and what must
//! come first. The registry feeds lints, plans and the reference page in `docs/`.

mod definition;
mod id;
mod registry;

pub use definition::{Disrupts, KnobDef, Owner, Rounding, Scope, ValueKind};
pub use id::{BadKnobId, KnobId};
pub use registry::{REGISTRY, definition_of};
