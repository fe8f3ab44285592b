//! How to take back one write: data, made and stored before the write is done.

use crate::knob::KnobId;
use crate::plan::Step;
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// The way back for one knob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "value")]
pub enum Undo {
    /// Write the value that was there before.
    Write(Value),
    /// Write the twin of a knob, which sets the knob itself to zero: `vm.dirty_bytes` was 0 and `vm.dirty_ratio` in
    /// force, and zero cannot be written to `vm.dirty_bytes`.
    WriteTwin {
        /// The twin that was in force.
        twin: KnobId,
        /// Its value.
        value: Value,
        /// What the knob itself read, for the read-back.
        before: Value,
    },
    /// Delete the root qdisc that we installed: the kernel then re-creates its default (`mq` and leaves, or
    /// `noqueue`). Never "restore" `pfifo_fast`. The text is what the leaves were before, to be read back.
    DelQdisc {
        /// The leaf kind before us, for the read-back.
        before: Value,
    },
    /// Stop tuned, which restores what it saw when it started, and put its own state back.
    Tuned {
        /// The profile that was active before; `None` when there was none.
        profile: Option<String>,
        /// `auto` or `manual`, as tuned's `profile_mode` file said; `None` when it was absent.
        mode: Option<String>,
        /// Whether tuned was running before us.
        running: bool,
    },
    /// Remove a file that we made.
    RemoveFile(String),
}

/// The way back of a step by its plan alone, for a commit that kept none: the value found when the plan was made.
pub fn of_step(step: &Step) -> Undo {
    let before = step.from.clone();
    match &step.knob {
        KnobId::Qdisc(_, key) if key == "leaf" => Undo::DelQdisc { before },
        KnobId::Tuned(_) if before.as_str() == NO_TUNED_PROFILE => Undo::Tuned {
            profile: None,
            mode: None,
            running: false,
        },
        KnobId::Tuned(_) => Undo::Tuned {
            profile: Some(before.to_string()),
            mode: Some("manual".to_owned()),
            running: true,
        },
        _ => Undo::Write(before),
    }
}

/// How `tuned:profile` reads when tuned is installed and no profile is active.
pub const NO_TUNED_PROFILE: &str = "none";

impl Undo {
    /// What the knob reads once it is undone; `None` where there is nothing to read.
    pub fn before(&self) -> Option<Value> {
        match self {
            Undo::Write(before) | Undo::WriteTwin { before, .. } | Undo::DelQdisc { before } => {
                Some(before.clone())
            }
            Undo::Tuned {
                profile: Some(profile),
                running: true,
                ..
            } => Some(Value::new(profile)),
            Undo::Tuned { .. } => Some(Value::new(NO_TUNED_PROFILE)),
            Undo::RemoveFile(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuned_that_did_not_run_is_expected_to_have_no_profile() {
        let undo = |running| Undo::Tuned {
            profile: Some("balanced".into()),
            mode: None,
            running,
        };
        assert_eq!(undo(false).before(), Some(NO_TUNED_PROFILE.into()));
        assert_eq!(undo(true).before(), Some("balanced".into()));
    }

    #[test]
    fn a_twin_is_told_apart_on_disk() {
        let undo = Undo::WriteTwin {
            twin: "sysctl:vm.dirty_ratio".parse().unwrap(),
            value: "20".into(),
            before: "0".into(),
        };
        let text = serde_json::to_string(&undo).unwrap();
        assert!(text.contains("write-twin"), "{text}");
        assert_eq!(serde_json::from_str::<Undo>(&text).unwrap(), undo);
    }
}
