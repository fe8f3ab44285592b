//! What one side says: a value for each knob, with its reason and source.

use super::sysctl_d::{self, BadLine};
use crate::catalog::{KnobTemplate, Profile};
use crate::knob::KnobId;
use crate::plan::{Plan, Resolved, Skipped, Step, resolve};
use crate::published::{Library, Published, Set, Values};
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
    /// A profile without a host, as [`resolve`] tells it. What it leaves to the profile of tuned that it includes is
    /// there as well.
    pub fn of_profile(profile: &Profile, site: &Site, library: &Library) -> Self {
        let mut settings = included(profile, library);
        let defaults = library.defaults();
        for line in resolve(profile, site) {
            let default = defaults.get(&line.line.id);
            settings.insert(line.line.id.to_string(), resolved(line, default));
        }
        Self {
            name: profile.name.clone(),
            about: profile.title.clone(),
            head: head(profile),
            settings,
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

/// What our tuned profile gets from the one that it includes.
fn included(profile: &Profile, library: &Library) -> BTreeMap<String, Setting> {
    let Some(tuned) = &profile.tuned else {
        return BTreeMap::new();
    };
    let name = format!("tuned-{}", tuned.include.name());
    let values = library.get(&name).map(Published::values).unwrap_or_default();
    let setting = |value: Value, why: String| Setting {
        value: Some(value),
        why,
        source: String::new(),
    };
    let by_tuned = format!("left to tuned's {}", tuned.include.name());
    let mut settings: BTreeMap<String, Setting> = values
        .into_iter()
        .map(|(knob, value)| (knob.to_string(), setting(value, by_tuned.clone())))
        .collect();
    for key in tuned.repeat.iter().filter_map(|knob| knob.host_knob()) {
        let KnobId::Sysctl(key) = key else { continue };
        if let Some(option) = tuned.include.reset_of(key).and_then(|reset| reset.vm_option) {
            let why = format!("sysctl:{key} counts instead");
            settings.insert(format!("sysctl:vm.{option}"), setting("0".into(), why));
        }
    }
    settings
}

fn resolved(line: Resolved<'_>, default: Option<&Value>) -> Setting {
    let source = line.line.source.clone();
    let (value, why) = match (line.value, default) {
        (Ok(value), Some(more)) if line.line.only_raise && is_more(more, &value) => {
            let why = format!("the kernel has more than the {value} that would be enough");
            (Some(more.clone()), why)
        }
        (Ok(value), _) => (Some(value), line.why),
        (Err(why), _) => (None, why),
    };
    Setting { value, why, source }
}

/// Whether the last number of `one` is larger.
fn is_more(one: &Value, other: &Value) -> bool {
    let size = |value: &Value| value.integers()?.last().copied();
    size(one) > size(other)
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
