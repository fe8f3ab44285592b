//! What a commit changed in this boot beside its own knobs.
//!
//! `net.core.default_qdisc` is what a device gets when it comes up. In a trial it touches nothing that is up; at boot
//! it is in force before any device is there, so that every NIC has its queue discipline from it, those for management
//! as well. To take the value back alone would leave them as they are.

use crate::door::Door;
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::{Disrupts, KnobId};
use dtnforge_profiles::plan::{Plan, Reading, Step};
use dtnforge_profiles::state::Commit;
use dtnforge_profiles::undo::Undo;
use std::collections::BTreeMap;

const DEFAULT_QDISC: &str = "net.core.default_qdisc";

/// A plan with all that a commit changed, and the way back of each knob.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) plan: Plan,
    pub(super) stock: BTreeMap<KnobId, Undo>,
}

/// The plan of `commit`, and a step more for each NIC that has its queue discipline from the plan's default.
pub(super) fn changed(host: &Host, doors: &dyn Door, commit: &Commit) -> Changed {
    let mut changed = Changed {
        plan: commit.plan.clone(),
        stock: commit.ways_back(),
    };
    let is_default = |step: &&Step| matches!(&step.knob, KnobId::Sysctl(key) if key == DEFAULT_QDISC);
    let Some(default) = commit.plan.steps.iter().find(is_default) else {
        return changed;
    };
    let leaves = netdev::names(host)
        .into_iter()
        .filter_map(|name| Some(KnobId::Qdisc(netdev::identity(host, &name)?, "leaf".to_owned())));
    for knob in leaves {
        let has_step = changed.stock.contains_key(&knob);
        let follows = matches!(doors.read(&knob), Ok(Reading::Is(kind)) if kind == default.to);
        if has_step || !follows {
            continue;
        }
        let before = default.from.clone();
        changed.stock.insert(knob.clone(), Undo::DelQdisc { before });
        changed.plan.steps.push(Step {
            knob,
            disrupts: Disrupts::Queue,
            ..default.clone()
        });
    }
    changed
}
