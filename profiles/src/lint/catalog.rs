//! The catalog that is looked at: what is wrong in its files, and what its profiles set.

use super::finding::Place;
use super::input::{Input, Source};
use super::key::SysctlKey;
use super::setting::{Device, Origin, Qdisc, Setting, What};
use crate::catalog::{Catalog, KnobLine, KnobTemplate, Places, Problem, Problems, Profile};
use crate::device::DeviceId;
use crate::knob::KnobId;
use std::collections::HashMap;
use std::sync::Arc;

/// The files of a catalog, and the profiles that came out of them.
#[derive(Debug, Default)]
pub(super) struct CatalogView {
    /// What is wrong in the files; then there are no profiles.
    pub(super) problems: Vec<Problem>,
    /// The profiles of these files.
    pub(super) profiles: Vec<ProfileView>,
    /// These profiles and those that they are laid over.
    pub(super) whole: Catalog,
}

/// One profile.
#[derive(Debug)]
pub(super) struct ProfileView {
    pub(super) profile: Profile,
    /// Where its name stands.
    pub(super) name_at: Place,
    /// What it sets. A value of the buffer formula is left out: it is sized for each host.
    pub(super) settings: Vec<Setting>,
}

/// Where the values of one file stand, and the profiles that come out of it.
type FilePlaces = HashMap<Arc<str>, Places>;

impl CatalogView {
    /// Reads all files of the input over the catalog beneath.
    pub(super) fn of(input: &Input) -> Self {
        let files = input.profiles.iter().map(|source| (&source.path, &source.text));
        let files: Vec<(&String, &String)> = files.collect();
        let whole = match input.beneath.clone().with_files(&files) {
            Ok(whole) => whole,
            Err(Problems(problems)) => {
                return Self {
                    problems,
                    ..Self::default()
                };
            }
        };
        let places = places(&input.profiles);
        let mut views = Vec::new();
        for (path, file) in &places {
            let profiles = file.profiles.iter().filter_map(|name| whole.get(name));
            views.extend(profiles.map(|profile| (profile.clone(), Place::new(path, file.name))));
        }
        views.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let profiles = views.into_iter().enumerate();
        Self {
            profiles: profiles
                .map(|(index, (profile, name_at))| ProfileView {
                    settings: settings(&profile, index, &name_at, &places),
                    profile,
                    name_at,
                })
                .collect(),
            whole,
            problems: Vec::new(),
        }
    }
}

fn places(sources: &[Source]) -> FilePlaces {
    let places = sources.iter().filter_map(|source| {
        let places = Places::of(&source.path, &source.text)?;
        Some((source.path.as_str().into(), places))
    });
    places.collect()
}

fn settings(profile: &Profile, index: usize, name_at: &Place, places: &FilePlaces) -> Vec<Setting> {
    let lines = profile.knobs.iter().filter_map(|knob| {
        let (value, what) = (knob.value.resolve(None)?, what(&knob.id)?);
        let place = place_of(knob, name_at, places)?;
        Some(Setting::new(what, value.as_str(), place, Origin::Catalog(index)))
    });
    lines.collect()
}

/// Where a value stands: in the profile's own file, or in that of its base. A base that is not among the files is
/// somebody else's to look at.
fn place_of(knob: &KnobLine, name_at: &Place, places: &FilePlaces) -> Option<Place> {
    let line = |file: &Places| {
        file.values
            .iter()
            .find(|(id, _)| *id == knob.id)
            .map(|(_, line)| *line)
    };
    if knob.inherited_from.is_none() {
        let line = places.get(&name_at.file).and_then(line)?;
        return Some(Place::new(&name_at.file, line));
    }
    let mut bases = places.iter().filter(|(_, file)| file.base == knob.inherited_from);
    bases.find_map(|(path, file)| line(file).map(|line| Place::new(path, line)))
}

fn what(id: &KnobTemplate) -> Option<What> {
    // Any device: a profile names none.
    let device: DeviceId = "data".parse().ok()?;
    Some(match id.knob_of(&device) {
        KnobId::Sysctl(key) => What::Sysctl(SysctlKey::parse(&key)),
        KnobId::Nic(_, key) => What::Nic(Device::unknown(), key),
        KnobId::Block(_, key) => What::Block(Device::unknown(), key),
        KnobId::Qdisc(..) => What::Qdisc(
            Device::unknown(),
            Qdisc {
                root: false,
                options: Vec::new(),
            },
        ),
        KnobId::Cpu(_) => What::Governor,
        KnobId::Tuned(_) | KnobId::Boot(_) => return None,
    })
}
