//! What the active tuned profile sets, with all that it includes.
//!
//! Read as tuned reads it (`tuned/profiles/{loader,merger,unit}.py`): a profile is looked for in the last directory
//! first, included ones come before it, a section of the same name is merged, `replace` drops what was there and
//! `drop` some options of it. What a variable or a function computes cannot be told and counts as unknown.

use super::claim::{Claim, Says};
use super::conf::{self, ConfFile};
use super::ini;
use super::target::Target;
use crate::door::Door;
use crate::door::sysctl::relative_path;
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::NO_TUNED_PROFILE;
use dtnforge_profiles::value::Value;

const MAIN_CONF: &str = "/etc/tuned/tuned-main.conf";
const ACTIVE_PROFILE: &str = "/etc/tuned/active_profile";

/// Where profiles are when `tuned-main.conf` does not say: tuned 2.24 and later, then older ones.
const DEFAULT_DIRECTORIES: &[&str] = &[
    "/usr/lib/tuned",
    "/usr/lib/tuned/profiles",
    "/etc/tuned",
    "/etc/tuned/profiles",
];

/// Where our own profile is.
const OURS: &str = "/run/dtnforge/";

/// Includes that are followed.
const DEEPEST: usize = 16;

/// The active profile.
#[derive(Debug, Default)]
pub(super) struct ActiveProfile {
    name: Option<String>,
    options: Vec<Setting>,
    reapply_sysctl: bool,
}

/// One option of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    /// Name of the section: its instance.
    section: String,
    /// The plugin, which is the section's name where no `type` says otherwise.
    plugin: String,
    key: String,
    value: String,
    place: String,
}

impl ActiveProfile {
    /// Reads the profile that the running daemon has; nothing when it does not run.
    pub(super) fn read(host: &Host, doors: &dyn Door) -> Self {
        let knob = KnobId::Tuned("profile".to_owned());
        match doors.read(&knob) {
            Ok(Reading::Is(name)) if name.as_str() != NO_TUNED_PROFILE => Self::load(host, name.as_str()),
            _ => Self::default(),
        }
    }

    /// Reads profiles by name; several are separated by blanks.
    fn load(host: &Host, names: &str) -> Self {
        let main = conf::file(host, MAIN_CONF)
            .map(|file| ini::parse(&file.text))
            .unwrap_or_default();
        let option = |key: &str| ini::last(&main, &[""], key).map(|entry| plain(&entry.value).to_owned());
        let directories: Vec<String> = match option("profile_dirs") {
            Some(list) => list.split(',').map(|dir| dir.trim().to_owned()).collect(),
            None => DEFAULT_DIRECTORIES.iter().map(|dir| (*dir).to_owned()).collect(),
        };
        let mut options = Vec::new();
        for name in names.split(' ') {
            merge_profile(host, &directories, name, DEEPEST, &mut options);
        }
        Self {
            name: Some(names.to_owned()),
            options,
            reapply_sysctl: option("reapply_sysctl")
                .and_then(|word| ini::boolean(&word))
                .unwrap_or(true),
        }
    }

    /// Whether sysctl.d files of `/etc` and `/run` are applied once more after the profile's values.
    pub(super) fn reapplies_sysctl(&self) -> bool {
        self.name.is_some() && self.reapply_sysctl
    }

    /// What the profile says of a knob.
    pub(super) fn claims(&self, target: &Target) -> Vec<Claim> {
        if let (KnobId::Tuned(_), Some(name)) = (&target.knob, &self.name) {
            let kind = if name.starts_with("dtnforge-") {
                SetterKind::Dtnforge
            } else {
                SetterKind::Tuned
            };
            return vec![self.claim(kind, ACTIVE_PROFILE, Says::Is(Value::new(name)), true)];
        }
        let loses = self.reapply_sysctl && matches!(target.knob, KnobId::Sysctl(_));
        let of = |setting: &Setting| {
            let says = self.says(setting, target)?;
            let ours = setting.place.starts_with(OURS);
            let kind = if ours {
                SetterKind::Dtnforge
            } else {
                SetterKind::Tuned
            };
            Some(self.claim(kind, &setting.place, says, !loses && !ours))
        };
        self.options.iter().filter_map(of).collect()
    }

    fn claim(&self, kind: SetterKind, place: &str, says: Says, beats_us: bool) -> Claim {
        Claim {
            kind,
            place: Some(place.to_owned()),
            says,
            managed_by: None,
            beats_us,
        }
    }

    /// What one option says of a knob.
    fn says(&self, setting: &Setting, target: &Target) -> Option<Says> {
        let (plugin, key, value) = (
            setting.plugin.as_str(),
            setting.key.as_str(),
            setting.value.as_str(),
        );
        match (&target.knob, plugin) {
            (KnobId::Sysctl(name), "sysctl") => of_sysctl(name, key, value),
            (KnobId::Sysctl(name), "vm") => of_sysctl(name, &format!("vm.{key}"), value),
            (KnobId::Cpu(name), "cpu") if name == key => {
                // The first word that the driver has.
                Some(amount(value.split('|').next().unwrap_or_default()))
            }
            (KnobId::Block(_, name), "disk") if name == "read_ahead_kb" && key == "readahead" => {
                self.is_for(setting, target).then(|| read_ahead(value))
            }
            (KnobId::Block(_, name), "disk") if name == "scheduler" && key == "elevator" => {
                self.is_for(setting, target).then(|| amount(value))
            }
            (KnobId::Nic(_, name), "net") if self.is_for(setting, target) => of_nic(name, key, value),
            _ => None,
        }
    }

    /// Whether the section of an option is for the target's device: `devices=` names it, or no device at all.
    fn is_for(&self, setting: &Setting, target: &Target) -> bool {
        let devices = self
            .options
            .iter()
            .find(|other| other.section == setting.section && other.key == "devices");
        let (Some(devices), Some(device)) = (devices, target.device()) else {
            return true;
        };
        let mut patterns = devices
            .value
            .split([',', ' ', ';'])
            .filter(|word| !word.is_empty());
        patterns.clone().all(|word| {
            word.strip_prefix('!')
                .is_none_or(|not| !super::glob::matches(not, device, None))
        }) && (patterns.clone().all(|word| word.starts_with('!'))
            || patterns.any(|word| super::glob::matches(word, device, None)))
    }
}

/// Adds a profile to `options`, those that it includes first.
fn merge_profile(host: &Host, directories: &[String], name: &str, depth: usize, options: &mut Vec<Setting>) {
    let is_name = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let find = |directory: &String| conf::file(host, &format!("{directory}/{name}/tuned.conf"));
    let Some(file) = directories.iter().rev().filter(|_| is_name).find_map(find) else {
        return;
    };
    let entries = ini::parse(&file.text);
    if let Some(include) = ini::last(&entries, &["main"], "include").filter(|_| depth > 0) {
        for name in plain(&include.value).split([',', ';']) {
            merge_profile(host, directories, name.trim(), depth - 1, options);
        }
    }
    merge(&file, &entries, options);
}

/// Lays the sections of one file over `options`.
fn merge(file: &ConfFile, entries: &[ini::Entry], options: &mut Vec<Setting>) {
    let of_section =
        |section: &str, key: &str| ini::last(entries, &[section], key).map(|entry| plain(&entry.value));
    let mut seen: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.section != "main") {
        let section = entry.section.as_str();
        if !seen.contains(&section) {
            seen.push(section);
            if of_section(section, "replace").and_then(ini::boolean) == Some(true) {
                options.retain(|option| option.section != section);
            }
            if let Some(drop) = of_section(section, "drop") {
                let dropped: Vec<&str> = drop.split(',').map(str::trim).collect();
                options.retain(|option| option.section != section || !dropped.contains(&option.key.as_str()));
            }
        }
        if matches!(entry.key.as_str(), "replace" | "drop" | "type" | "enabled") {
            continue;
        }
        options.retain(|option| option.section != section || option.key != entry.key);
        options.push(Setting {
            section: section.to_owned(),
            plugin: of_section(section, "type").unwrap_or(section).to_owned(),
            key: entry.key.clone(),
            value: plain(&entry.value).to_owned(),
            place: file.at(entry.line),
        });
    }
}

/// A value without the remark behind it.
fn plain(value: &str) -> &str {
    let value = value.find(" #").map_or(value, |at| &value[..at]);
    value.trim().trim_matches('"')
}

/// Ratios of the page cache set their byte twin to zero.
const ZEROED: &[(&str, &str)] = &[
    ("vm.dirty_bytes", "vm/dirty_ratio"),
    ("vm.dirty_background_bytes", "vm/dirty_background_ratio"),
];

fn of_sysctl(name: &str, key: &str, value: &str) -> Option<Says> {
    let path = relative_path(key);
    if path == relative_path(name) {
        return Some(amount(value));
    }
    let zeroed = ZEROED
        .iter()
        .any(|(bytes, ratio)| *bytes == name && *ratio == path);
    zeroed.then(|| Says::Is(Value::from(0)))
}

/// `8192`, `>4096` or something computed.
fn amount(value: &str) -> Says {
    if value.contains("${") {
        return Says::Unknown(value.to_owned());
    }
    match value.strip_prefix('>').map(|least| least.trim().parse()) {
        Some(Ok(least)) => Says::AtLeast(least),
        _ => Says::Is(Value::new(value)),
    }
}

/// KiB, or sectors of 512 byte where an `s` follows.
fn read_ahead(value: &str) -> Says {
    let Some(sectors) = value.strip_suffix('s').map(str::trim) else {
        return amount(value);
    };
    match amount(sectors) {
        Says::Is(sectors) => sectors.integer().map_or_else(
            || Says::Unknown(value.to_owned()),
            |sectors| Says::Is(Value::from(sectors / 2)),
        ),
        Says::AtLeast(sectors) => Says::AtLeast(sectors / 2),
        computed => computed,
    }
}

/// `[net]`: `ring=rx 8192 tx 4096`, `mtu=9000`.
fn of_nic(name: &str, key: &str, value: &str) -> Option<Says> {
    let option = match name.split_once('.') {
        Some(("ring", part)) if key == "ring" => part,
        Some(("channels", part)) if key == "channels" => part,
        Some(("coalesce", part)) if key == "coalesce" => part,
        Some(("feature", part)) if key == "features" => part,
        None if name == key => return Some(amount(value)),
        _ => return None,
    };
    let words: Vec<&str> = value.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let pair = words
        .chunks_exact(2)
        .find(|pair| pair[0].trim_end_matches(':') == option)?;
    Some(amount(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn profile(files: &[(&str, &str)], names: &str) -> ActiveProfile {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        ActiveProfile::load(&Host::at(dir.path(), None), names)
    }

    fn said(profile: &ActiveProfile, knob: &str) -> Vec<String> {
        let target = Target {
            knob: knob.parse().unwrap(),
            port: None,
            disk: None,
        };
        profile
            .claims(&target)
            .iter()
            .map(|claim| claim.words())
            .collect()
    }

    const THROUGHPUT: &str = "[main]\nsummary=x\n[cpu]\ngovernor=performance|ondemand\n[vm]\ndirty_ratio = 40\n\
        [sysctl]\nvm.swappiness=10 # low\nnet.core.somaxconn=>2048\n[disk]\nreadahead=>4096\n";
    const NETWORK: &str =
        "[main]\ninclude=throughput-performance\n[sysctl]\nnet.ipv4.tcp_rmem=\"4096 131072 16777216\"\n";

    #[test]
    fn an_included_profile_speaks_too_and_a_nearer_directory_wins() {
        let profile = profile(
            &[
                (
                    "/usr/lib/tuned/throughput-performance/tuned.conf",
                    "[sysctl]\nvm.swappiness=99\n",
                ),
                ("/etc/tuned/throughput-performance/tuned.conf", THROUGHPUT),
                ("/usr/lib/tuned/network-throughput/tuned.conf", NETWORK),
            ],
            "network-throughput",
        );
        let base = "/etc/tuned/throughput-performance/tuned.conf";
        assert_eq!(
            said(&profile, "sysctl:vm.swappiness"),
            [format!("{base}:8 says 10")]
        );
        assert_eq!(
            said(&profile, "sysctl:vm.dirty_bytes"),
            [format!("{base}:6 says 0")]
        );
        assert_eq!(
            said(&profile, "cpu:governor"),
            [format!("{base}:4 says performance")]
        );
        assert_eq!(
            said(&profile, "block/sda:read_ahead_kb"),
            [format!("{base}:11 says 4096 or more")]
        );
        assert_eq!(
            said(&profile, "sysctl:net.ipv4.tcp_rmem"),
            ["/usr/lib/tuned/network-throughput/tuned.conf:4 says 4096 131072 16777216"]
        );
        assert!(profile.reapplies_sysctl(), "the default of tuned");
    }

    #[test]
    fn a_section_is_merged_dropped_or_replaced() {
        let own = "[main]\ninclude=base\n[sysctl]\nreplace=1\nvm.swappiness=${x}\n[vm]\ndrop=dirty_ratio\n\
            [ports]\ntype=net\ndevices=eth*,!eth9\nring=rx 8192 tx 4096\n";
        let profile = profile(
            &[
                ("/usr/lib/tuned/base/tuned.conf", THROUGHPUT),
                ("/etc/tuned/site/tuned.conf", own),
                ("/etc/tuned/tuned-main.conf", "reapply_sysctl = 0\n"),
            ],
            "site",
        );
        assert!(!profile.reapplies_sysctl());
        assert_eq!(said(&profile, "sysctl:vm.dirty_bytes"), Vec::<String>::new());
        assert_eq!(
            said(&profile, "sysctl:vm.swappiness"),
            ["/etc/tuned/site/tuned.conf:5 says ${x}"]
        );
        assert_eq!(said(&profile, "sysctl:net.core.somaxconn"), Vec::<String>::new());
        let mut target = Target {
            knob: "nic/0000:01:00.0+02:00:00:00:00:01:ring.tx".parse().unwrap(),
            port: Some(super::super::target::Port {
                name: "eth0".into(),
                ..Default::default()
            }),
            disk: None,
        };
        let claims = profile.claims(&target);
        assert_eq!(claims[0].words(), "/etc/tuned/site/tuned.conf:11 says 4096");
        assert!(claims[0].beats_us);
        target.port.as_mut().unwrap().name = "eth9".into();
        assert_eq!(profile.claims(&target), []);
    }

    #[test]
    fn profiles_that_include_each_other_or_climb_end() {
        let profile = profile(
            &[
                (
                    "/etc/tuned/a/tuned.conf",
                    "[main]\ninclude=b,../x\n[sysctl]\nvm.swappiness=1\n",
                ),
                ("/etc/tuned/b/tuned.conf", "[main]\ninclude=a\n"),
            ],
            "a missing",
        );
        assert_eq!(
            said(&profile, "sysctl:vm.swappiness"),
            ["/etc/tuned/a/tuned.conf:4 says 1"]
        );
    }

    #[test]
    fn no_profile_says_nothing() {
        assert_eq!(
            said(&ActiveProfile::default(), "tuned:profile"),
            Vec::<String>::new()
        );
        assert!(!ActiveProfile::default().reapplies_sysctl());
    }
}
