//! `knobs.md`: the registry of knobs.

use crate::markdown::{self, code, name, prose, table};
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::knob::{KnobDef, REGISTRY, ValueKind};

const INTRODUCTION: &str = "\
Every setting that a profile may have, by group. A group is tried, kept or taken back as one. In a profile `<data>` stands
where this page has `<dev>`: one setting for each data port or data disk of the host.

*Owner* is the one who writes a setting on a committed host: a file of sysctl.d, a udev rule, our tuned profile, or the
kernel command line. *Interrupts* is what a write costs traffic. A value out of its range is refused when a profile is read.

";

pub(crate) fn page() -> String {
    let mut text = markdown::page("Knobs") + INTRODUCTION;
    for group in Group::ALL {
        let knobs: Vec<&KnobDef> = REGISTRY.iter().filter(|knob| knob.group == group).collect();
        if knobs.is_empty() {
            continue;
        }
        text += &format!("## {group}\n\n{}\n\n", evidence(group));
        text += &table(
            &["knob", "value", "owner", "scope", "interrupts", "what it is"],
            knobs.into_iter().map(row),
        );
    }
    text.trim_end().to_owned() + "\n"
}

fn evidence(group: Group) -> String {
    let measured = match group.evidence() {
        EvidenceKind::EmulatedPath => "Proved by TCP over an emulated path inside the host.",
        EvidenceKind::RealNic => "Proved by traffic with a peer over the real port.",
        EvidenceKind::Storage => "Proved by reading and writing the data store.",
        EvidenceKind::ReadBack => "Harmless by nature: reading it back is all the proof there is.",
    };
    let without = if group.held_when_unproved() {
        "Without such proof it stays at stock, unless the site says `unproved = \"apply\"`."
    } else {
        "Without such proof it is applied and listed as unproved."
    };
    match group.evidence() {
        EvidenceKind::ReadBack if !group.held_when_unproved() => measured.to_owned(),
        _ => format!("{measured} {without}"),
    }
}

fn row(knob: &KnobDef) -> Vec<String> {
    let mut about = prose(knob.about);
    if !knob.after.is_empty() {
        about += &format!(" Written after {}.", list(knob.after.iter().copied()));
    }
    for (value, module) in knob.modules {
        about += &format!(" {} needs the module {}.", code(value), code(module));
    }
    vec![
        code(knob.pattern),
        value(knob),
        name(knob.owner),
        name(knob.scope),
        name(knob.disrupts),
        about,
    ]
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(code).collect::<Vec<_>>().join(", ")
}

fn value(knob: &KnobDef) -> String {
    let unit = if knob.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", knob.unit)
    };
    match knob.kind {
        ValueKind::Integer { min, max: i64::MAX } => format!("{min}{unit} or more"),
        ValueKind::Integer { min, max } => format!("{min} to {max}{unit}"),
        ValueKind::Triple { min, max } => format!("three of {min} to {max}{unit}, ascending"),
        ValueKind::Switch => "`on` or `off`".to_owned(),
        ValueKind::Word([]) => "a word".to_owned(),
        ValueKind::Word(words) => list(words.iter().copied()),
    }
}
