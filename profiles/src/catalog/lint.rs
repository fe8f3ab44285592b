//! What the fields of a profile say together: values in their ranges, one line and one owner for each knob, and
//! nothing that tuned would take away again.

use super::problem::Collector;
use super::profile::{KnobLine, Profile, Tuned};
use super::range::in_range;
use super::written::{KnobFile, ProfileFile, TunedFile};
use crate::group::Group;
use crate::knob::{KnobId, Owner};

/// Looks at a whole profile whose fields are valid on their own.
pub(super) fn check(profile: &Profile, written: &ProfileFile, found: &mut Collector<'_>) {
    for (index, (line, file)) in profile.knobs.iter().zip(&written.knobs).enumerate() {
        check_range(line, file, profile, found);
        check_twice(&profile.knobs[..index], line, file, found);
        check_owner(line, file, profile, found);
    }
    check_leaf(profile, written, found);
    if let (Some(tuned), Some(file)) = (&profile.tuned, &written.tuned) {
        check_repeats(tuned, file, profile, found);
    }
    if profile.is_stock() && (!profile.knobs.is_empty() || profile.tuned.is_some()) {
        let what = "stock never tunes, so it has no [tuned] and no [[knob]]";
        found.add(written.name.span(), "name", what, None);
    }
}

fn check_range(line: &KnobLine, file: &KnobFile, profile: &Profile, found: &mut Collector<'_>) {
    if line.value.uses_buffer() && (profile.buffer.is_none() || line.definition.group != Group::TcpBuffers) {
        let what = "{buffer} needs a [buffer] table, and a knob of the group tcp-buffers";
        found.add(file.value.span(), "value", what, None);
        return;
    }
    // Any size will do for the formula: it is capped where it is computed.
    let Some(value) = line.value.resolve(Some(1 << 20)) else {
        return;
    };
    if let Err(what) = in_range(line.definition, &value) {
        found.add(file.value.span(), "value", what, None);
    }
    if line.ram_divisor.is_some() && line.definition.unit != "byte" {
        found.add(
            file.id.span(),
            "ram_divisor",
            "only a value in byte can follow the memory",
            None,
        );
    }
}

fn check_twice(before: &[KnobLine], line: &KnobLine, file: &KnobFile, found: &mut Collector<'_>) {
    if before.iter().any(|other| other.id == line.id) {
        found.add(file.id.span(), "id", format!("{} stands twice", line.id), None);
    }
}

/// A knob that only tuned keeps up needs our tuned profile; the tuned profile itself is not written as a knob.
fn check_owner(line: &KnobLine, file: &KnobFile, profile: &Profile, found: &mut Collector<'_>) {
    if line.definition.pattern == "tuned:profile" {
        let what = "tuned:profile follows from the [tuned] table, which would be its second owner";
        found.add(file.id.span(), "id", what, Some("remove this entry".to_owned()));
    } else if line.definition.owner == Owner::Tuned && profile.tuned.is_none() {
        let what = format!(
            "{} is owned by tuned, and the profile has no [tuned] table",
            line.id
        );
        found.add(file.id.span(), "id", what, None);
    }
}

/// At boot the leaf comes from default_qdisc: two values would be two owners.
fn check_leaf(profile: &Profile, written: &ProfileFile, found: &mut Collector<'_>) {
    let line_of = |pattern: &str| {
        let mut lines = profile.knobs.iter().zip(&written.knobs);
        lines.find(|(line, _)| line.definition.pattern == pattern)
    };
    let Some((leaf, file)) = line_of("qdisc/<dev>:leaf") else {
        return;
    };
    let default = line_of("sysctl:net.core.default_qdisc").map(|(line, _)| &line.value);
    if default != Some(&leaf.value) {
        let what = "the leaf of a device that comes up is net.core.default_qdisc, which has another value";
        let hint = format!(
            "set sysctl:net.core.default_qdisc to {:?} as well",
            leaf.value.as_str()
        );
        found.add(file.value.span(), "value", what, Some(hint));
    }
}

fn check_repeats(tuned: &Tuned, file: &TunedFile, profile: &Profile, found: &mut Collector<'_>) {
    let include = tuned.include.name();
    for (id, place) in tuned.repeat.iter().zip(&file.repeat) {
        let line = profile.knobs.iter().find(|line| line.id == *id);
        match line.map(|line| line.definition.owner) {
            None => found.add(
                place.span(),
                "repeat",
                format!("{id} is no knob of this profile"),
                None,
            ),
            Some(Owner::SysctlD) if reset(tuned, id.host_knob()) => {}
            // Repeated without need, tuned would be a second owner.
            Some(_) => {
                let what =
                    format!("{id} has two owners: {include} does not reset it, so tuned must not set it");
                found.add(
                    place.span(),
                    "repeat",
                    what,
                    Some("remove it from `repeat`".to_owned()),
                );
            }
        }
    }
    for line in &profile.knobs {
        if reset(tuned, line.id.host_knob()) && !tuned.repeat.contains(&line.id) {
            let what = format!(
                "{include} resets {}, so our tuned profile has to repeat it",
                line.id
            );
            let hint = format!("add \"{}\" to `repeat` in [tuned]", line.id);
            found.add(file.include.span(), "repeat", what, Some(hint));
        }
    }
}

fn reset(tuned: &Tuned, knob: Option<&KnobId>) -> bool {
    matches!(knob, Some(KnobId::Sysctl(key)) if tuned.include.reset_of(key).is_some())
}
