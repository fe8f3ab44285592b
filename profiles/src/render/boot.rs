//! Words for the kernel command line, for people: they go into the command line of another UKI or boot entry, and count
//! from the next boot. Nothing on a node reads this file.

use super::{NativeFile, header, reason};
use crate::group::Group;
use crate::knob::KnobId;
use crate::plan::Plan;

/// Where the words are, below `/run`.
pub const COMMAND_LINE: &str = "dtnforge/kernel-command-line";

pub(super) fn file(plan: &Plan) -> Option<NativeFile> {
    let words: Vec<String> = plan
        .boot
        .iter()
        .filter_map(|word| match &word.knob {
            KnobId::Boot(key) => Some(format!(
                "{}{key}={}\n",
                reason(&word.why, &word.source),
                word.value
            )),
            _ => None,
        })
        .collect();
    (!words.is_empty()).then(|| NativeFile {
        path: COMMAND_LINE.to_owned(),
        text: format!(
            "{}\n{}",
            header(
                plan,
                "kernel command line, needs a reboot; for the admin, nothing reads it"
            ),
            words.join("\n")
        ),
        group: Some(Group::Boot),
    })
}
