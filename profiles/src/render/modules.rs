//! `modules-load.d`: the modules that values in sysctl.d need, each under the value that needs it.

use super::{NativeFile, RenderError, check_name, header};
use crate::knob::definition_of;
use crate::plan::{Plan, Step};
use std::fmt::Write as _;

pub(super) fn file(plan: &Plan) -> Result<Option<NativeFile>, RenderError> {
    if plan.modules.is_empty() {
        return Ok(None);
    }
    let mut text = header(plan, "modules that other values need");
    for module in &plan.modules {
        check_name("module", module)?;
        let users = plan.steps.iter().filter(|step| needs(step, module));
        let users: Vec<String> = users.map(|step| format!("{} = {}", step.knob, step.to)).collect();
        // Writing to a text cannot fail.
        let _ = write!(text, "\n# {} needs it.\n{module}\n", users.join(", "));
    }
    Ok(Some(NativeFile {
        path: "modules-load.d/dtnforge.conf".to_owned(),
        text,
        group: None,
    }))
}

fn needs(step: &Step, module: &str) -> bool {
    let modules = definition_of(&step.knob).map_or(&[][..], |definition| definition.modules);
    modules
        .iter()
        .any(|(value, needed)| *needed == module && *value == step.to.as_str())
}
