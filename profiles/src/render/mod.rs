//! A plan as native files under `/run`: sysctl.d, udev rules, modules-load.d and a tuned profile.
//!
//! Only values of the plan are written, each under a comment with its reason and source. A value is written only when
//! it is of the registry's type for its knob, so that nothing can break out of its line.

mod sysctl;
mod tuned;
mod udev;

pub use tuned::TunedConf;

use crate::catalog::in_range;
use crate::group::Group;
use crate::knob::{KnobId, Owner, definition_of};
use crate::plan::{Plan, Step};

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

/// Where our tuned profiles are, below `/run`.
pub const TUNED_PROFILES: &str = "dtnforge/tuned/profiles";

/// All files of a plan, in the order of their paths.
///
/// # Errors
/// [`RenderError`]: then nothing of the plan may be placed.
pub fn files(plan: &Plan) -> Result<Vec<NativeFile>, RenderError> {
    check_name("profile", &plan.profile)?;
    for step in &plan.steps {
        let definition = definition_of(&step.knob).ok_or_else(|| RenderError::Knob(step.knob.clone()))?;
        in_range(definition, &step.to).map_err(|why| RenderError::Value {
            knob: step.knob.clone(),
            why,
        })?;
    }
    let mut files = sysctl::files(plan);
    files.extend(udev::files(plan));
    files.extend(modules(plan)?);
    files.extend(tuned_files(plan)?);
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

fn modules(plan: &Plan) -> Result<Option<NativeFile>, RenderError> {
    if plan.modules.is_empty() {
        return Ok(None);
    }
    let mut text = header(plan, "modules that values in sysctl.d need");
    for module in &plan.modules {
        check_name("module", module)?;
        text.push_str(module);
        text.push('\n');
    }
    Ok(Some(NativeFile {
        path: "modules-load.d/dtnforge.conf".to_owned(),
        text,
        group: None,
    }))
}

fn tuned_files(plan: &Plan) -> Result<Vec<NativeFile>, RenderError> {
    let Some(text) = &plan.tuned_conf else {
        return Ok(Vec::new());
    };
    let conf = TunedConf::parse(text).ok_or(RenderError::Tuned)?;
    let name = format!("dtnforge-{}", plan.profile);
    let file = |path: String, text: String| NativeFile {
        path,
        text,
        group: Some(Group::Cpu),
    };
    Ok(vec![
        file("dtnforge/tuned/active_profile".to_owned(), format!("{name}\n")),
        file("dtnforge/tuned/profile_mode".to_owned(), "manual\n".to_owned()),
        file(format!("{TUNED_PROFILES}/{name}/tuned.conf"), conf.to_text()),
    ])
}

/// The first line of a file.
fn header(plan: &Plan, what: &str) -> String {
    format!(
        "# Written by dtnforge, profile {}: {what}. Changes are lost.\n",
        plan.profile
    )
}

/// Why a value is there, as a comment.
fn comment(step: &Step) -> String {
    let mut text = format!("# {}\n# Source: {}\n", line(&step.why), line(&step.source));
    if let Some(lowered) = &step.lowered {
        let (asked, why) = (line(lowered.asked.as_str()), line(&lowered.why));
        text.push_str(&format!("# Lowered from {asked}: {why}\n"));
    }
    text
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
