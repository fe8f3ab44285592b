//! `profiles.md` and a page for each role: profiles that differ in the speed of the link share a table.

use crate::markdown::{self, code, human, prose, table};
use dtnforge_profiles::catalog::{Advice, Catalog, KnobTemplate, Profile, Wanted};
use dtnforge_profiles::compare::audiences;
use dtnforge_profiles::conclude::SpeedClass;
use dtnforge_profiles::knob::REGISTRY;
use dtnforge_profiles::plan::{Resolved, resolve};
use dtnforge_profiles::site::{Role, Site, SiteFile};
use std::collections::{BTreeMap, BTreeSet};

const INTRODUCTION: &str = "\
A profile is the tuning for one class of hosts. A host gets the one that nothing speaks against and that asks for most; a host
without a role, a link or a known speed stays stock. `dtnforge profile explain --host FACTS` says which one and why,
`dtnforge profile show NAME` has every value with its reason, source and origin.

";

const ROLE_INTRODUCTION: &str = "\
Values by the speed of the link, for a round-trip time of 100 ms, before the memory and the devices of a host lower them.
A dash: the setting is left alone there.

";

pub(crate) fn pages() -> Vec<(String, String)> {
    let catalog = Catalog::embedded().unwrap();
    let mut pages = vec![("profiles.md".to_owned(), index(&catalog))];
    pages.extend(Role::ALL.map(|role| (format!("profiles/{role}.md"), role_page(&catalog, role))));
    pages
}

fn index(catalog: &Catalog) -> String {
    let mut text = markdown::page("Profiles") + INTRODUCTION;
    let row = |profile: &Profile| {
        let roles: Vec<String> = profile
            .roles
            .iter()
            .map(|role| format!("[{role}](profiles/{role}.md)"))
            .collect();
        vec![
            code(&profile.name),
            roles.join(", "),
            links(profile),
            hosts(profile),
            prose(&profile.title),
        ]
    };
    text += &table(
        &["name", "role", "link", "hosts", "title"],
        catalog.profiles().map(row),
    );
    text.trim_end().to_owned() + "\n"
}

fn links(profile: &Profile) -> String {
    let matching = &profile.matching;
    let classes: Vec<_> = matching.speed_classes.iter().map(|class| class.name()).collect();
    match (classes.is_empty(), matching.min_mbps) {
        (false, _) => classes.join(", "),
        (true, Some(min)) => format!("{min} Mb/s and more"),
        (true, None) => String::new(),
    }
}

fn hosts(profile: &Profile) -> String {
    let matching = &profile.matching;
    let guest = match matching.virtualised {
        Wanted::Yes => "guests",
        Wanted::No => "machines",
        Wanted::Any => "",
    };
    let storage: Vec<_> = matching.storage.iter().map(|class| class.name()).collect();
    let parts = [guest.to_owned(), storage.join(", "), matching.drivers.join(", ")];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

fn role_page(catalog: &Catalog, role: Role) -> String {
    let mut families: BTreeMap<(String, String), Vec<&Profile>> = BTreeMap::new();
    for profile in catalog.profiles().filter(|profile| profile.roles.contains(&role)) {
        families.entry(family(profile)).or_default().push(profile);
    }
    let mut families: Vec<Vec<&Profile>> = families.into_values().collect();
    for profiles in &mut families {
        profiles.sort_by_key(|profile| audiences(profile).first().and_then(|hosts| hosts.link));
    }
    families.sort_by_key(|profiles| profiles[0].name.clone());
    let mut text = markdown::page(&format!("Profiles of the role {role}")) + ROLE_INTRODUCTION;
    for profiles in &families {
        text += &family_section(profiles);
    }
    text += &sources(families.iter().flatten().copied());
    text.trim_end().to_owned() + "\n"
}

/// Profiles of one family are for the same hosts but for the speed of the link.
fn family(profile: &Profile) -> (String, String) {
    let key = if profile.matching.speed_classes.is_empty() {
        profile.name.clone()
    } else {
        hosts(profile)
    };
    (key, serde_json::to_string(&profile.advice).unwrap())
}

fn family_section(profiles: &[&Profile]) -> String {
    let (first, last) = (profiles[0], profiles[profiles.len() - 1]);
    let name = match profiles.len() {
        1 => code(&first.name),
        _ => format!("{} to {}", code(&first.name), code(&last.name)),
    };
    let mut text = format!("## {name}\n\n{}.", prose(&first.title));
    text += &format!(" For {}.", hosts(first));
    if let Some(buffer) = &first.buffer {
        text += &format!(
            " Buffers: 2 x speed x RTT / 8 / {} streams, at most memory / {}.",
            buffer.streams, buffer.ram_divisor
        );
    }
    if let Some(tuned) = &first.tuned {
        text += &format!(" The tuned profile includes {}.", tuned.include.name());
    }
    text += "\n\n";
    text += &values(profiles);
    if !first.advice.is_empty() {
        text += "For the administrator:\n\n";
        text += &table(
            &["set", "where", "only for", "why", "source"],
            first.advice.iter().map(advice),
        );
    }
    text
}

fn advice(advice: &Advice) -> Vec<String> {
    let stores: Vec<_> = advice.storage.iter().map(|class| class.name()).collect();
    vec![
        prose(&advice.set),
        prose(&advice.place),
        stores.join(", "),
        prose(&advice.why),
        prose(&advice.source),
    ]
}

/// One line for each knob, one column for each link.
fn values(profiles: &[&Profile]) -> String {
    let mut by_link: BTreeMap<SpeedClass, BTreeMap<String, String>> = BTreeMap::new();
    for profile in profiles {
        for link in audiences(profile).into_iter().filter_map(|hosts| hosts.link) {
            by_link.insert(link, values_of(profile, link));
        }
    }
    let mut knobs: Vec<&KnobTemplate> = profiles
        .iter()
        .flat_map(|profile| &profile.knobs)
        .map(|line| &line.id)
        .collect();
    knobs.sort_by_key(|knob| rank(knob));
    knobs.dedup();
    let mut head = vec!["knob"];
    head.extend(by_link.keys().map(|link| link.name()));
    let dash = || "-".to_owned();
    let row = |knob: &KnobTemplate| {
        let name = knob.to_string();
        let mut cells = vec![code(&name)];
        cells.extend(
            by_link
                .values()
                .map(|values| values.get(&name).cloned().unwrap_or_else(dash)),
        );
        cells
    };
    table(&head, knobs.into_iter().map(row))
}

fn rank(knob: &KnobTemplate) -> usize {
    let pattern = knob.to_string().replacen("<data>", "<dev>", 1);
    REGISTRY
        .iter()
        .position(|def| def.pattern == pattern)
        .unwrap_or(REGISTRY.len())
}

fn values_of(profile: &Profile, link: SpeedClass) -> BTreeMap<String, String> {
    let lines = resolve(profile, &site_of(link));
    let value =
        |line: Resolved<'_>| Some((line.line.id.to_string(), human(&line.line.id, &line.value.ok()?)));
    lines.into_iter().filter_map(value).collect()
}

fn site_of(link: SpeedClass) -> Site {
    let site = SiteFile {
        link_mbps: link.mbps(),
        ..SiteFile::default()
    };
    site.check().unwrap()
}

/// Reason and source of each value, once.
fn sources<'a>(profiles: impl Iterator<Item = &'a Profile>) -> String {
    let mut rows: BTreeSet<(usize, Vec<String>)> = BTreeSet::new();
    for line in profiles.flat_map(|profile| &profile.knobs) {
        let (knob, value) = (code(&line.id.to_string()), code(line.value.as_str()));
        rows.insert((
            rank(&line.id),
            vec![knob, value, prose(&line.why), prose(&line.source)],
        ));
    }
    let rows = rows.into_iter().map(|(_, row)| row);
    format!(
        "## Reasons and sources\n\n{}",
        table(&["knob", "value", "why", "source"], rows)
    )
}
