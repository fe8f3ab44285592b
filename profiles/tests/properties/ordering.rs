//! The order of a plan, and that it leaves nothing out.

use crate::rendering::plan;
use crate::{host, plan_of, profile, read};
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::plan::{Plan, Step, hold};
use dtnforge_profiles::site::Unproved;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Whether the registry wants `first` to be written before `then`.
fn comes_first(first: &KnobId, then: &KnobId) -> bool {
    let after = definition_of(then).unwrap().after;
    let same_device = first.device().is_none() || then.device().is_none() || first.device() == then.device();
    same_device && after.contains(&first.pattern().as_str())
}

fn check_order(plan: &Plan) {
    for (index, step) in plan.steps.iter().enumerate() {
        let late = plan.steps[index + 1..]
            .iter()
            .find(|later| comes_first(&later.knob, &step.knob));
        assert!(late.is_none(), "{} before {}", step.knob, late.unwrap().knob);
    }
}

fn last_number(step: &Step, value: &dtnforge_profiles::value::Value) -> i64 {
    *value
        .integers()
        .unwrap_or_else(|| panic!("{}: {value}", step.knob))
        .last()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn what_must_come_first_comes_first_and_no_knob_is_written_twice(plan in plan()) {
        check_order(&plan);
        let knobs: BTreeSet<&KnobId> = plan.steps.iter().map(|step| &step.knob).collect();
        prop_assert_eq!(knobs.len(), plan.steps.len());
    }

    #[test]
    fn a_value_is_only_ever_lowered_and_a_step_always_changes_something(plan in plan()) {
        for step in &plan.steps {
            prop_assert_ne!(&step.from, &step.to);
            let numbers = step.to.integers().is_some();
            if let Some(lowered) = step.lowered.as_ref().filter(|_| numbers) {
                prop_assert!(last_number(step, &step.to) < last_number(step, &lowered.asked), "{}", step.knob);
                prop_assert!(step.from.integers().is_none_or(|from| *from.last().unwrap() < last_number(step, &step.to)), "{}", step.knob);
            }
        }
    }

    #[test]
    fn every_setting_of_a_profile_is_a_step_or_is_skipped_with_a_reason(
        (text, facts, site, seed) in (profile::text(), host::facts(), host::site(), any::<u8>())
    ) {
        let Some(profile) = read(&text) else { return Ok(()) };
        let offline = dtnforge_profiles::plan::offline_target(&facts);
        let plan = plan_of(&profile, &facts, &site, &offline);
        for line in &profile.knobs {
            let pattern = line.definition.pattern;
            let steps = plan.steps.iter().filter(|step| step.knob.pattern() == pattern).count();
            let is_it = |knob: &str| knob == line.id.to_string() || knob.parse::<KnobId>().is_ok_and(|knob| knob.pattern() == pattern);
            let skipped: Vec<_> = plan.skipped.iter().filter(|skipped| is_it(&skipped.knob)).collect();
            prop_assert!(steps + skipped.len() > 0, "{} is gone", line.id);
            prop_assert!(skipped.iter().all(|skipped| !skipped.why.is_empty()), "{skipped:?}");
        }
        // The order of the file is for people.
        let mut turned = profile.clone();
        let middle = usize::from(seed) % turned.knobs.len().max(1);
        turned.knobs.rotate_left(middle);
        prop_assert_eq!(plan_of(&turned, &facts, &site, &offline).steps, plan.steps);
    }

    #[test]
    fn holding_groups_moves_steps_and_loses_none(plan in plan(), storage in any::<bool>()) {
        let available = BTreeSet::from_iter(storage.then_some(Group::Block));
        let held = hold(plan.clone(), &available, Unproved::Hold);
        check_order(&held.plan);
        let names = |plan: &Plan| -> BTreeSet<String> {
            plan.steps.iter().map(|step| step.knob.to_string()).chain(plan.skipped.iter().map(|skipped| skipped.knob.clone())).collect()
        };
        prop_assert_eq!(names(&held.plan), names(&plan));
        prop_assert!(held.plan.steps.iter().all(|step| plan.steps.contains(step)));
        let groups: Vec<_> = held.plan.groups();
        prop_assert!(groups.iter().all(|group| !group.held_when_unproved() || group.evidence() == EvidenceKind::ReadBack || available.contains(group)));
    }
}
