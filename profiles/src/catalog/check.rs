//! From a profile as written to a profile that is valid: every field on its own.
//!
//! What several fields say together is looked at in [`super::lint`].

use super::buffer::Buffer;
use super::lint;
use super::problem::{Collector, Problems, nearest};
use super::profile::{KnobLine, Match, PROFILE_SCHEMA, Profile, Tuned, Wanted};
use super::template::{KnobTemplate, ValueTemplate};
use super::tuned_stock::Include;
use super::written::{BufferFile, KnobFile, MatchFile, ProfileFile, TunedFile};
use crate::conclude::{SpeedClass, StorageClass};
use crate::knob::{KnobDef, REGISTRY};
use crate::site::Role;
use std::fmt::Display;
use std::ops::RangeInclusive;
use toml::Spanned;

/// Reads one profile.
///
/// # Errors
/// All that is wrong in the file, each with its line and key.
pub(super) fn read(file: &str, text: &str) -> Result<Profile, Problems> {
    let mut found = Collector::new(file, text);
    let written: ProfileFile = match toml::from_str(text) {
        Ok(written) => written,
        Err(error) => {
            found.add_toml(&error);
            return Err(found.into_problems());
        }
    };
    let profile = valid(&written, &mut found);
    if found.is_empty() {
        lint::check(&profile, &written, &mut found);
    }
    found.finish(profile)
}

fn valid(written: &ProfileFile, found: &mut Collector<'_>) -> Profile {
    let schema = written.schema.get_ref();
    if *schema != PROFILE_SCHEMA {
        let what = format!("{schema} is a form that this version does not know, expected {PROFILE_SCHEMA}");
        found.add(written.schema.span(), "schema", what, None);
    }
    check_name(&written.name, found);
    check_line(Some(&written.title), written.title.span(), "title", found);
    let roles = named(&written.roles, "roles", Role::from_name, &Role::ALL, found);
    let matching = written.matching.as_ref().map(|file| check_match(file, found));
    Profile {
        name: written.name.get_ref().clone(),
        title: written.title.get_ref().clone(),
        roles,
        matching: matching.unwrap_or_default(),
        buffer: written.buffer.as_ref().map(|file| check_buffer(file, found)),
        tuned: written.tuned.as_ref().and_then(|file| check_tuned(file, found)),
        knobs: written
            .knobs
            .iter()
            .filter_map(|file| check_knob(file, found))
            .collect(),
    }
}

fn check_name(name: &Spanned<String>, found: &mut Collector<'_>) {
    let text = name.get_ref();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() || text.len() > 48 || !text.chars().all(plain) || text.starts_with('-') {
        let what = format!("{text:?} is no name, expected 1 to 48 lower-case letters, digits and `-`");
        found.add(name.span(), "name", what, None);
    }
}

/// A text that ends up in comments of generated files: one line that says something.
fn check_line(
    text: Option<&Spanned<String>>,
    at: std::ops::Range<usize>,
    key: &str,
    found: &mut Collector<'_>,
) -> String {
    let line = text
        .map(|text| text.get_ref().trim().to_owned())
        .unwrap_or_default();
    if line.is_empty() {
        found.add(at, key, "is missing or empty, and every value needs one", None);
    } else if line.len() > 400 || line.chars().any(char::is_control) {
        found.add(
            at,
            key,
            "is longer than 400 bytes or has control characters",
            None,
        );
    }
    line
}

/// Each name of a list, looked up; a name that is unknown is a problem that lists the known ones.
fn named<T: Display>(
    names: &[Spanned<String>],
    key: &str,
    look_up: impl Fn(&str) -> Option<T>,
    all: &[T],
    found: &mut Collector<'_>,
) -> Vec<T> {
    let mut values = Vec::new();
    for name in names {
        match look_up(name.get_ref()) {
            Some(value) => values.push(value),
            None => {
                let known: Vec<String> = all.iter().map(T::to_string).collect();
                let what = format!(
                    "{:?} is unknown, expected one of {}",
                    name.get_ref(),
                    known.join(", ")
                );
                found.add(name.span(), key, what, None);
            }
        }
    }
    values
}

fn number(
    value: &Spanned<u32>,
    key: &str,
    range: RangeInclusive<u32>,
    unit: &str,
    found: &mut Collector<'_>,
) -> u32 {
    let number = *value.get_ref();
    if !range.contains(&number) {
        let what = format!(
            "{number} is out of range, expected {} to {}{unit}",
            range.start(),
            range.end()
        );
        found.add(value.span(), key, what, None);
    }
    number
}

const LINK_MBPS: RangeInclusive<u32> = 1..=800_000;

fn check_match(file: &MatchFile, found: &mut Collector<'_>) -> Match {
    let mut mbps = |value: &Option<Spanned<u32>>, key| {
        value
            .as_ref()
            .map(|value| number(value, key, LINK_MBPS, " Mb/s", found))
    };
    let (min_mbps, max_mbps) = (mbps(&file.min_mbps, "min_mbps"), mbps(&file.max_mbps, "max_mbps"));
    if let (Some(min), Some(max), Some(at)) = (min_mbps, max_mbps, &file.max_mbps)
        && min > max
    {
        found.add(
            at.span(),
            "max_mbps",
            format!("{max} is less than min_mbps, {min}"),
            None,
        );
    }
    let (classes, stores) = (&SpeedClass::ALL, &StorageClass::ALL);
    Match {
        speed_classes: named(
            &file.speed_classes,
            "speed_classes",
            SpeedClass::from_name,
            classes,
            found,
        ),
        min_mbps,
        max_mbps,
        storage: named(&file.storage, "storage", StorageClass::from_name, stores, found),
        virtualised: match file
            .virtualised
            .as_ref()
            .map(|text| (text.get_ref().as_str(), text.span()))
        {
            None | Some(("any", _)) => Wanted::Any,
            Some(("yes", _)) => Wanted::Yes,
            Some(("no", _)) => Wanted::No,
            Some((other, at)) => {
                let what = format!("{other:?} is unknown, expected yes, no or any");
                found.add(at, "virtualised", what, None);
                Wanted::Any
            }
        },
    }
}

fn check_buffer(file: &BufferFile, found: &mut Collector<'_>) -> Buffer {
    Buffer {
        speed_mbps: file
            .speed_mbps
            .as_ref()
            .map(|mbps| number(mbps, "speed_mbps", LINK_MBPS, " Mb/s", found)),
        streams: number(&file.streams, "streams", 1..=256, "", found),
        ram_divisor: number(&file.ram_divisor, "ram_divisor", 2..=4096, "", found),
    }
}

fn check_tuned(file: &TunedFile, found: &mut Collector<'_>) -> Option<Tuned> {
    let name = file.include.get_ref();
    let include = Include::from_name(name);
    if include.is_none() {
        let what = format!("{name:?} is unknown, expected throughput-performance or virtual-guest");
        let hint = "network-throughput puts tcp_rmem back to 16 MiB, so it cannot be included".to_owned();
        found.add(file.include.span(), "include", what, Some(hint));
    }
    let mut repeat = Vec::new();
    for id in &file.repeat {
        match KnobTemplate::parse(id.get_ref()) {
            Ok(template) => repeat.push(template),
            Err(error) => found.add(id.span(), "repeat", error.to_string(), None),
        }
    }
    include.map(|include| Tuned { include, repeat })
}

fn check_knob(file: &KnobFile, found: &mut Collector<'_>) -> Option<KnobLine> {
    let why = check_line(
        file.why.as_ref(),
        place_of(file.why.as_ref(), &file.id),
        "why",
        found,
    );
    let source = check_line(
        file.source.as_ref(),
        place_of(file.source.as_ref(), &file.id),
        "source",
        found,
    );
    let (id, definition) = check_id(&file.id, found)?;
    check_unit(file, definition, found);
    let value = check_value_text(&file.value, found)?;
    let ram_divisor = file.ram_divisor.as_ref();
    Some(KnobLine {
        only_raise: file.only_raise.unwrap_or(false) || value.uses_buffer(),
        id,
        definition,
        value,
        ram_divisor: ram_divisor.map(|divisor| number(divisor, "ram_divisor", 2..=4096, "", found)),
        why,
        source,
    })
}

/// Where a text stands, or where the entry that lacks it begins.
fn place_of(text: Option<&Spanned<String>>, entry: &Spanned<String>) -> std::ops::Range<usize> {
    text.map_or_else(|| entry.span(), Spanned::span)
}

fn check_id(id: &Spanned<String>, found: &mut Collector<'_>) -> Option<(KnobTemplate, &'static KnobDef)> {
    let template = match KnobTemplate::parse(id.get_ref()) {
        Ok(template) => template,
        Err(error) => {
            let hint = "write `<data>` for the device, for instance nic/<data>:ring.rx".to_owned();
            found.add(id.span(), "id", error.to_string(), Some(hint));
            return None;
        }
    };
    match template.definition() {
        Some(definition) => Some((template, definition)),
        None => {
            let pattern = template.to_string().replace("<data>", "<dev>");
            let hint = nearest(&pattern, REGISTRY.iter().map(|def| def.pattern))
                .map(|near| format!("did you mean {}?", near.replace("<dev>", "<data>")));
            found.add(
                id.span(),
                "id",
                format!("{:?} is not in the registry of knobs", id.get_ref()),
                hint,
            );
            None
        }
    }
}

fn check_unit(file: &KnobFile, definition: &KnobDef, found: &mut Collector<'_>) {
    let written = file.unit.as_ref().map_or("", |unit| unit.get_ref().as_str());
    if written != definition.unit {
        let what = match (written, definition.unit) {
            ("", unit) => format!("is missing, expected {unit:?}"),
            (written, "") => format!("{written:?} is wrong: the knob has no unit"),
            (written, unit) => format!("{written:?} is wrong, expected {unit:?}"),
        };
        found.add(place_of(file.unit.as_ref(), &file.id), "unit", what, None);
    }
}

fn check_value_text(value: &Spanned<toml::Value>, found: &mut Collector<'_>) -> Option<ValueTemplate> {
    let text = match value.get_ref() {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        other => {
            let what = format!(
                "a {} is no value, expected a text or an integer",
                other.type_str()
            );
            found.add(value.span(), "value", what, None);
            return None;
        }
    };
    match ValueTemplate::parse(&text) {
        Ok(template) => Some(template),
        Err(error) => {
            found.add(value.span(), "value", error.to_string(), None);
            None
        }
    }
}
