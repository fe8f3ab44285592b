//! Profiles of tuned with all that they include: which options are left, and where each comes from.
//!
//! Sections of the same name are merged, the nearer option wins; `replace=1` empties the section before, `drop=` takes
//! options out of it (tuned/profiles/{loader,merger}.py). A section that depends on the CPU or on `uname` is left out,
//! and so is a value with a variable: neither can be judged from the text.

use super::finding::Place;
use super::input::Source;
use super::key::SysctlKey;
use super::read::{BadLine, Entry, Ini, sysfs};
use super::setting::{Device, Modifier, Origin, Setting, What};
use super::stock_tuned;
use std::collections::HashMap;
use std::sync::Arc;

/// A profile that is looked at.
#[derive(Debug, Clone)]
pub(super) struct TunedProfile {
    pub(super) name: String,
    pub(super) path: Arc<str>,
    pub(super) bad: Vec<BadLine>,
    /// Names that it includes and that there are no profiles of.
    pub(super) missing: Vec<(Place, String)>,
    /// Options that a later line of the same file sets to another value: the place, the option, the line that wins.
    pub(super) twice: Vec<(Place, String, usize)>,
    pub(super) settings: Vec<Setting>,
    /// Whether it has a section of the plugin sysctl: only then does tuned read sysctl.d again.
    pub(super) has_sysctl_unit: bool,
}

/// An option after merging.
#[derive(Debug, Clone)]
struct Merging {
    section: String,
    option: String,
    value: String,
    place: Place,
    from: Option<Arc<str>>,
}

/// Whether tuned reads sysctl.d again after its own values; a tuned-main.conf may say that it does not.
pub(super) fn reapplies_sysctl(sources: &[Source]) -> bool {
    let main = sources
        .iter()
        .filter(|source| source.path.ends_with("tuned-main.conf"));
    let mut said = main.filter_map(|source| {
        // The file has no sections.
        let ini = Ini::read(&format!("[main]\n{}", source.text));
        ini.get("main", "reapply_sysctl").map(|entry| entry.value.clone())
    });
    said.next_back().is_none_or(|value| is_true(&value))
}

fn is_true(value: &str) -> bool {
    ["1", "true", "yes", "on", "y", "t"].contains(&value.to_ascii_lowercase().as_str())
}

/// All profiles of `sources`, with what they include out of these and of `library`.
pub(super) fn profiles(sources: &[Source], library: &[Source]) -> Vec<TunedProfile> {
    let is_profile = |source: &&Source| !source.path.ends_with("tuned-main.conf");
    let known: HashMap<&str, &Source> = library
        .iter()
        .chain(sources)
        .filter(is_profile)
        .map(|source| (name_of(&source.path), source))
        .collect();
    let sources = sources.iter().filter(is_profile).enumerate();
    sources
        .map(|(index, source)| profile(index, source, &known))
        .collect()
}

/// A profile is named by its directory.
fn name_of(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or_default();
    parts
        .next()
        .filter(|directory| !directory.is_empty())
        .unwrap_or(file)
}

fn profile(index: usize, source: &Source, known: &HashMap<&str, &Source>) -> TunedProfile {
    let path: Arc<str> = source.path.as_str().into();
    let ini = Ini::read(&source.text);
    let mut merged = Merged {
        known,
        seen: vec![name_of(&source.path).to_owned()],
        options: Vec::new(),
        missing: Vec::new(),
    };
    if let Some(entry) = ini.get("main", "include") {
        let place = Place::new(&path, entry.line);
        merged.include(&entry.value, &place);
    }
    for entry in &ini.entries {
        merged.put(
            &entry.section,
            &entry.option,
            &entry.value,
            Place::new(&path, entry.line),
            None,
        );
    }
    TunedProfile {
        name: name_of(&source.path).to_owned(),
        bad: ini.bad.clone(),
        twice: twice(&ini.entries, &path),
        settings: settings(&merged.options, index),
        has_sysctl_unit: merged.options.iter().any(|held| held.section == "sysctl"),
        missing: merged.missing,
        path,
    }
}

fn twice(entries: &[Entry], path: &Arc<str>) -> Vec<(Place, String, usize)> {
    let mut later: HashMap<(&str, &str), &Entry> = HashMap::new();
    let mut twice = Vec::new();
    for entry in entries.iter().rev() {
        let winner = later.entry((&entry.section, &entry.option)).or_insert(entry);
        if winner.value != entry.value {
            twice.push((Place::new(path, entry.line), entry.option.clone(), winner.line));
        }
    }
    twice
}

/// Options on the way to being merged.
struct Merged<'a> {
    known: &'a HashMap<&'a str, &'a Source>,
    seen: Vec<String>,
    options: Vec<Merging>,
    missing: Vec<(Place, String)>,
}

impl Merged<'_> {
    /// Adds the profiles of an `include=`, which stands at `place` of the file that is looked at.
    fn include(&mut self, names: &str, place: &Place) {
        for name in names.split([',', ';']).map(str::trim) {
            // `-name` may be missing; a variable cannot be told.
            let (name, optional) = match name.strip_prefix('-') {
                Some(name) => (name, true),
                None => (name, false),
            };
            if name.is_empty() || name.contains("${") || self.seen.iter().any(|seen| seen == name) {
                continue;
            }
            self.seen.push(name.to_owned());
            if let Some(source) = self.known.get(name) {
                self.include_file(name, &source.text, place);
            } else if let Some(stock) = stock_tuned::find(name) {
                self.include_stock(stock, place);
            } else if !optional && !stock_tuned::exists(name) {
                self.missing.push((place.clone(), name.to_owned()));
            }
        }
    }

    fn include_file(&mut self, name: &str, text: &str, place: &Place) {
        let ini = Ini::read(text);
        if let Some(entry) = ini.get("main", "include") {
            self.include(&entry.value, place);
        }
        let from: Arc<str> = name.into();
        for entry in &ini.entries {
            self.put(
                &entry.section,
                &entry.option,
                &entry.value,
                place.clone(),
                Some(&from),
            );
        }
    }

    fn include_stock(&mut self, stock: &stock_tuned::StockProfile, place: &Place) {
        if let Some(include) = stock.include {
            self.include(include, place);
        }
        let from: Arc<str> = stock.name.into();
        for (section, option, value) in stock.options {
            self.put(section, option, value, place.clone(), Some(&from));
        }
    }

    fn put(&mut self, section: &str, option: &str, value: &str, place: Place, from: Option<&Arc<str>>) {
        match option {
            "replace" if is_true(value) => self.options.retain(|held| held.section != section),
            "drop" => {
                let dropped: Vec<&str> = value.split([',', ';']).map(str::trim).collect();
                let is_dropped =
                    |held: &Merging| held.section == section && dropped.contains(&held.option.as_str());
                self.options.retain(|held| !is_dropped(held));
            }
            _ => {
                self.options
                    .retain(|held| held.section != section || held.option != option);
                self.options.push(Merging {
                    section: section.to_owned(),
                    option: option.to_owned(),
                    value: value.to_owned(),
                    place,
                    from: from.map(Arc::clone),
                });
            }
        }
    }
}

fn settings(options: &[Merging], profile: usize) -> Vec<Setting> {
    let of = |section: &str, option: &str| {
        let is = |held: &&Merging| held.section == section && held.option == option;
        options.iter().find(is).map(|held| held.value.as_str())
    };
    let mut settings = Vec::new();
    for held in options {
        let section = held.section.as_str();
        let conditional = ["uname_regex", "cpuinfo_regex"]
            .iter()
            .any(|key| of(section, key).is_some());
        let disabled = of(section, "enabled").is_some_and(|value| !is_true(value));
        if conditional || disabled || held.value.contains("${") {
            continue;
        }
        let kind = of(section, "type").unwrap_or(section);
        let device = of(section, "devices").map_or_else(Device::all, Device::of);
        for (what, value) in meanings(kind, &held.option, &held.value, &device) {
            let (modifier, value) = modified(&value);
            let mut setting = Setting::new(what, value, held.place.clone(), Origin::Tuned(profile));
            setting.modifier = modifier;
            setting.included_from = held.from.clone();
            settings.push(setting);
        }
    }
    settings
}

fn modified(value: &str) -> (Modifier, &str) {
    match (value.strip_prefix('>'), value.strip_prefix('<')) {
        (Some(rest), _) => (Modifier::AtLeast, rest),
        (_, Some(rest)) => (Modifier::AtMost, rest),
        _ => (Modifier::None, value),
    }
}

/// What an option of a plugin sets.
fn meanings(plugin: &str, option: &str, value: &str, device: &Device) -> Vec<(What, String)> {
    let value = value.trim_matches('"').to_owned();
    match (plugin, option) {
        (_, "type" | "devices" | "enabled" | "priority") => Vec::new(),
        ("sysctl", key) => vec![(What::Sysctl(SysctlKey::parse(key)), value)],
        ("vm", "dirty_ratio" | "dirty_background_ratio" | "dirty_bytes" | "dirty_background_bytes") => {
            vec![dirty(option, value)]
        }
        ("cpu", "governor") => vec![(What::Governor, value)],
        ("disk", "elevator") => vec![(What::Block(device.clone(), "scheduler".to_owned()), value)],
        ("disk", "readahead") => vec![(What::Block(device.clone(), "read_ahead_kb".to_owned()), value)],
        ("net", "txqueuelen" | "mtu") => vec![(What::Nic(device.clone(), option.to_owned()), value)],
        ("net", "features" | "ring" | "rings" | "coalesce" | "channels" | "pause") => {
            pairs(option, &value, device)
        }
        ("bootloader", option) if option.starts_with("cmdline") => value
            .split_whitespace()
            .map(|word| word.trim_start_matches('+'))
            .map(|word| word.split_once('=').unwrap_or((word, "")))
            .map(|(name, value)| (What::KernelArgument(name.to_owned()), value.to_owned()))
            .collect(),
        ("sysfs", path) => sysfs(path).map(|what| (what, value)).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// tuned writes a share of memory in the ratio, also when it stands in the option of bytes.
fn dirty(option: &str, value: String) -> (What, String) {
    let (name, value) = match value.strip_suffix('%') {
        Some(percent) => (option.replace("_bytes", "_ratio"), percent.trim().to_owned()),
        None => (option.to_owned(), value),
    };
    (What::Sysctl(SysctlKey::parse(&format!("vm.{name}"))), value)
}

/// `rx 4096 tx 4096`, with commas or without.
fn pairs(option: &str, value: &str, device: &Device) -> Vec<(What, String)> {
    let prefix = match option {
        "features" => "feature",
        "rings" => "ring",
        other => other,
    };
    let words: Vec<&str> = value
        .split([' ', ',', '\t'])
        .filter(|word| !word.is_empty())
        .collect();
    words
        .chunks_exact(2)
        .map(|pair| {
            (
                What::Nic(device.clone(), format!("{prefix}.{}", pair[0])),
                pair[1].to_owned(),
            )
        })
        .collect()
}
