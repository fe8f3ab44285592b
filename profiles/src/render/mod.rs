//! A plan as native files under `/run`: sysctl.d, udev rules, modules-load.d, a tuned profile, and the words for the
//! kernel command line.
//!
//! Only values of the plan are written, each under a comment with its reason and source. A value is written only when
//! it is of the registry's type for its knob, so that nothing can break out of its line.

mod boot;
mod modules;
mod sysctl;
mod tuned;
mod tuned_files;
mod udev;

pub use boot::COMMAND_LINE;
pub use tuned::{Disk, TunedConf};
pub use tuned_files::TUNED_PROFILES;

use crate::catalog::in_range;
use crate::group::Group;
use crate::knob::{KnobId, Owner, definition_of};
use crate::plan::{Plan, Step};
use crate::value::Value;

/// A file to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeFile {
    /// Path relative to `/run`, for instance `sysctl.d/90-dtnforge-tcp-buffers.conf`.
    pub path: String,
    /// Its whole text.
    pub text: String,
    /// The group that it belongs to; `None` for what several need.
    pub group: Option<Group>,
}

/// A plan that cannot be written down: it did not come from [`crate::plan::make`], or was changed since.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A value that does not fit its knob.
    #[error("{knob}: {why}")]
    Value {
        /// The knob.
        knob: KnobId,
        /// What was expected.
        why: String,
    },
    /// A knob that the registry does not know.
    #[error("{0} is not in the registry of knobs")]
    Knob(KnobId),
    /// A name that would leave its place in a path or a line.
    #[error("{what} {name:?} has characters outside lower-case letters, digits, `_` and `-`")]
    Name {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A tuned profile that is not in our own form.
    #[error("the tuned profile of the plan is not in our own form")]
    Tuned,
}

/// All files of a plan, in the order of their paths.
///
/// # Errors
/// [`RenderError`]: then nothing of the plan may be placed.
pub fn files(plan: &Plan) -> Result<Vec<NativeFile>, RenderError> {
    check_name("profile", &plan.profile)?;
    let steps = plan.steps.iter().map(|step| (&step.knob, &step.to));
    let words = plan.boot.iter().map(|word| (&word.knob, &word.value));
    for (knob, value) in steps.chain(words) {
        check_value(knob, value)?;
    }
    let mut files = sysctl::files(plan);
    files.extend(udev::files(plan));
    files.extend(modules::file(plan)?);
    files.extend(tuned_files::files(plan)?);
    files.extend(boot::file(plan));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn check_name(what: &'static str, name: &str) -> Result<(), RenderError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        let name = name.to_owned();
        return Err(RenderError::Name { what, name });
    }
    Ok(())
}

fn check_value(knob: &KnobId, value: &Value) -> Result<(), RenderError> {
    let definition = definition_of(knob).ok_or_else(|| RenderError::Knob(knob.clone()))?;
    in_range(definition, value).map_err(|why| RenderError::Value {
        knob: knob.clone(),
        why,
    })
}

/// The first line of a file: who wrote it, from what, and what it is for.
fn header(plan: &Plan, what: &str) -> String {
    format!(
        "# Written by dtnforge {}, profile {}, layer {}: {what}. Changes are lost.\n",
        env!("CARGO_PKG_VERSION"),
        plan.profile,
        plan.layer.short()
    )
}

/// Why a value is there, as a comment.
fn comment(step: &Step) -> String {
    let mut text = reason(&step.why, &step.source);
    if let Some(lowered) = &step.lowered {
        let (asked, why) = (line(lowered.asked.as_str()), line(&lowered.why));
        text.push_str(&format!("# Lowered from {asked}: {why}\n"));
    }
    text
}

/// A reason and its source, as a comment.
fn reason(why: &str, source: &str) -> String {
    format!("# {}\n# Source: {}\n", line(why), line(source))
}

/// A text on one line: each control character becomes a blank.
fn line(text: &str) -> String {
    // U+2028 and U+2029 are line ends to some readers.
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ").trim().to_owned()
}

/// The steps of one owner and group.
fn steps_of(plan: &Plan, owner: Owner, group: Group) -> impl Iterator<Item = &Step> {
    plan.steps
        .iter()
        .filter(move |step| step.owner == owner && step.group == group)
}

#[cfg(test)]
mod tests;
