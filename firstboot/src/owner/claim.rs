//! What one place on disk says of one knob.

use dtnforge_profiles::audit::{Setter, SetterKind};
use dtnforge_profiles::value::Value;

/// What one place on disk says of one knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: SetterKind,
    /// File and line, or a label.
    pub(super) place: Option<String>,
    pub(super) says: Says,
    pub(super) managed_by: Option<String>,
    /// Whether it is applied after a file of ours, so that it wins at boot.
    pub(super) beats_us: bool,
}

/// The value that a place wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    /// This one.
    Is(Value),
    /// This one or more (`>4096` of tuned).
    AtLeast(i64),
    /// The largest that the device takes, or what a variable or a script computes.
    Unknown(String),
}

impl Says {
    /// Whether a live value is what this place wants; one that is not in plain words may be any.
    pub(super) fn explains(&self, live: &Value) -> bool {
        match self {
            Says::Is(value) => value == live,
            Says::AtLeast(least) => live.integer().is_some_and(|live| live >= *least),
            Says::Unknown(_) => true,
        }
    }

    /// Whether it says so in plain words.
    pub(super) fn is_plain(&self) -> bool {
        !matches!(self, Says::Unknown(_))
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        match self {
            Says::Is(value) => value.to_string(),
            Says::AtLeast(least) => format!("{least} or more"),
            Says::Unknown(text) => text.clone(),
        }
    }
}

impl Claim {
    /// The claim as the owner of a value.
    pub(super) fn setter(&self) -> Setter {
        let (value, note) = match &self.says {
            Says::Is(value) => (Some(value.clone()), None),
            Says::AtLeast(least) => (None, Some(format!("it says {least} or more"))),
            Says::Unknown(text) => (None, Some(format!("it says {text}"))),
        };
        Setter {
            kind: self.kind,
            place: self.place.clone(),
            value,
            managed_by: self.managed_by.clone(),
            note,
        }
    }

    /// Place and value, for a remark.
    pub(super) fn words(&self) -> String {
        let place = self.place.as_deref().unwrap_or("another setting");
        format!("{place} says {}", self.says.words())
    }
}
