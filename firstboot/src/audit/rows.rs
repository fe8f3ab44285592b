//! From expected values and readings to the rows of an audit.

use super::reference::{Entry, Reference};
use crate::host::Host;
use crate::owner::Owners;
use crate::people;
use dtnforge_profiles::audit::{Row, RowVerdict};
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::plan::{Reading, Skipped};
use dtnforge_profiles::value::Value;

/// All rows, what differs first.
pub(super) fn make(host: &Host, owners: &Owners, reference: &Reference) -> Vec<Row> {
    let entries = reference
        .entries
        .iter()
        .map(|entry| of_entry(host, owners, reference, entry));
    let skipped = reference.skipped.iter().map(|skipped| of_skipped(host, skipped));
    let mut rows: Vec<Row> = entries.chain(skipped).collect();
    rows.sort_by_key(|row| row.verdict);
    rows
}

fn of_entry(host: &Host, owners: &Owners, reference: &Reference, entry: &Entry) -> Row {
    let step = &entry.step;
    let (live, problem) = match &entry.reading {
        Reading::Is(value) => (Some(value.clone()), None),
        Reading::Absent => (None, Some("not there now".to_owned())),
        Reading::Unsupported(why) => (None, Some(why.clone())),
    };
    let committed = entry.is_ours.then_some(&step.to);
    let owner = live.as_ref().map(|live| owners.of(&step.knob, live, committed));
    let lowered = step
        .lowered
        .as_ref()
        .map(|low| format!("lowered from {}: {}", low.asked, low.why));
    // What a plan says of a knob that it leaves out has the door's own words in it.
    let notes = [
        problem.filter(|_| entry.note.is_none()),
        entry.note.clone(),
        lowered,
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    // A device may round, and a larger value may be as good: then the live one is as it should be.
    let good: Vec<&Value> = match (entry.verdict, &live) {
        (RowVerdict::Ok, Some(live)) => vec![&step.to, live],
        _ => vec![&step.to],
    };
    let is_applied = entry.verdict != RowVerdict::NotApplied;
    let at_boot = is_applied
        .then(|| owners.at_boot(&step.knob, &good, reference.tuned_is_ours))
        .flatten();
    Row {
        knob: step.knob.to_string(),
        device: device(host, reference, &step.knob),
        verdict: entry.verdict,
        expected: Some(step.to.clone()),
        live,
        unit: unit(&step.knob),
        group: step.group,
        owner,
        at_boot,
        written_by: Some(step.owner),
        disrupts: Some(step.disrupts),
        why: step.why.clone(),
        source: step.source.clone(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

fn of_skipped(host: &Host, skipped: &Skipped) -> Row {
    let knob: Option<KnobId> = skipped.knob.parse().ok();
    Row {
        knob: skipped.knob.clone(),
        device: knob.as_ref().and_then(|knob| people::device_name(host, knob)),
        verdict: RowVerdict::NotApplied,
        expected: None,
        live: None,
        unit: knob.as_ref().map(unit).unwrap_or_default(),
        group: skipped.group,
        owner: None,
        at_boot: None,
        written_by: None,
        disrupts: None,
        why: String::new(),
        source: String::new(),
        note: Some(skipped.why.clone()),
    }
}

fn device(host: &Host, reference: &Reference, knob: &KnobId) -> Option<String> {
    let then = || reference.interfaces.get(knob.device()?.as_str()).cloned();
    people::device_name(host, knob).or_else(then)
}

fn unit(knob: &KnobId) -> String {
    definition_of(knob)
        .map(|definition| definition.unit.to_owned())
        .unwrap_or_default()
}
