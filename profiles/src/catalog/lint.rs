//! What the fields of a profile say together: values in their ranges, one line and one owner for each knob, and
//! nothing that tuned would take away again.

use super::draft::{Draft, DraftLine, DraftTuned, Place};
use super::problem::Problem;
use super::range::in_range;
use super::resolve::Merged;
use crate::group::Group;
use crate::knob::{KnobId, Owner};

/// What is wrong in the lines of one file, whatever else becomes of them.
pub(super) fn lines(draft: &Draft) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in draft.lines.iter().enumerate() {
        problems.extend(out_of_range(line));
        problems.extend(twice(&draft.lines[..index], line));
    }
    problems
}

fn out_of_range(line: &DraftLine) -> Vec<Problem> {
    let mut problems = Vec::new();
    // Any size will do for the formula: it is capped where it is computed.
    let value = line.line.value.resolve(Some(1 << 20));
    if let Some(Err(what)) = value.map(|value| in_range(line.line.definition, &value)) {
        problems.push(
            line.value_at
                .problem("value", what, None)
                .of("value-out-of-range"),
        );
    }
    if line.line.ram_divisor.is_some() && line.line.definition.unit != "byte" {
        let what = "only a value in byte can follow the memory";
        problems.push(line.id_at.problem("ram_divisor", what, None));
    }
    problems
}

fn twice(before: &[DraftLine], line: &DraftLine) -> Option<Problem> {
    let known = before.iter().any(|other| other.line.id == line.line.id);
    known.then(|| {
        let what = format!("{} stands twice", line.line.id);
        let hint = Some("keep one of the two".to_owned());
        line.id_at.problem("id", what, hint).of("key-twice")
    })
}

/// What is wrong in a profile with its bases put in.
pub(super) fn whole(merged: &Merged) -> Vec<Problem> {
    let mut problems = Vec::new();
    for line in &merged.lines {
        problems.extend(without_buffer(line, merged));
        problems.extend(wrong_owner(line, merged));
    }
    problems.extend(two_leaves(merged));
    problems.extend(rate_without_fq(merged));
    if let Some(tuned) = &merged.tuned {
        problems.extend(wrong_repeats(tuned, merged));
    }
    if merged.is_stock() && (!merged.lines.is_empty() || merged.tuned.is_some()) {
        let what = "stock never tunes, so it has no [tuned] and no [[knob]]";
        problems.push(merged.name_at.problem("name", what, None));
    }
    problems
}

fn without_buffer(line: &DraftLine, merged: &Merged) -> Option<Problem> {
    let misplaced = merged.buffer.is_none() || line.line.definition.group != Group::TcpBuffers;
    (line.line.value.uses_buffer() && misplaced).then(|| {
        let what = "{buffer} needs a [buffer] table, and a knob of the group tcp-buffers";
        line.value_at.problem("value", what, None)
    })
}

/// A knob that only tuned keeps up needs our tuned profile; the tuned profile itself is not written as a knob.
fn wrong_owner(line: &DraftLine, merged: &Merged) -> Option<Problem> {
    if line.line.definition.pattern == "tuned:profile" {
        let what = "tuned:profile follows from the [tuned] table, which would be its second owner";
        let hint = Some("remove this entry".to_owned());
        return Some(line.id_at.problem("id", what, hint).of("two-owners"));
    }
    let homeless = line.line.definition.owner == Owner::Tuned && merged.tuned.is_none();
    homeless.then(|| {
        let what = format!(
            "{} is owned by tuned, and the profile has no [tuned] table",
            line.line.id
        );
        let hint = Some("add a [tuned] table, or extend a base that has one".to_owned());
        line.id_at.problem("id", what, hint).of("two-owners")
    })
}

/// At boot the leaf comes from default_qdisc: two values would be two owners.
fn two_leaves(merged: &Merged) -> Option<Problem> {
    let line_of = |pattern: &str| {
        let mut lines = merged.lines.iter();
        lines.find(|line| line.line.definition.pattern == pattern)
    };
    let leaf = line_of("qdisc/<dev>:leaf")?;
    let default = line_of("sysctl:net.core.default_qdisc").map(|line| &line.line.value);
    (default != Some(&leaf.line.value)).then(|| {
        let what = "the leaf of a device that comes up is net.core.default_qdisc, which has another value";
        let hint = format!(
            "set sysctl:net.core.default_qdisc to {:?} as well",
            leaf.line.value.as_str()
        );
        leaf.value_at.problem("value", what, Some(hint)).of("two-owners")
    })
}

/// Only `fq` holds a flow to a rate.
fn rate_without_fq(merged: &Merged) -> Option<Problem> {
    let mut lines = merged.lines.iter();
    let rate = lines.find(|line| line.line.definition.pattern == "qdisc/<dev>:maxrate")?;
    let is_fq = |line: &&DraftLine| {
        line.line.definition.pattern == "qdisc/<dev>:leaf" && line.line.value.as_str() == "fq"
    };
    merged.lines.iter().find(is_fq).is_none().then(|| {
        let what = "only fq holds a flow to a rate, and the profile does not set it";
        let hint = Some("set qdisc/<data>:leaf to \"fq\" as well".to_owned());
        rate.id_at.problem("id", what, hint)
    })
}

/// Where the profile says itself what tuned repeats, that has to be right.
fn wrong_repeats(tuned: &DraftTuned, merged: &Merged) -> Vec<Problem> {
    let include = tuned.include.value.name();
    let mut problems = Vec::new();
    for id in tuned.repeat.iter().flatten() {
        let line = merged.lines.iter().find(|line| line.line.id == id.value);
        match line.map(|line| line.line.definition.owner) {
            None => {
                let what = format!("{} is no knob of this profile", id.value);
                problems.push(id.at.problem("repeat", what, None));
            }
            Some(Owner::SysctlD) if resets(tuned, id.value.host_knob()) => {}
            // Repeated without need, tuned would be a second owner.
            Some(_) => {
                let what = format!(
                    "{} has two owners: {include} does not reset it, so tuned must not set it",
                    id.value
                );
                let hint = Some("remove it from `repeat`".to_owned());
                problems.push(id.at.problem("repeat", what, hint).of("two-owners"));
            }
        }
    }
    problems.extend(missing_repeats(tuned, merged, &tuned.include.at));
    problems
}

fn missing_repeats(tuned: &DraftTuned, merged: &Merged, at: &Place) -> Vec<Problem> {
    let Some(repeat) = &tuned.repeat else {
        return Vec::new();
    };
    let reset = merged
        .lines
        .iter()
        .filter(|line| resets(tuned, line.line.id.host_knob()));
    let missing = reset.filter(|line| !repeat.iter().any(|id| id.value == line.line.id));
    let problem = |line: &DraftLine| {
        let what = format!(
            "{} resets {}, so our tuned profile has to repeat it",
            tuned.include.value.name(),
            line.line.id
        );
        let hint = format!("add \"{}\" to `repeat` in [tuned]", line.line.id);
        at.problem("repeat", what, Some(hint)).of("tuned-resets")
    };
    missing.map(problem).collect()
}

/// Whether the included profile of tuned takes away the value of a knob.
pub(super) fn resets(tuned: &DraftTuned, knob: Option<&KnobId>) -> bool {
    matches!(knob, Some(KnobId::Sysctl(key)) if tuned.include.value.reset_of(key).is_some())
}
