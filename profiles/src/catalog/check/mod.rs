//! From a file as written to a draft: every field on its own.
//!
//! What several fields say together is looked at in [`super::lint`], once the bases are put in.

mod line;
mod tables;
mod text;

pub(super) use text::SPEED;

use super::draft::{Draft, Placed};
use super::problem::{Collector, Problems};
use super::profile::PROFILE_SCHEMA;
use super::written::ProfileFile;
use crate::conclude::SpeedClass;
use crate::site::Role;
use toml::Spanned;

/// Reads one file of a catalog.
///
/// # Errors
/// All that is wrong in the file, each with its line and key.
pub(super) fn read(file: &str, text: &str) -> Result<Draft, Problems> {
    let mut found = Collector::new(file, text);
    let written: ProfileFile = match toml::from_str(text) {
        Ok(written) => written,
        Err(error) => {
            found.add_toml(&error);
            return Err(found.into_problems());
        }
    };
    check_schema(&written.schema, &mut found);
    let draft = draft(&written, &mut found);
    check_kind(&written, &mut found);
    found.finish(draft)
}

fn check_schema(schema: &Spanned<u32>, found: &mut Collector<'_>) {
    let number = schema.get_ref();
    if *number != PROFILE_SCHEMA {
        let what = format!("{number} is a form that this version does not know, expected {PROFILE_SCHEMA}");
        found.add(schema.span(), "schema", what, None);
    }
}

fn draft(written: &ProfileFile, found: &mut Collector<'_>) -> Draft {
    let title = text::line(Some(&written.title), written.title.span(), "title", found);
    let matching = written.matching.as_ref();
    let buffer = written.buffer.as_ref();
    Draft {
        name: text::name(&written.name, found),
        title: found.placed(written.title.span(), title),
        is_base: written.base.as_ref().is_some_and(|base| *base.get_ref()),
        extends: written
            .extends
            .iter()
            .map(|base| found.placed(base.span(), base.get_ref().clone()))
            .collect(),
        speeds: speeds(&written.speeds, found),
        roles: text::named(&written.roles, "roles", Role::from_name, &Role::ALL, found),
        matching: matching.map(|file| {
            let value = tables::matching(file.get_ref(), found);
            found.placed(file.span(), value)
        }),
        buffer: buffer.map(|file| {
            let value = tables::buffer(file.get_ref(), found);
            found.placed(file.span(), value)
        }),
        tuned: written.tuned.as_ref().and_then(|file| tables::tuned(file, found)),
        lines: written
            .knobs
            .iter()
            .filter_map(|file| line::knob(file, found))
            .collect(),
        advice: written
            .advice
            .iter()
            .map(|file| line::advice(file, found))
            .collect(),
    }
}

fn speeds(names: &[Spanned<String>], found: &mut Collector<'_>) -> Vec<Placed<SpeedClass>> {
    let mut speeds = Vec::new();
    for name in names {
        let known = text::named(
            std::slice::from_ref(name),
            "speeds",
            SpeedClass::from_name,
            &SpeedClass::ALL,
            found,
        );
        for class in known {
            if class.mbps().is_none() {
                found.add(
                    name.span(),
                    "speeds",
                    "an unknown speed is no class of hosts",
                    None,
                );
            }
            speeds.push(found.placed(name.span(), class));
        }
    }
    speeds
}

/// What a base, and a profile for several speeds, must and must not have.
fn check_kind(written: &ProfileFile, found: &mut Collector<'_>) {
    let is_base = written.base.as_ref().is_some_and(|base| *base.get_ref());
    if is_base && (!written.roles.is_empty() || written.matching.is_some() || !written.speeds.is_empty()) {
        let what = "a base has no roles, no speeds and no [match]: it only serves to be extended";
        found.add(written.name.span(), "base", what, None);
    }
    if let (true, Some(first)) = (is_base, written.extends.first()) {
        let what = "a base extends nothing: what a profile inherits is one level away";
        found.add(first.span(), "extends", what, None);
    }
    check_speeds(written, found);
}

fn check_speeds(written: &ProfileFile, found: &mut Collector<'_>) {
    let several = !written.speeds.is_empty();
    for (text, key) in [(&written.name, "name"), (&written.title, "title")] {
        if text.get_ref().contains(SPEED) != several {
            let what =
                format!("a profile with `speeds`, and only such a one, has {SPEED} in its name and title");
            found.add(text.span(), key, what, None);
        }
    }
    if !several {
        return;
    }
    if let Some(matching) = &written.matching
        && let Some(class) = matching.get_ref().speed_classes.first()
    {
        let what = "the classes follow from `speeds`";
        found.add(class.span(), "speed_classes", what, Some("remove it".to_owned()));
    }
    if let Some(buffer) = &written.buffer
        && let Some(mbps) = &buffer.get_ref().speed_mbps
    {
        let what = "the speed follows from `speeds`";
        found.add(mbps.span(), "speed_mbps", what, Some("remove it".to_owned()));
    }
}
