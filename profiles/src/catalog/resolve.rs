//! From a draft and the bases that it extends to profiles: one, or one for each speed.
//!
//! What is inherited is one level away, and nothing of it is hidden: a line of the profile's own replaces a base's line
//! for the same knob, a table of its own replaces a base's table as a whole, and two bases must not both have one.

use super::check::SPEED;
use super::draft::{Draft, DraftLine, DraftTuned, Place};
use super::problem::{Problem, Problems};
use super::profile::{KnobLine, Match, Profile, STOCK, Tuned};
use super::template::KnobTemplate;
use super::{Buffer, lint};
use crate::conclude::SpeedClass;

/// A draft with its bases put in, for all its speeds.
pub(super) struct Merged {
    pub(super) name_at: Place,
    pub(super) name: String,
    pub(super) lines: Vec<DraftLine>,
    pub(super) buffer: Option<Buffer>,
    pub(super) tuned: Option<DraftTuned>,
}

impl Merged {
    pub(super) fn is_stock(&self) -> bool {
        self.name == STOCK
    }
}

/// The profiles of a draft.
///
/// # Errors
/// All that is wrong in it once the bases are put in.
pub(super) fn profiles<'a>(
    draft: &Draft,
    base: impl Fn(&str) -> Option<&'a Draft>,
) -> Result<Vec<Profile>, Problems> {
    let mut problems = lint::lines(draft);
    let bases = bases_of(draft, base, &mut problems);
    let merged = merge(draft, &bases, &mut problems);
    problems.extend(lint::whole(&merged));
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let advice: Vec<_> = bases
        .iter()
        .chain([&draft])
        .flat_map(|draft| &draft.advice)
        .cloned()
        .collect();
    let whole = Profile {
        name: draft.name.value.clone(),
        title: draft.title.value.clone(),
        roles: draft.roles.clone(),
        matching: draft
            .matching
            .as_ref()
            .map_or_else(Match::default, |matching| matching.value.clone()),
        tuned: tuned(&merged),
        buffer: merged.buffer,
        knobs: merged.lines.into_iter().map(|line| line.line).collect(),
        advice,
    };
    if draft.speeds.is_empty() {
        return Ok(vec![whole]);
    }
    Ok(draft
        .speeds
        .iter()
        .map(|speed| for_speed(&whole, speed.value))
        .collect())
}

fn bases_of<'a>(
    draft: &Draft,
    base: impl Fn(&str) -> Option<&'a Draft>,
    problems: &mut Vec<Problem>,
) -> Vec<&'a Draft> {
    let mut bases = Vec::new();
    for name in &draft.extends {
        match base(&name.value) {
            Some(base) => bases.push(base),
            None => {
                let what = format!("{:?} is no base of this catalog", name.value);
                let hint = "a base is a file with `base = true`".to_owned();
                problems.push(name.at.problem("extends", what, Some(hint)));
            }
        }
    }
    bases
}

fn merge(draft: &Draft, bases: &[&Draft], problems: &mut Vec<Problem>) -> Merged {
    let own = |id: &KnobTemplate| draft.lines.iter().find(|line| line.line.id == *id);
    let mut lines: Vec<DraftLine> = Vec::new();
    for base in bases {
        for line in &base.lines {
            let id = &line.line.id;
            if own(id).is_some() {
                continue;
            }
            if let Some(other) = lines.iter().find(|other| other.line.id == *id) {
                let first = other.line.inherited_from.clone().unwrap_or_default();
                problems.push(both_have(draft, &format!("a value for {id}"), &first, base));
                continue;
            }
            lines.push(inherited(line, base));
        }
    }
    lines.extend(draft.lines.iter().cloned());
    Merged {
        name_at: draft.name.at.clone(),
        name: draft.name.value.clone(),
        lines,
        buffer: table(draft, bases, "a [buffer] table", problems, |draft| {
            draft.buffer.as_ref().map(|buffer| buffer.value.clone())
        }),
        tuned: table(draft, bases, "a [tuned] table", problems, |draft| {
            draft.tuned.clone()
        }),
    }
}

fn inherited(line: &DraftLine, base: &Draft) -> DraftLine {
    let mut line = line.clone();
    line.line.inherited_from = Some(base.name.value.clone());
    line
}

/// The profile's own table, else the one of its bases that has one.
fn table<T>(
    draft: &Draft,
    bases: &[&Draft],
    what: &str,
    problems: &mut Vec<Problem>,
    of: impl Fn(&Draft) -> Option<T>,
) -> Option<T> {
    if let Some(own) = of(draft) {
        return Some(own);
    }
    let mut having = bases.iter().filter(|base| of(base).is_some());
    let first = having.next()?;
    if let Some(second) = having.next() {
        problems.push(both_have(draft, what, &first.name.value, second));
    }
    of(first)
}

fn both_have(draft: &Draft, what: &str, first: &str, second: &Draft) -> Problem {
    let second = &second.name.value;
    let at = draft.extends.iter().find(|name| name.value == *second);
    let at = at.map_or(&draft.name.at, |name| &name.at);
    let hint = "say it in the profile itself, or extend only one of them".to_owned();
    at.problem(
        "extends",
        format!("{first} and {second} both have {what}"),
        Some(hint),
    )
}

/// Our tuned profile; what it repeats follows from what its include resets, unless the profile says it.
fn tuned(merged: &Merged) -> Option<Tuned> {
    let tuned = merged.tuned.as_ref()?;
    let said = tuned
        .repeat
        .as_ref()
        .map(|repeat| repeat.iter().map(|id| id.value.clone()).collect());
    let reset = || {
        let lines = merged.lines.iter().map(|line| &line.line.id);
        lines
            .filter(|id| lint::resets(tuned, id.host_knob()))
            .cloned()
            .collect()
    };
    Some(Tuned {
        include: tuned.include.value,
        repeat: said.unwrap_or_else(reset),
    })
}

/// The profile for one speed: its name, its hosts, the formula's input, and only the lines that are for it.
/// The name of the profile for one speed.
pub(super) fn name_for(name: &str, class: SpeedClass) -> String {
    name.replace(SPEED, &class.name().to_ascii_lowercase())
}

fn for_speed(whole: &Profile, class: SpeedClass) -> Profile {
    let mut profile = whole.clone();
    profile.name = name_for(&profile.name, class);
    profile.title = profile.title.replace(SPEED, class.name());
    profile.matching.speed_classes = vec![class];
    if let Some(mbps) = class.mbps() {
        profile.buffer = profile.buffer.map(|buffer| Buffer {
            speed_mbps: Some(mbps),
            ..buffer
        });
        profile.knobs.retain(|line| line.is_for_link(mbps));
    }
    profile.knobs = profile.knobs.into_iter().map(for_all_links).collect();
    profile
}

fn for_all_links(line: KnobLine) -> KnobLine {
    KnobLine {
        min_mbps: None,
        max_mbps: None,
        ..line
    }
}
