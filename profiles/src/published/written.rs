//! A publication as it stands in its file.

use super::{Published, Set};
use crate::catalog::KnobTemplate;
use crate::conclude::SpeedClass;
use crate::site::Role;
use crate::value::Value;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Form of the files in `published/`.
const SCHEMA: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFile {
    schema: u32,
    name: String,
    title: String,
    source: String,
    note: Option<String>,
    set: Vec<SetFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFile {
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    links: Vec<String>,
    rtt_ms: Option<u32>,
    #[serde(default)]
    values: BTreeMap<String, toml::Value>,
}

pub(super) fn read(text: &str) -> Result<Published, String> {
    let file: PublishedFile = toml::from_str(text).map_err(|error| error.to_string())?;
    known_schema(file.schema)?;
    Ok(Published {
        name: file.name,
        title: file.title,
        source: file.source,
        note: file.note,
        sets: file.set.into_iter().map(set).collect::<Result<_, _>>()?,
    })
}

pub(super) fn known_schema(schema: u32) -> Result<(), String> {
    match schema {
        SCHEMA => Ok(()),
        other => Err(format!("schema: {other} is not known, expected {SCHEMA}")),
    }
}

fn set(file: SetFile) -> Result<Set, String> {
    let value = |(knob, value): (String, toml::Value)| Ok((template(&knob)?, plain(&knob, &value)?));
    Ok(Set {
        roles: roles(&file.roles)?,
        links: links(&file.links)?,
        rtt_ms: file.rtt_ms,
        values: file
            .values
            .into_iter()
            .map(value)
            .collect::<Result<_, String>>()?,
    })
}

pub(super) fn template(text: &str) -> Result<KnobTemplate, String> {
    KnobTemplate::parse(text).map_err(|error| error.to_string())
}

fn plain(knob: &str, value: &toml::Value) -> Result<Value, String> {
    match value {
        toml::Value::String(text) => Ok(Value::new(text)),
        toml::Value::Integer(number) => Ok(Value::from(*number)),
        other => Err(format!("{knob}: {other} is neither a number nor a text")),
    }
}

pub(super) fn roles(names: &[String]) -> Result<Vec<Role>, String> {
    all("roles", names, Role::from_name, &Role::ALL.map(Role::name))
}

pub(super) fn links(names: &[String]) -> Result<Vec<SpeedClass>, String> {
    all(
        "links",
        names,
        SpeedClass::from_name,
        &SpeedClass::ALL.map(SpeedClass::name),
    )
}

fn all<T>(
    key: &str,
    names: &[String],
    read: impl Fn(&str) -> Option<T>,
    known: &[&str],
) -> Result<Vec<T>, String> {
    let one =
        |name: &String| read(name).ok_or_else(|| format!("{key}: {name:?} is none of {}", known.join(", ")));
    names.iter().map(one).collect()
}
