//! The order of steps: what must come first comes first; else what interrupts a link, then queues, then nothing, and
//! what tuned owns last, because tuned remembers what it saw when it started and puts that back when it stops.

use super::Step;
use crate::knob::{Disrupts, KnobId, Owner, definition_of};
use std::cmp::Reverse;

type Rank = (bool, Reverse<Disrupts>, crate::group::Group, KnobId);

fn rank(step: &Step) -> Rank {
    (
        step.owner == Owner::Tuned,
        Reverse(step.disrupts),
        step.group,
        step.knob.clone(),
    )
}

/// Whether `first` has to be written before `then`: the registry says so, and both are of one device or of none.
fn comes_first(first: &KnobId, then: &KnobId) -> bool {
    let after = definition_of(then).map(|def| def.after).unwrap_or_default();
    let same_device = match (first.device(), then.device()) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    same_device && after.contains(&first.pattern().as_str())
}

/// The steps in the order in which they are applied.
pub fn in_order(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_by_cached_key(rank);
    let mut ordered = Vec::with_capacity(steps.len());
    while !steps.is_empty() {
        let free = |step: &Step| !steps.iter().any(|other| comes_first(&other.knob, &step.knob));
        // The registry has no circle (tested there), so one step is always free.
        let next = steps.iter().position(free).unwrap_or(0);
        ordered.push(steps.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use crate::knob::REGISTRY;

    #[test]
    fn the_registry_has_no_circle() {
        let mut left: Vec<_> = REGISTRY.iter().collect();
        while !left.is_empty() {
            let before = left.len();
            let names: Vec<_> = left.iter().map(|def| def.pattern).collect();
            left.retain(|def| def.after.iter().any(|first| names.contains(first)));
            assert!(left.len() < before, "a circle among {names:?}");
        }
    }
}
