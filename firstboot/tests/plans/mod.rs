//! Plans of a test: steps as the test wants them, in a plan that nothing was matched or rendered for.

use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::{Disrupts, KnobId, Owner};
use dtnforge_profiles::plan::{Origin, PLAN_SCHEMA, Plan, Step};
use dtnforge_profiles::value::Value;

use std::collections::BTreeMap;

/// A step of `group` that leads from one value to another.
pub(crate) fn step(knob: KnobId, from: Value, to: &str, group: Group) -> Step {
    Step {
        knob,
        from,
        to: to.into(),
        lowered: None,
        group,
        why: "test".into(),
        origin: Origin::default(),
        source: "test".into(),
        owner: Owner::SysctlD,
        disrupts: Disrupts::None,
    }
}

/// A plan of nothing but these steps.
pub(crate) fn of(steps: Vec<Step>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA,
        profile: "test".into(),
        layer: Digest::of(b"layer"),
        fingerprint: Digest::of(b"host"),
        steps,
        skipped: vec![],
        modules: vec![],
        tuned_conf: None,
        interfaces: BTreeMap::new(),
        advice: vec![],
        boot: vec![],
    }
}
