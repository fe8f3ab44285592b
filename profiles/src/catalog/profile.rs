//! A profile that has been checked: nothing in it is optional by accident.

use super::buffer::{Bound, Buffer};
use super::template::{KnobTemplate, ValueTemplate};
use super::tuned_stock::Include;
use super::written::{AdviceFile, BoundFile, BufferFile, KnobFile, MatchFile, ProfileFile, TunedFile};
use crate::conclude::{SpeedClass, StorageClass};
use crate::group::Group;
use crate::knob::{KnobDef, KnobId};
use crate::site::Role;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Form of a profile's file.
pub const PROFILE_SCHEMA: u32 = 1;

/// The name of the profile that never tunes.
pub const STOCK: &str = "stock";

/// The tuning for one class of hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Catalog name: lower-case letters, digits and `-`, at most 48 bytes.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The roles that it is for; none for `stock`.
    pub roles: Vec<Role>,
    /// The hosts that it is for.
    pub matching: Match,
    /// What the buffer formula is fed with.
    pub buffer: Option<Buffer>,
    /// Our tuned profile.
    pub tuned: Option<Tuned>,
    /// All values: those of the bases in their order, then the profile's own.
    pub knobs: Vec<KnobLine>,
    /// What only an admin can set.
    pub advice: Vec<Advice>,
}

/// The hosts that a profile is for. An empty list or `None` asks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// Classes of the speed of one flow.
    pub speed_classes: Vec<SpeedClass>,
    /// Slowest link, Mb/s.
    pub min_mbps: Option<u32>,
    /// Fastest link, Mb/s.
    pub max_mbps: Option<u32>,
    /// Classes of the data store.
    pub storage: Vec<StorageClass>,
    /// Whether the host has to be a guest.
    pub virtualised: Wanted,
    /// Kernel drivers of the data NICs.
    pub drivers: Vec<String>,
}

/// What a profile wants of a yes-or-no fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// Only yes.
    Yes,
    /// Only no.
    No,
    /// Nothing.
    #[default]
    Any,
}

/// Our tuned profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuned {
    /// The profile of tuned that it builds on.
    pub include: Include,
    /// Sysctls of ours that it carries as well, because the included profile would reset them.
    pub repeat: Vec<KnobTemplate>,
}

/// One value of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobLine {
    /// The knob.
    pub id: KnobTemplate,
    /// The registry's entry.
    pub definition: &'static KnobDef,
    /// The value.
    pub value: ValueTemplate,
    /// Whether a host that has more already keeps what it has. Always so for a value from the buffer formula.
    pub only_raise: bool,
    /// The value may be at most memory divided by this.
    pub ram_divisor: Option<u32>,
    /// Only for links at least this fast, Mb/s.
    pub min_mbps: Option<u32>,
    /// Only for links at most this fast, Mb/s.
    pub max_mbps: Option<u32>,
    /// Why the profile wants the value.
    pub why: String,
    /// Where the value comes from.
    pub source: String,
    /// The base that the line was taken from; `None` for the profile's own.
    pub inherited_from: Option<String>,
}

/// Something that no file of ours can set: a mount option, a setting of a service, a choice of the firmware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What to set.
    pub set: String,
    /// Where an admin sets it.
    #[serde(rename = "where")]
    pub place: String,
    /// Only for these data stores; empty: for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageClass>,
    /// The reason.
    pub why: String,
    /// Where it was read.
    pub source: String,
}

impl PartialEq for KnobDef {
    /// The registry holds each pattern once.
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Profile {
    /// The name that tuned knows our profile by.
    pub fn tuned_name(&self) -> String {
        format!("dtnforge-{}", self.name)
    }

    /// Whether it is the profile that never tunes.
    pub fn is_stock(&self) -> bool {
        self.name == STOCK
    }

    /// The groups that it has values for, each once, in show order.
    pub fn groups(&self) -> Vec<Group> {
        Group::ALL
            .into_iter()
            .filter(|group| self.knobs.iter().any(|line| line.definition.group == *group))
            .collect()
    }

    /// The profile as a file, in canonical form: the same profile gives the same text.
    ///
    /// # Errors
    /// Never in practice: only when TOML cannot hold a value.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(&self.to_file())
    }

    fn to_file(&self) -> ProfileFile {
        ProfileFile {
            schema: plain(PROFILE_SCHEMA),
            name: plain(self.name.clone()),
            title: plain(self.title.clone()),
            base: None,
            extends: Vec::new(),
            speeds: Vec::new(),
            roles: names(&self.roles),
            matching: (self.matching != Match::default()).then(|| plain(self.matching.to_file())),
            buffer: self.buffer.as_ref().map(|buffer| plain(buffer.to_file())),
            tuned: self.tuned.as_ref().map(|tuned| TunedFile {
                include: plain(tuned.include.name().to_owned()),
                repeat: Some(names(&tuned.repeat)),
            }),
            knobs: self.knobs.iter().map(KnobLine::to_file).collect(),
            advice: self.advice.iter().map(Advice::to_file).collect(),
        }
    }
}

impl Buffer {
    fn to_file(&self) -> BufferFile {
        let bound = |bound: &Bound| BoundFile {
            from_mbps: plain(bound.from_mbps),
            mib: plain(bound.mib),
        };
        BufferFile {
            speed_mbps: self.speed_mbps.map(plain),
            streams: plain(self.streams),
            ram_divisor: plain(self.ram_divisor),
            most: self.most.iter().map(bound).collect(),
        }
    }
}

impl Advice {
    fn to_file(&self) -> AdviceFile {
        AdviceFile {
            set: plain(self.set.clone()),
            r#where: plain(self.place.clone()),
            storage: names(&self.storage),
            why: plain(self.why.clone()),
            source: plain(self.source.clone()),
        }
    }

    /// Whether it is for a data store of this class.
    pub fn is_for(&self, class: StorageClass) -> bool {
        self.storage.is_empty() || self.storage.contains(&class)
    }
}

/// The names of some things, without places.
fn names<T: ToString>(things: &[T]) -> Vec<Spanned<String>> {
    things.iter().map(|thing| plain(thing.to_string())).collect()
}

impl Match {
    fn to_file(&self) -> MatchFile {
        MatchFile {
            speed_classes: names(&self.speed_classes),
            min_mbps: self.min_mbps.map(plain),
            max_mbps: self.max_mbps.map(plain),
            storage: names(&self.storage),
            virtualised: match self.virtualised {
                Wanted::Yes => Some(plain("yes".to_owned())),
                Wanted::No => Some(plain("no".to_owned())),
                Wanted::Any => None,
            },
            drivers: names(&self.drivers),
        }
    }
}

impl KnobLine {
    fn to_file(&self) -> KnobFile {
        KnobFile {
            id: plain(self.id.to_string()),
            value: plain(toml::Value::String(self.value.as_str().to_owned())),
            unit: (!self.definition.unit.is_empty()).then(|| plain(self.definition.unit.to_owned())),
            only_raise: (self.only_raise && !self.value.uses_buffer()).then_some(true),
            ram_divisor: self.ram_divisor.map(plain),
            min_mbps: self.min_mbps.map(plain),
            max_mbps: self.max_mbps.map(plain),
            why: Some(plain(self.why.clone())),
            source: Some(plain(self.source.clone())),
            inherited_from: self.inherited_from.clone().map(plain),
        }
    }

    /// Whether it is for a link of this speed.
    pub fn is_for_link(&self, mbps: u32) -> bool {
        self.min_mbps.is_none_or(|min| mbps >= min) && self.max_mbps.is_none_or(|max| mbps <= max)
    }

    /// Whether it is for this knob.
    pub fn is_for(&self, knob: &KnobId) -> bool {
        match knob.device() {
            Some(device) => self.id.knob_of(device) == *knob,
            None => self.id.host_knob() == Some(knob),
        }
    }
}

/// A value without a place: it was not read from a file.
fn plain<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
