//! The entries `[[knob]]` and `[[advice]]`.

use super::text::{line, mbps_range, named, number};
use crate::catalog::draft::DraftLine;
use crate::catalog::problem::Collector;
use crate::catalog::profile::{Advice, KnobLine};
use crate::catalog::template::{KnobTemplate, ValueTemplate};
use crate::catalog::written::{AdviceFile, KnobFile};
use crate::conclude::StorageClass;
use crate::knob::{KnobDef, REGISTRY};
use crate::suggest::nearest;
use std::ops::Range;
use toml::Spanned;

pub(super) fn knob(file: &KnobFile, found: &mut Collector<'_>) -> Option<DraftLine> {
    let why = line(
        file.why.as_ref(),
        place_of(file.why.as_ref(), &file.id),
        "why",
        found,
    );
    let source = line(
        file.source.as_ref(),
        place_of(file.source.as_ref(), &file.id),
        "source",
        found,
    );
    let (id, definition) = id(&file.id, found)?;
    unit(file, definition, found);
    let value = value(&file.value, found)?;
    let ram_divisor = file.ram_divisor.as_ref();
    let (min_mbps, max_mbps) = mbps_range(&file.min_mbps, &file.max_mbps, found);
    let line = KnobLine {
        only_raise: file.only_raise.unwrap_or(false) || value.uses_buffer(),
        id,
        definition,
        value,
        ram_divisor: ram_divisor.map(|divisor| number(divisor, "ram_divisor", 2..=4096, "", found)),
        min_mbps,
        max_mbps,
        why,
        source,
        inherited_from: file.inherited_from.as_ref().map(|base| base.get_ref().clone()),
    };
    Some(DraftLine {
        line,
        id_at: found.place(file.id.span()),
        value_at: found.place(file.value.span()),
    })
}

/// Where a text stands, or where the entry that lacks it begins.
fn place_of(text: Option<&Spanned<String>>, entry: &Spanned<String>) -> Range<usize> {
    text.map_or_else(|| entry.span(), Spanned::span)
}

fn id(id: &Spanned<String>, found: &mut Collector<'_>) -> Option<(KnobTemplate, &'static KnobDef)> {
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
            let what = format!("{:?} is not in the registry of knobs", id.get_ref());
            found.add_of("unknown-key", id.span(), "id", what, hint);
            None
        }
    }
}

fn unit(file: &KnobFile, definition: &KnobDef, found: &mut Collector<'_>) {
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

fn value(value: &Spanned<toml::Value>, found: &mut Collector<'_>) -> Option<ValueTemplate> {
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

pub(super) fn advice(file: &AdviceFile, found: &mut Collector<'_>) -> Advice {
    let mut text = |text: &Spanned<String>, key| line(Some(text), text.span(), key, found);
    let (set, place) = (text(&file.set, "set"), text(&file.r#where, "where"));
    let (why, source) = (text(&file.why, "why"), text(&file.source, "source"));
    let storage = named(
        &file.storage,
        "storage",
        StorageClass::from_name,
        &StorageClass::ALL,
        found,
    );
    Advice {
        set,
        place,
        storage,
        why,
        source,
    }
}
