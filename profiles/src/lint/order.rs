//! Which files of sysctl.d are read, in which order, and which line wins (sysctl.d(5)).
//!
//! A file of the same name in a nearer directory masks one: `/etc`, `/run`, `/usr/local/lib`, `/usr/lib`. All that are
//! left are read in the order of their names, whatever their directory, and the last assignment of a key wins.
//! `/etc/sysctl.conf` is none of them: `sysctl --system` reads it last, systemd-sysctl only where the distribution
//! ships a link `99-sysctl.conf` to it (EL9 does, Debian 13 does not).

use super::finding::Place;
use super::input::Source;
use super::read::SysctlFile;
use super::setting::{Origin, Setting, State, What};
use std::collections::HashMap;
use std::sync::Arc;

/// Where a file lies; a nearer one masks a file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Directory {
    /// `/usr/lib/sysctl.d`, or `/lib/sysctl.d`.
    Lib,
    /// `/usr/local/lib/sysctl.d`.
    LocalLib,
    /// `/run/sysctl.d`.
    Run,
    /// `/etc/sysctl.d`.
    Etc,
    /// `/etc/sysctl.conf`.
    SysctlConf,
    /// Any other place; nothing is known of it but the name of the file.
    Elsewhere,
}

/// Whether a file is read at boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is.
    Read,
    /// Its name does not end in `.conf`.
    NoConf,
    /// A file of the same name is nearer.
    Masked(Arc<str>),
    /// It is the target of a link that is read.
    Linked,
}

/// A file of sysctl.d.
#[derive(Debug, Clone)]
pub(super) struct OrderedFile {
    pub(super) path: Arc<str>,
    pub(super) name: String,
    pub(super) directory: Directory,
    pub(super) reading: Reading,
    pub(super) content: SysctlFile,
}

impl OrderedFile {
    /// Whether tuned reads it again after its own values (tuned/plugins/plugin_sysctl.py).
    pub(super) fn is_reapplied_by_tuned(&self) -> bool {
        !matches!(self.directory, Directory::Lib | Directory::LocalLib)
    }

    fn order(&self) -> (bool, &str) {
        (self.directory == Directory::SysctlConf, &self.name)
    }
}

/// All files, in the order in which they are read.
pub(super) fn ordered(sources: &[Source]) -> Vec<OrderedFile> {
    let mut files: Vec<OrderedFile> = sources.iter().map(file).collect();
    let texts: Vec<(&str, &str)> = sources
        .iter()
        .map(|source| (name_of(&source.path), source.text.as_str()))
        .collect();
    mask(&mut files);
    for file in files
        .iter_mut()
        .filter(|file| file.directory == Directory::SysctlConf)
    {
        let own = texts.iter().find(|(name, _)| *name == "sysctl.conf");
        let linked =
            |(name, text): &(&str, &str)| *name == "99-sysctl.conf" && own.is_some_and(|own| own.1 == *text);
        if texts.iter().any(linked) {
            file.reading = Reading::Linked;
        }
    }
    files.sort_by(|a, b| a.order().cmp(&b.order()));
    files
}

fn file(source: &Source) -> OrderedFile {
    let name = name_of(&source.path).to_owned();
    let directory = directory_of(&source.path);
    let in_sysctl_d = !matches!(directory, Directory::SysctlConf | Directory::Elsewhere);
    OrderedFile {
        path: source.path.as_str().into(),
        reading: match in_sysctl_d && !name.ends_with(".conf") {
            true => Reading::NoConf,
            false => Reading::Read,
        },
        name,
        directory,
        content: SysctlFile::read(&source.text),
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn directory_of(path: &str) -> Directory {
    let mut parts = path.rsplit('/').skip(1);
    match (name_of(path), parts.next(), parts.next(), parts.next()) {
        ("sysctl.conf", Some("etc") | None, ..) => Directory::SysctlConf,
        (_, Some("sysctl.d"), Some("etc"), _) => Directory::Etc,
        (_, Some("sysctl.d"), Some("run"), _) => Directory::Run,
        (_, Some("sysctl.d"), Some("lib"), Some("local")) => Directory::LocalLib,
        (_, Some("sysctl.d"), Some("lib"), _) => Directory::Lib,
        _ => Directory::Elsewhere,
    }
}

fn mask(files: &mut [OrderedFile]) {
    let known = |file: &OrderedFile| {
        !matches!(file.directory, Directory::SysctlConf | Directory::Elsewhere)
            && file.reading == Reading::Read
    };
    let mut nearest: HashMap<String, (Directory, Arc<str>)> = HashMap::new();
    for file in files.iter().filter(|file| known(file)) {
        let entry = nearest.entry(file.name.clone());
        let held = entry.or_insert((file.directory, Arc::clone(&file.path)));
        if file.directory > held.0 {
            *held = (file.directory, Arc::clone(&file.path));
        }
    }
    for file in files.iter_mut().filter(|file| known(file)) {
        if let Some((directory, path)) = nearest.get(&file.name)
            && *directory > file.directory
        {
            file.reading = Reading::Masked(Arc::clone(path));
        }
    }
}

/// The assignments of all files that are read, each with whether it wins.
pub(super) fn settings(files: &[OrderedFile]) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for (index, file) in files
        .iter()
        .enumerate()
        .filter(|(_, file)| file.reading == Reading::Read)
    {
        for assignment in &file.content.assignments {
            let Some(value) = &assignment.value else { continue };
            let place = Place::new(&file.path, assignment.line);
            let what = What::Sysctl(assignment.key.clone());
            let mut setting = Setting::new(what, value, place, Origin::SysctlD(index));
            setting.quiet = assignment.quiet;
            settings.push(setting);
        }
    }
    let mut winners: HashMap<String, Place> = HashMap::new();
    for setting in settings.iter_mut().rev() {
        let key = setting.key().map(|key| key.path().to_owned()).unwrap_or_default();
        match winners.get(&key) {
            Some(winner) => setting.state = State::Lost(winner.clone()),
            None => {
                winners.insert(key, setting.place.clone());
            }
        }
    }
    settings
}
