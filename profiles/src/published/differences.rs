//! Why ours differs from what others publish: one entry for a knob, the publications and the hosts.

use super::written::{known_schema, links, roles, template};
use super::{Audience, BadPublished};
use crate::catalog::KnobTemplate;
use crate::conclude::SpeedClass;
use crate::site::Role;
use serde::Deserialize;

/// Why one knob has another value with us. An empty list holds for all.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The knobs that it speaks of.
    pub knobs: Vec<KnobTemplate>,
    /// Names of publications.
    pub against: Vec<String>,
    /// Roles.
    pub roles: Vec<Role>,
    /// Classes of links.
    pub links: Vec<SpeedClass>,
    /// The reason, in one sentence or two.
    pub why: String,
}

/// All explanations, in the order of the file; the first that fits counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences(pub Vec<Difference>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DifferencesFile {
    schema: u32,
    difference: Vec<DifferenceFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DifferenceFile {
    knobs: Vec<String>,
    #[serde(default)]
    against: Vec<String>,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    links: Vec<String>,
    why: String,
}

impl Differences {
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, BadPublished> {
        read(text).map_err(|why| BadPublished {
            file: file.to_owned(),
            why,
        })
    }

    /// The explanation for one difference, with its number from 0.
    pub fn find(&self, knob: &KnobTemplate, against: &str, host: Audience) -> Option<(usize, &Difference)> {
        let mut numbered = self.0.iter().enumerate();
        numbered.find(|(_, difference)| difference.is_for(knob, against, host))
    }
}

impl Difference {
    fn is_for(&self, knob: &KnobTemplate, against: &str, host: Audience) -> bool {
        let named = self.against.is_empty() || self.against.iter().any(|name| name == against);
        self.knobs.contains(knob) && named && host.is_among(&self.roles, &self.links)
    }
}

fn read(text: &str) -> Result<Differences, String> {
    let file: DifferencesFile = toml::from_str(text).map_err(|error| error.to_string())?;
    known_schema(file.schema)?;
    let one = |file: DifferenceFile| {
        Ok(Difference {
            knobs: file
                .knobs
                .iter()
                .map(|knob| template(knob))
                .collect::<Result<_, _>>()?,
            against: file.against,
            roles: roles(&file.roles)?,
            links: links(&file.links)?,
            why: file.why,
        })
    };
    Ok(Differences(
        file.difference
            .into_iter()
            .map(one)
            .collect::<Result<_, String>>()?,
    ))
}
