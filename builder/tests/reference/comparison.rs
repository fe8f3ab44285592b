//! `comparison.md`: our values beside the published ones, by role, knob and class of links.

use crate::markdown::{self, code, human, prose, table};
use dtnforge_profiles::catalog::{Catalog, KnobTemplate};
use dtnforge_profiles::compare::{Cell, RTT_MS};
use dtnforge_profiles::conclude::SpeedClass;
use dtnforge_profiles::knob::REGISTRY;
use dtnforge_profiles::published::{Library, Published};
use dtnforge_profiles::site::Role;
use std::collections::{BTreeMap, BTreeSet};

const INTRODUCTION: &str = "\
Our values beside those that others publish, for each role and class of links. Buffers are for 100 ms, or for the round-trip
time that a publication names; memory and devices may lower ours on a host. Where ours is another value, the number in
brackets leads to the reason below. *As found* is a setting that we leave alone and that depends on the machine; what the
kernel or tuned would set by itself counts as ours.

`dtnforge profile diff PROFILE PUBLICATION` compares any two.

";

/// A row of a table: link and round-trip time, ms.
type Row = (SpeedClass, u32);

pub(crate) fn page() -> String {
    let (catalog, library) = (Catalog::embedded().unwrap(), Library::embedded().unwrap());
    let cells = dtnforge_profiles::compare::table(&catalog, &library).unwrap();
    let mut text = markdown::page("Our values and the published ones") + INTRODUCTION;
    for role in Role::ALL {
        let of_role: Vec<&Cell<'_>> = cells
            .iter()
            .filter(|cell| cell.hosts.role == Some(role))
            .collect();
        text += &format!("## {role}\n\n");
        for knob in knobs(&of_role) {
            text += &section(&knob, &of_role, &library);
        }
    }
    text += &reasons(&library);
    text + publications(&library).trim_end() + "\n"
}

/// In the order of the registry; what it does not have comes last.
fn knobs(cells: &[&Cell<'_>]) -> Vec<KnobTemplate> {
    let all: BTreeSet<&KnobTemplate> = cells.iter().map(|cell| &cell.knob).collect();
    let rank = |knob: &KnobTemplate| {
        let pattern = knob.to_string().replacen("<data>", "<dev>", 1);
        REGISTRY
            .iter()
            .position(|def| def.pattern == pattern)
            .unwrap_or(REGISTRY.len())
    };
    let mut knobs: Vec<KnobTemplate> = all.into_iter().cloned().collect();
    knobs.sort_by_key(|knob| (rank(knob), knob.clone()));
    knobs
}

fn section(knob: &KnobTemplate, cells: &[&Cell<'_>], library: &Library) -> String {
    let cells: Vec<&Cell<'_>> = cells.iter().copied().filter(|cell| cell.knob == *knob).collect();
    let compared = |published: &&Published| cells.iter().any(|cell| cell.published.name == published.name);
    let columns: Vec<&Published> = library.published.iter().filter(compared).collect();
    let mut head = vec!["link", "ours"];
    head.extend(columns.iter().map(|published| published.name.as_str()));
    let rows: BTreeSet<Row> = cells
        .iter()
        .map(|cell| (cell.hosts.link.unwrap(), cell.rtt_ms))
        .collect();
    let mut lines: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for row in rows {
        let here: Vec<&Cell<'_>> = cells
            .iter()
            .copied()
            .filter(|cell| (cell.hosts.link.unwrap(), cell.rtt_ms) == row)
            .collect();
        let mut values = vec![ours(&here)];
        values.extend(columns.iter().map(|published| theirs(&here, published)));
        let name = if row.1 == RTT_MS {
            row.0.to_string()
        } else {
            format!("{} at {} ms", row.0, row.1)
        };
        // Links with the same values share a line.
        match lines.iter_mut().find(|(_, known)| *known == values) {
            Some((links, _)) => links.push(name),
            None => lines.push((vec![name], values)),
        }
    }
    let line = |(links, values): (Vec<String>, Vec<String>)| [vec![links.join(", ")], values].concat();
    format!(
        "### {}\n\n{}",
        code(&knob.to_string()),
        table(&head, lines.into_iter().map(line))
    )
}

/// The value of most profiles, then others with their names.
fn ours(cells: &[&Cell<'_>]) -> String {
    let mut profiles: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for cell in cells {
        let value = cell
            .ours
            .as_ref()
            .map_or("as found".to_owned(), |value| human(&cell.knob, value));
        profiles.entry(value).or_default().insert(&cell.profile.name);
    }
    let mut values: Vec<(String, BTreeSet<&str>)> = profiles.into_iter().collect();
    values.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let name = |(index, (value, names)): (usize, &(String, BTreeSet<&str>))| match index {
        0 => value.clone(),
        _ => format!(
            "{value} ({})",
            names.iter().copied().collect::<Vec<_>>().join(", ")
        ),
    };
    values.iter().enumerate().map(name).collect::<Vec<_>>().join("; ")
}

fn theirs(cells: &[&Cell<'_>], published: &Published) -> String {
    let of: Vec<&Cell<'_>> = cells
        .iter()
        .copied()
        .filter(|cell| cell.published.name == published.name)
        .collect();
    let Some(first) = of.first() else {
        return String::new();
    };
    let reasons: BTreeSet<usize> = of.iter().filter_map(|cell| cell.explained).collect();
    let marks: String = reasons
        .into_iter()
        .map(|number| format!(" [[{0}]](#reason-{0})", number + 1))
        .collect();
    human(&first.knob, &first.theirs) + &marks
}

fn reasons(library: &Library) -> String {
    let mut text = "## Reasons\n\n".to_owned();
    for (index, difference) in library.differences.0.iter().enumerate() {
        let number = index + 1;
        let knobs: Vec<String> = difference
            .knobs
            .iter()
            .map(|knob| code(&knob.to_string()))
            .collect();
        text += &format!(
            "<a id=\"reason-{number}\"></a>{number}. {}: {}\n\n",
            knobs.join(", "),
            prose(&difference.why)
        );
    }
    text
}

fn publications(library: &Library) -> String {
    let row = |published: &Published| {
        let note = published.note.as_deref().unwrap_or_default();
        vec![
            code(&published.name),
            prose(&published.title),
            prose(&published.source),
            prose(note),
        ]
    };
    let rows: Vec<Vec<String>> = library.all().map(row).collect();
    format!(
        "## Publications\n\n{}",
        table(&["name", "what it is", "where it was read", "note"], rows)
    )
}
