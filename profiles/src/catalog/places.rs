//! Where the profiles and values of a file stand: for findings that come after all files were read.

use super::template::KnobTemplate;
use super::{check, resolve};

/// The places of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Places {
    /// Names of the profiles that come out of it; none for a base.
    pub(crate) profiles: Vec<String>,
    /// The name of the base that it is.
    pub(crate) base: Option<String>,
    /// Line of the name.
    pub(crate) name: usize,
    /// Each knob with the line of its value.
    pub(crate) values: Vec<(KnobTemplate, usize)>,
}

impl Places {
    /// The places of a file; `None` for one with mistakes.
    pub(crate) fn of(file: &str, text: &str) -> Option<Self> {
        let draft = check::read(file, text).ok()?;
        let name = &draft.name.value;
        let profiles = match (draft.is_base, draft.speeds.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => vec![name.clone()],
            (false, false) => {
                let speeds = draft.speeds.iter().map(|speed| speed.value);
                speeds.map(|speed| resolve::name_for(name, speed)).collect()
            }
        };
        let values = draft
            .lines
            .into_iter()
            .map(|line| (line.line.id, line.value_at.line));
        Some(Self {
            profiles,
            base: draft.is_base.then(|| name.clone()),
            name: draft.name.at.line,
            values: values.collect(),
        })
    }
}
