//! Our tuned profile and what makes it the active one. The plan holds its text; here each of its lines gets its reason.

use super::{NativeFile, RenderError, TunedConf, comment, header};
use crate::group::Group;
use crate::knob::KnobId;
use crate::plan::{Plan, Step};

/// Where our tuned profiles are, below `/run`.
pub const TUNED_PROFILES: &str = "dtnforge/tuned/profiles";

pub(super) fn files(plan: &Plan) -> Result<Vec<NativeFile>, RenderError> {
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
    let body = conf.annotated(|option| reason_of(plan, option));
    Ok(vec![
        file("dtnforge/tuned/active_profile".to_owned(), format!("{name}\n")),
        file("dtnforge/tuned/profile_mode".to_owned(), "manual\n".to_owned()),
        file(
            format!("{TUNED_PROFILES}/{name}/tuned.conf"),
            format!("{}{body}", header(plan, "tuned profile")),
        ),
    ])
}

/// The comment for an option: `sysctl vm.swappiness`, `cpu governor`, `disk elevator`, `disk readahead`.
fn reason_of(plan: &Plan, option: &str) -> String {
    let is_meant = |step: &&Step| match (&step.knob, option.split_once(' ')) {
        (KnobId::Sysctl(key), Some(("sysctl", wanted))) => key == wanted,
        (KnobId::Cpu(_), Some(("cpu", _))) => true,
        (KnobId::Block(_, key), Some(("disk", "elevator"))) => key == "scheduler",
        (KnobId::Block(_, key), Some(("disk", "readahead"))) => key == "read_ahead_kb",
        _ => false,
    };
    match plan.steps.iter().find(is_meant) {
        Some(step) => comment(step),
        None => "# As it is: the included profile would change it.\n".to_owned(),
    }
}
