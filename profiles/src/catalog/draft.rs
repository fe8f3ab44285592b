//! One file, checked on its own, before the bases that it extends are put in. Each part knows where it stands, so that
//! what is wrong in the whole is told at the line that has to change.

use super::buffer::Buffer;
use super::problem::Problem;
use super::profile::{Advice, KnobLine, Match};
use super::template::KnobTemplate;
use super::tuned_stock::Include;
use crate::conclude::SpeedClass;
use crate::site::Role;

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: usize,
}

impl Place {
    /// What is wrong here.
    pub(super) fn problem(&self, key: &str, what: impl Into<String>, hint: Option<String>) -> Problem {
        Problem {
            file: self.file.clone(),
            line: self.line,
            key: key.to_owned(),
            what: what.into(),
            hint,
            lint: Problem::FORM,
        }
    }
}

/// Something with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) at: Place,
}

/// A file whose fields are valid on their own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    /// May hold `{speed}`, when `speeds` says for which ones.
    pub(super) name: Placed<String>,
    pub(super) title: Placed<String>,
    /// Whether it only serves to be extended.
    pub(super) is_base: bool,
    pub(super) extends: Vec<Placed<String>>,
    pub(super) speeds: Vec<Placed<SpeedClass>>,
    pub(super) roles: Vec<Role>,
    pub(super) matching: Option<Placed<Match>>,
    pub(super) buffer: Option<Placed<Buffer>>,
    pub(super) tuned: Option<DraftTuned>,
    pub(super) lines: Vec<DraftLine>,
    pub(super) advice: Vec<Advice>,
}

/// `[tuned]` with the places of its entries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DraftTuned {
    pub(super) include: Placed<Include>,
    /// `None`: whatever has to be repeated.
    pub(super) repeat: Option<Vec<Placed<KnobTemplate>>>,
}

/// `[[knob]]` with the places of its keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DraftLine {
    pub(super) line: KnobLine,
    pub(super) id_at: Place,
    pub(super) value_at: Place,
}
