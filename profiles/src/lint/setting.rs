//! One assignment, wherever it was read: what is set, to what, where, and whether it takes effect.

use super::finding::Place;
use super::kernel::number;
use super::key::SysctlKey;
use std::fmt;
use std::sync::Arc;

/// What is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A sysctl, or a glob of them.
    Sysctl(SysctlKey),
    /// A setting of a NIC, in the words of the registry of knobs: `ring.rx`, `feature.lro`, `mtu`, `txqueuelen`.
    Nic(Device, String),
    /// A qdisc; the value is its kind.
    Qdisc(Device, Qdisc),
    /// An attribute of a block device's queue: `scheduler`, `nr_requests`.
    Block(Device, String),
    /// The CPU frequency governor.
    Governor,
    /// A file below `/sys`.
    Sysfs(String),
    /// A word of the kernel command line.
    KernelArgument(String),
}

/// The device that is meant, as far as the text says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Device {
    /// A name.
    Named(String),
    /// Names, some of them globs; `*` is every device.
    Patterns(Vec<String>),
    /// A variable, or a match that is not looked at; the text is as it is written.
    Unknown(String),
}

/// A call of `tc qdisc add|replace|change`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Qdisc {
    /// Whether it becomes the root of the device.
    pub(super) root: bool,
    /// All words after the kind.
    pub(super) options: Vec<String>,
}

/// Who writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A file of sysctl.d, by its number.
    SysctlD(usize),
    /// A profile of tuned, by its number.
    Tuned(usize),
    /// A udev rule.
    Udev,
    /// A command of a script or unit.
    Script,
    /// A profile of the catalog, by its number.
    Catalog(usize),
}

/// Whether it takes effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// As far as the files say.
    Live,
    /// Another line of the same kind wins.
    Lost(Place),
}

/// What tuned makes of the value that it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    /// It is replaced.
    None,
    /// It is raised, never lowered (`>2048`).
    AtLeast,
    /// It is lowered, never raised (`<10`).
    AtMost,
}

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) what: What,
    /// As written, without white space around it, quotes and modifier.
    pub(super) value: String,
    pub(super) modifier: Modifier,
    pub(super) place: Place,
    pub(super) origin: Origin,
    pub(super) state: State,
    /// The profile of tuned that it was included from.
    pub(super) included_from: Option<Arc<str>>,
    /// Whether a failure is passed over (`-` before the key in sysctl.d).
    pub(super) quiet: bool,
}

impl Setting {
    /// A live setting of the file itself.
    pub(super) fn new(what: What, value: &str, place: Place, origin: Origin) -> Self {
        Self {
            what,
            value: value.trim().to_owned(),
            modifier: Modifier::None,
            place,
            origin,
            state: State::Live,
            included_from: None,
            quiet: false,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.state == State::Live
    }

    /// The sysctl that is set.
    pub(super) fn key(&self) -> Option<&SysctlKey> {
        match &self.what {
            What::Sysctl(key) => Some(key),
            _ => None,
        }
    }

    /// The value as one number, as the kernel reads it.
    pub(super) fn integer(&self) -> Option<i128> {
        number(self.value.trim())
    }

    /// The last field of a vector as a number.
    pub(super) fn last_integer(&self) -> Option<i128> {
        number(self.value.split_whitespace().last()?)
    }

    /// The fields of a vector as numbers; `None` when one is none.
    pub(super) fn integers(&self) -> Option<Vec<i128>> {
        self.value.split_whitespace().map(number).collect()
    }

    /// The value with white space folded.
    pub(super) fn folded(&self) -> String {
        self.value.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// How a reader names what is set and to what.
    pub(super) fn shown(&self) -> String {
        let text = format!("{} = {}", self.what, self.folded());
        match &self.included_from {
            Some(profile) => format!("{text} (from {profile})"),
            None => text,
        }
    }
}

impl Device {
    /// A name, one or more globs separated by `,` or `|`, or a text that is no name of a device.
    pub(super) fn of(text: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
        let glob = |c: char| plain(c) || "*?[]".contains(c);
        let names: Vec<&str> = text
            .split([',', '|', ' '])
            .filter(|name| !name.is_empty())
            .collect();
        match names[..] {
            [name] if name.chars().all(plain) => Device::Named(name.to_owned()),
            [_, ..] if names.iter().all(|name| name.chars().all(glob)) => {
                Device::Patterns(names.into_iter().map(str::to_owned).collect())
            }
            _ => Device::Unknown(text.to_owned()),
        }
    }

    /// Every device of a kind.
    pub(super) fn all() -> Self {
        Device::Patterns(vec!["*".to_owned()])
    }

    /// A device of which nothing is said.
    pub(super) fn unknown() -> Self {
        Device::Unknown("<dev>".to_owned())
    }

    /// Whether both are, or include, the same device for certain.
    pub(super) fn meets(&self, other: &Device) -> bool {
        match (self, other) {
            (Device::Named(a), Device::Named(b)) => a == b,
            (Device::Named(name), Device::Patterns(patterns))
            | (Device::Patterns(patterns), Device::Named(name)) => patterns
                .iter()
                .any(|pattern| SysctlKey::matches_name(pattern, name)),
            // Two globs meet for certain when they are the same, or one is everything.
            (Device::Patterns(a), Device::Patterns(b)) => {
                a.iter().any(|pattern| pattern == "*" || b.contains(pattern))
                    || b.iter().any(|pattern| pattern == "*")
            }
            _ => false,
        }
    }

    /// Whether both may mean the same device.
    pub(super) fn may_be(&self, other: &Device) -> bool {
        matches!((self, other), (Device::Unknown(_), _) | (_, Device::Unknown(_))) || self.meets(other)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Named(text) | Device::Unknown(text) => f.pad(text),
            Device::Patterns(patterns) => f.pad(&patterns.join(",")),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Sysctl(key) => write!(f, "{key}"),
            What::Nic(device, key) => write!(f, "nic/{device}:{key}"),
            What::Qdisc(device, qdisc) if qdisc.root => write!(f, "qdisc/{device}:root"),
            What::Qdisc(device, _) => write!(f, "qdisc/{device}:leaf"),
            What::Block(device, key) => write!(f, "block/{device}:{key}"),
            What::Governor => f.write_str("cpu:governor"),
            What::Sysfs(path) => f.write_str(path),
            What::KernelArgument(name) => write!(f, "boot:{name}"),
        }
    }
}
