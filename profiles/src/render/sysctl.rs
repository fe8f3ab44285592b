//! `sysctl.d` files, one for each group. The leaf of a device that comes up follows from `net.core.default_qdisc`, so
//! a `qdisc/` step has no line of its own.

use super::{NativeFile, comment, header, steps_of};
use crate::group::Group;
use crate::knob::{KnobId, Owner};
use crate::plan::{Plan, Step};

pub(super) fn files(plan: &Plan) -> Vec<NativeFile> {
    Group::ALL
        .into_iter()
        .filter_map(|group| file(plan, group))
        .collect()
}

fn file(plan: &Plan, group: Group) -> Option<NativeFile> {
    let lines: Vec<String> = steps_of(plan, Owner::SysctlD, group).filter_map(entry).collect();
    (!lines.is_empty()).then(|| NativeFile {
        path: format!("sysctl.d/90-dtnforge-{group}.conf"),
        text: format!("{}\n{}", header(plan, group.name()), lines.join("\n")),
        group: Some(group),
    })
}

fn entry(step: &Step) -> Option<String> {
    match &step.knob {
        KnobId::Sysctl(key) => Some(format!("{}{key} = {}\n", comment(step), step.to)),
        _ => None,
    }
}
