//! The answer of `profile diff`, as data and as text.

use dtnforge_profiles::compare::{Row, Setting, Side};
use dtnforge_profiles::published::Audience;
use serde::Serialize;
use std::fmt::{self, Write as _};

/// What differs, and what is the same.
#[derive(Serialize)]
pub(super) struct Compared {
    left: Head,
    right: Head,
    /// The hosts that published values were taken for.
    for_hosts: Option<Audience>,
    differ: Vec<Differing>,
    same: Vec<String>,
}

/// One of both sides.
#[derive(Serialize)]
struct Head {
    name: String,
    about: String,
}

/// A knob with two values.
#[derive(Serialize)]
struct Differing {
    #[serde(flatten)]
    row: Row,
    /// Why ours is another value than the published one.
    explained: Option<String>,
}

impl Compared {
    pub(super) fn of(
        (left, right): (&Side, &Side),
        for_hosts: Option<Audience>,
        rows: Vec<Row>,
        explain: impl Fn(&Row) -> Option<String>,
    ) -> Self {
        let (same, differ): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(Row::same);
        let differing = |row: Row| Differing {
            explained: explain(&row),
            row,
        };
        Self {
            left: Head::of(left),
            right: Head::of(right),
            for_hosts,
            differ: differ.into_iter().map(differing).collect(),
            same: same.into_iter().map(|row| row.knob).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "- {}: {}", self.left.name, self.left.about)?;
        writeln!(text, "+ {}: {}", self.right.name, self.right.about)?;
        self.write_hosts(text)?;
        for differing in &self.differ {
            writeln!(text, "\n{}", differing.row.knob)?;
            writeln!(text, "  - {}", said(&differing.row.left))?;
            writeln!(text, "  + {}", said(&differing.row.right))?;
            if let Some(why) = &differing.explained {
                writeln!(text, "  why: {why}")?;
            }
        }
        writeln!(
            text,
            "\n{} differ, {} are the same",
            self.differ.len(),
            self.same.len()
        )
    }

    fn write_hosts(&self, text: &mut String) -> fmt::Result {
        let hosts = self.for_hosts.unwrap_or_default();
        let role = hosts.role.map(|role| format!("role {role}"));
        let link = hosts.link.map(|link| format!("{link} link"));
        let hosts: Vec<String> = role.into_iter().chain(link).collect();
        match hosts.is_empty() {
            true => Ok(()),
            false => writeln!(text, "published for {}", hosts.join(", ")),
        }
    }
}

impl Head {
    fn of(side: &Side) -> Self {
        Self {
            name: side.name.clone(),
            about: side.about.clone(),
        }
    }
}

fn said(setting: &Option<Setting>) -> String {
    let Some(setting) = setting else {
        return "left alone".to_owned();
    };
    let mut said = setting
        .value
        .as_ref()
        .map_or("not set".to_owned(), ToString::to_string);
    let why = if setting.why.is_empty() {
        &setting.source
    } else {
        &setting.why
    };
    if !why.is_empty() {
        let _ = write!(said, "  ({why})");
    }
    said
}
