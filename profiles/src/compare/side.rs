//! What one side says: a value for each knob, with its reason and source.

use super::sysctl_d::{self, BadLine};
use crate::catalog::{KnobLine, KnobTemplate, Profile};
use crate::conclude::conclude;
use crate::digest::Digest;
use crate::facts::Facts;
use crate::knob::KnobId;
use crate::plan::{Plan, Skipped, Step, make, offline_target};
use crate::published::{Published, Set, Values};
use crate::site::Site;
use crate::value::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// One value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The value; `None` where there is none, for the reason in `why`.
    pub value: Option<Value>,
    /// Why it is so; empty where nobody says.
    pub why: String,
    /// Where it comes from.
    pub source: String,
}

/// One way to tune a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// How it is called.
    pub name: String,
    /// What a reader should know of it: the title, and the source where all values have one.
    pub about: String,
    /// What a profile says of itself beside its values.
    pub head: BTreeMap<String, Setting>,
    /// Its values, by knob.
    pub settings: BTreeMap<String, Setting>,
}

impl Side {
    /// A profile without a host: the formula is put in where the speed of the link is known, by the profile or by the
    /// site, and the site's own choices.
    pub fn of_profile(profile: &Profile, site: &Site) -> Self {
        let facts = Facts::default();
        let mut seen = conclude(&facts, site);
        seen.link_mbps = site.link_mbps;
        let plan = make(
            profile,
            &Digest::of(b""),
            &facts,
            &seen,
            site,
            &offline_target(&facts),
        );
        let line = |line: &KnobLine| (line.id.to_string(), without_host(line, &plan));
        Self {
            name: profile.name.clone(),
            about: profile.title.clone(),
            head: head(profile),
            settings: profile.knobs.iter().map(line).collect(),
        }
    }

    /// A plan: what a profile means for one host.
    pub fn of_plan(plan: &Plan) -> Self {
        let skipped = plan
            .skipped
            .iter()
            .map(|skipped| (skipped.knob.clone(), left_out(skipped)));
        let steps = plan
            .steps
            .iter()
            .map(|step| (step.knob.to_string(), planned(step)));
        Self {
            name: plan.profile.clone(),
            about: format!("layer {}, as planned for this host", plan.layer.short()),
            head: BTreeMap::new(),
            settings: skipped.chain(steps).collect(),
        }
    }

    /// What others publish for some hosts.
    pub fn of_published(published: &Published, set: &Set) -> Self {
        let setting = |value: &Value| Setting {
            value: Some(value.clone()),
            why: String::new(),
            source: String::new(),
        };
        Self {
            name: published.name.clone(),
            about: format!("{} ({})", published.title, published.source),
            head: BTreeMap::new(),
            settings: set
                .values
                .iter()
                .map(|(knob, value)| (knob.to_string(), setting(value)))
                .collect(),
        }
    }

    /// A file of sysctl.d.
    ///
    /// # Errors
    /// A line that is no assignment.
    pub fn of_sysctl_d(name: &str, text: &str) -> Result<Self, BadLine> {
        let setting = |(key, (value, line)): (String, (Value, usize))| {
            let source = format!("{name}:{line}");
            (
                format!("sysctl:{key}"),
                Setting {
                    value: Some(value),
                    why: String::new(),
                    source,
                },
            )
        };
        Ok(Self {
            name: name.to_owned(),
            about: "a file of sysctl.d".to_owned(),
            head: BTreeMap::new(),
            settings: sysctl_d::read(text)?.into_iter().map(setting).collect(),
        })
    }

    /// The settings, with what is said of every data device put at each device that the other side names.
    pub(super) fn spread_over(&self, other: &Side) -> BTreeMap<String, Setting> {
        let mut spread = BTreeMap::new();
        for (knob, setting) in &self.settings {
            let devices: Vec<&String> = other
                .settings
                .keys()
                .filter(|name| is_device_of(name, knob))
                .collect();
            let names = if devices.is_empty() { vec![knob] } else { devices };
            spread.extend(names.into_iter().map(|name| (name.clone(), setting.clone())));
        }
        spread
    }
}

/// Puts the default of the kernel where only the other side has a value.
pub(super) fn fill_in(
    settings: &mut BTreeMap<String, Setting>,
    other: &BTreeMap<String, Setting>,
    kernel: &Values,
) {
    for knob in other
        .keys()
        .filter(|knob| !settings.contains_key(*knob))
        .cloned()
        .collect::<Vec<_>>()
    {
        let default = KnobTemplate::parse(&pattern_of(&knob))
            .ok()
            .and_then(|knob| kernel.get(&knob));
        settings.extend(default.map(|value| {
            let setting = Setting {
                value: Some(value.clone()),
                why: "left alone".to_owned(),
                source: String::new(),
            };
            (knob, setting)
        }));
    }
}

/// The knob with `<data>` where a device stands.
fn pattern_of(name: &str) -> String {
    let knob = name.parse::<KnobId>();
    knob.map_or(name.to_owned(), |knob| {
        knob.pattern().replacen("<dev>", "<data>", 1)
    })
}

/// Whether `name` is the knob of one device where `pattern` means all of them.
fn is_device_of(name: &str, pattern: &str) -> bool {
    name != pattern && pattern_of(name) == pattern
}

fn without_host(line: &KnobLine, plan: &Plan) -> Setting {
    let name = line.id.to_string();
    if let Some(step) = plan.steps.iter().find(|step| step.knob.to_string() == name) {
        return planned(step);
    }
    let value = line.value.resolve(None);
    let why = match &value {
        Some(_) => line.why.clone(),
        None => "depends on the speed of the link, which is not known".to_owned(),
    };
    Setting {
        value,
        why,
        source: line.source.clone(),
    }
}

fn planned(step: &Step) -> Setting {
    let why = match &step.lowered {
        Some(lowered) => format!("{}; lowered from {}: {}", step.why, lowered.asked, lowered.why),
        None => step.why.clone(),
    };
    Setting {
        value: Some(step.to.clone()),
        why,
        source: step.source.clone(),
    }
}

fn left_out(skipped: &Skipped) -> Setting {
    Setting {
        value: None,
        why: skipped.why.clone(),
        source: String::new(),
    }
}

/// What a profile says beside its values, where two profiles may differ.
fn head(profile: &Profile) -> BTreeMap<String, Setting> {
    let list = |names: Vec<&str>| (!names.is_empty()).then(|| names.join(" "));
    let matching = &profile.matching;
    let lines = [
        (
            "roles",
            list(profile.roles.iter().map(|role| role.name()).collect()),
        ),
        (
            "match.links",
            list(matching.speed_classes.iter().map(|class| class.name()).collect()),
        ),
        (
            "match.storage",
            list(matching.storage.iter().map(|class| class.name()).collect()),
        ),
        (
            "buffer.streams",
            profile.buffer.as_ref().map(|buffer| buffer.streams.to_string()),
        ),
        (
            "buffer.ram_divisor",
            profile
                .buffer
                .as_ref()
                .map(|buffer| buffer.ram_divisor.to_string()),
        ),
        (
            "tuned.include",
            profile
                .tuned
                .as_ref()
                .map(|tuned| tuned.include.name().to_owned()),
        ),
    ];
    let setting = |(key, text): (&str, Option<String>)| {
        let setting = Setting {
            value: Some(Value::new(&text?)),
            why: String::new(),
            source: String::new(),
        };
        Some((key.to_owned(), setting))
    };
    lines.into_iter().filter_map(setting).collect()
}
