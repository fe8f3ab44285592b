//! Files of the catalog: what is wrong in each, and what their profiles set.

use super::finding::Place;
use super::input::Source;
use super::key::SysctlKey;
use super::setting::{Device, Origin, Qdisc, Setting, What};
use crate::catalog::{Catalog, KnobTemplate, Problem, Problems, Profile};
use crate::device::DeviceId;
use crate::knob::KnobId;
use crate::site::Role;
use std::sync::Arc;

/// One file, with the profiles that came out of it.
#[derive(Debug, Clone)]
pub(super) struct CatalogFile {
    pub(super) path: Arc<str>,
    pub(super) profile: Option<Profile>,
    /// Where the profile says its name.
    pub(super) name_at: Place,
    pub(super) problems: Vec<Problem>,
    pub(super) settings: Vec<Setting>,
}

impl CatalogFile {
    /// Reads all files; a name that stands in two of them is a problem of the second.
    pub(super) fn read_all(sources: &[Source]) -> Vec<Self> {
        let mut files: Vec<Self> = sources.iter().enumerate().map(|(index, source)| file(index, source)).collect();
        let pairs: Vec<(&str, &str)> = sources.iter().map(|source| (source.path.as_str(), source.text.as_str())).collect();
        if let Err(Problems(problems)) = Catalog::parse(&pairs) {
            for problem in problems {
                let file = files.iter_mut().find(|file| *file.path == *problem.file);
                if let Some(file) = file.filter(|file| !file.problems.contains(&problem)) {
                    file.problems.push(problem);
                }
            }
        }
        files
    }

    /// The roles of its profile.
    pub(super) fn roles(&self) -> Vec<Role> {
        self.profile.as_ref().map(|profile| profile.roles.clone()).unwrap_or_default()
    }
}

fn file(index: usize, source: &Source) -> CatalogFile {
    let path: Arc<str> = source.path.as_str().into();
    let (profile, problems) = match Profile::parse(&source.path, &source.text) {
        Ok(profile) => (Some(profile), Vec::new()),
        Err(Problems(problems)) => (None, problems),
    };
    let line = source.text.lines().position(|line| line.trim_start().starts_with("name"));
    CatalogFile {
        name_at: Place::new(&path, line.map_or(0, |line| line + 1)),
        settings: profile.iter().flat_map(|profile| settings(profile, index, source, &path)).collect(),
        profile,
        problems,
        path,
    }
}

/// What a profile sets. A value of the buffer formula is left out: it is sized for each host.
fn settings(profile: &Profile, index: usize, source: &Source, path: &Arc<str>) -> Vec<Setting> {
    let lines = profile.knobs.iter().filter_map(|knob| {
        let value = knob.value.resolve(None)?;
        let what = what(&knob.id)?;
        let place = Place::new(path, line_of(&source.text, &knob.id));
        Some(Setting::new(what, value.as_str(), place, Origin::Catalog(index)))
    });
    lines.collect()
}

/// The line of a value in the text of a profile; 0 when it is written in another way than ours.
fn line_of(text: &str, id: &KnobTemplate) -> usize {
    let id = id.to_string();
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("id") || !line.contains(&format!("\"{id}\"")) && !line.contains(&format!("'{id}'"))
    });
    let Some((at, _)) = lines.next() else { return 0 };
    let mut rest = lines.take_while(|(_, line)| !line.trim_start().starts_with('['));
    rest.find(|(_, line)| line.trim_start().starts_with("value")).map_or(at + 1, |(at, _)| at + 1)
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
