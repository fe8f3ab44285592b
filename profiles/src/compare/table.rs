//! Every profile held against everything that is published for its hosts.

use super::side::{Side, fill_in};
use crate::catalog::{Catalog, KnobTemplate, Profile};
use crate::conclude::SpeedClass;
use crate::published::{Audience, Library, Published, Set, agrees};
use crate::site::{OutOfRange, Role, SiteFile};
use crate::value::Value;
use std::collections::BTreeMap;

/// The round-trip time that buffers are compared for where a publication names none, ms.
pub const RTT_MS: u32 = 100;

/// One published value and ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell<'a> {
    /// Our profile.
    pub profile: &'a Profile,
    /// The publication.
    pub published: &'a Published,
    /// The hosts that both are for.
    pub hosts: Audience,
    /// The round-trip time of both, ms.
    pub rtt_ms: u32,
    /// The knob.
    pub knob: KnobTemplate,
    /// What is live with our profile; `None` where that depends on the machine.
    pub ours: Option<Value>,
    /// What is published.
    pub theirs: Value,
    /// Number of the explanation in [`Library::differences`], for values that differ.
    pub explained: Option<usize>,
}

impl Cell<'_> {
    /// Whether both are the same.
    pub fn same(&self) -> bool {
        self.ours.as_ref().is_some_and(|ours| agrees(ours, &self.theirs))
    }
}

/// All published values beside ours, for each profile, role, class of links and round-trip time.
///
/// # Errors
/// Never for classes of links that the site may state.
pub fn table<'a>(catalog: &'a Catalog, library: &'a Library) -> Result<Vec<Cell<'a>>, OutOfRange> {
    let mut cells = Vec::new();
    for profile in catalog.profiles() {
        for hosts in audiences(profile) {
            for published in &library.published {
                for set in published.sets.iter().filter(|set| set.is_for(hosts)) {
                    cells.extend(cells_of(profile, hosts, published, set, library)?);
                }
            }
        }
    }
    Ok(cells)
}

/// The roles and classes of links that a profile is for.
pub fn audiences(profile: &Profile) -> Vec<Audience> {
    let links = SpeedClass::ALL
        .into_iter()
        .filter(|link| is_for_link(profile, *link));
    let of_link = |link| {
        let role = move |role: &Role| Audience {
            role: Some(*role),
            link: Some(link),
        };
        profile.roles.iter().map(role)
    };
    links.flat_map(of_link).collect()
}

fn is_for_link(profile: &Profile, link: SpeedClass) -> bool {
    let Some(mbps) = link.mbps() else {
        return false;
    };
    let matching = &profile.matching;
    let class_fits = matching.speed_classes.is_empty() || matching.speed_classes.contains(&link);
    let min_fits = matching.min_mbps.is_none_or(|min| mbps >= min);
    class_fits && min_fits && matching.max_mbps.is_none_or(|max| mbps <= max)
}

fn cells_of<'a>(
    profile: &'a Profile,
    hosts: Audience,
    published: &'a Published,
    set: &'a Set,
    library: &'a Library,
) -> Result<Vec<Cell<'a>>, OutOfRange> {
    let rtt_ms = set.rtt_ms.unwrap_or(RTT_MS);
    let site = SiteFile {
        role: hosts.role,
        link_mbps: hosts.link.and_then(SpeedClass::mbps),
        rtt_ms: Some(rtt_ms),
        ..SiteFile::default()
    };
    let mut ours = Side::of_profile(profile, &site.check()?, library).settings;
    fill_in(
        &mut ours,
        &Side::of_published(published, set).settings,
        &library.defaults(),
    );
    let live: BTreeMap<&String, &Value> = ours
        .iter()
        .filter_map(|(knob, setting)| Some((knob, setting.value.as_ref()?)))
        .collect();
    let cell = |(knob, theirs): (&KnobTemplate, &Value)| {
        let mut cell = Cell {
            profile,
            published,
            hosts,
            rtt_ms,
            knob: knob.clone(),
            ours: live.get(&knob.to_string()).map(|value| (*value).clone()),
            theirs: theirs.clone(),
            explained: None,
        };
        if !cell.same() {
            let found = library.differences.find(knob, &published.name, hosts);
            cell.explained = found.map(|(number, _)| number);
        }
        cell
    };
    Ok(set.values.iter().map(cell).collect())
}
