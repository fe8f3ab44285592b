//! Names, lines of text, numbers and words out of a list.

use crate::catalog::draft::Placed;
use crate::catalog::problem::{Collector, Problem};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;

/// Where the speed goes in the name and the title of a profile for several speeds.
pub(in crate::catalog) const SPEED: &str = "{speed}";

/// A name: lower-case letters, digits and `-`, and `{speed}` where the profile is for several.
pub(super) fn name(name: &Spanned<String>, found: &mut Collector<'_>) -> Placed<String> {
    let text = name.get_ref();
    let rest = text.replacen(SPEED, "10g", 1);
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if rest.is_empty() || rest.len() > 48 || !rest.chars().all(plain) || rest.starts_with('-') {
        let what = format!("{text:?} is no name, expected 1 to 48 lower-case letters, digits and `-`");
        found.add(name.span(), "name", what, None);
    }
    found.placed(name.span(), text.clone())
}

/// A text that ends up in comments of generated files: one line that says something.
pub(super) fn line(
    text: Option<&Spanned<String>>,
    at: Range<usize>,
    key: &str,
    found: &mut Collector<'_>,
) -> String {
    let line = text
        .map(|text| text.get_ref().trim().to_owned())
        .unwrap_or_default();
    if line.is_empty() {
        // The title is no reason of a value.
        let lint = if ["why", "source"].contains(&key) {
            "no-source"
        } else {
            Problem::FORM
        };
        let hint = Some(format!("write `{key} = ...`, one line"));
        found.add_of(
            lint,
            at,
            key,
            "is missing or empty, and every value needs one",
            hint,
        );
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
pub(super) fn named<T: Display>(
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

/// A number within its range.
pub(super) fn number(
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

/// Speeds of a link.
const LINK_MBPS: RangeInclusive<u32> = 1..=800_000;

/// A speed in Mb/s, when it is given.
pub(super) fn mbps(value: &Option<Spanned<u32>>, key: &str, found: &mut Collector<'_>) -> Option<u32> {
    value
        .as_ref()
        .map(|value| number(value, key, LINK_MBPS, " Mb/s", found))
}

/// The slowest and the fastest link, in this order.
pub(super) fn mbps_range(
    min: &Option<Spanned<u32>>,
    max: &Option<Spanned<u32>>,
    found: &mut Collector<'_>,
) -> (Option<u32>, Option<u32>) {
    let (least, most) = (mbps(min, "min_mbps", found), mbps(max, "max_mbps", found));
    if let (Some(least), Some(most), Some(at)) = (least, most, max)
        && least > most
    {
        let what = format!("{most} is less than min_mbps, {least}");
        found.add(at.span(), "max_mbps", what, None);
    }
    (least, most)
}
