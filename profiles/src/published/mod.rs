//! What others publish: host tuning by role and link, as data with its source.
//!
//! It is compared with our profiles, by hand (`dtnforge profile diff`) and in the reference page. Where ours differs on
//! purpose, [`Differences`] says why, and a test fails for a difference that nobody has explained.

mod differences;
mod written;

pub use differences::{Difference, Differences};

use crate::catalog::{KnobTemplate, Profile};
use crate::conclude::SpeedClass;
use crate::site::{Role, Site};
use crate::value::Value;
use std::collections::BTreeMap;

/// Values by knob.
pub type Values = BTreeMap<KnobTemplate, Value>;

/// What one publication says.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The name that it is asked for by.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Where it was read.
    pub source: String,
    /// What a reader should know of it.
    pub note: Option<String>,
    /// Its values, by role and link.
    pub sets: Vec<Set>,
}

/// The hosts that values are for, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Audience {
    /// Their role.
    pub role: Option<Role>,
    /// The class of their links.
    pub link: Option<SpeedClass>,
}

/// The values for some hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Set {
    /// The roles that they are for; empty for every role.
    pub roles: Vec<Role>,
    /// The classes of links that they are for; empty for every link.
    pub links: Vec<SpeedClass>,
    /// The round-trip time that the buffers are for, ms, where the publication names one.
    pub rtt_ms: Option<u32>,
    /// A field `*` is one that the publication leaves open.
    pub values: Values,
}

/// What we know of the world, built into the program.
#[derive(Debug, Clone, PartialEq)]
pub struct Library {
    /// What others publish.
    pub published: Vec<Published>,
    /// What is live where a profile of ours says nothing, in the same form: the kernel's own values first, then the
    /// profiles of tuned that ours include.
    pub background: Vec<Published>,
    /// Why ours differs.
    pub differences: Differences,
}

/// A file of published values that cannot be read: a mistake in this program, found by its tests.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {why}")]
pub struct BadPublished {
    /// The file.
    pub file: String,
    /// What is wrong in it.
    pub why: String,
}

const PUBLISHED: &[(&str, &str)] = &[
    (
        "fasterdata-host.toml",
        include_str!("../../published/fasterdata-host.toml"),
    ),
    (
        "fasterdata-100g.toml",
        include_str!("../../published/fasterdata-100g.toml"),
    ),
    (
        "fasterdata-test-host.toml",
        include_str!("../../published/fasterdata-test-host.toml"),
    ),
    (
        "fasterdata-script.toml",
        include_str!("../../published/fasterdata-script.toml"),
    ),
    ("osg-script.toml", include_str!("../../published/osg-script.toml")),
    (
        "perfsonar-toolkit.toml",
        include_str!("../../published/perfsonar-toolkit.toml"),
    ),
    (
        "tuned-network-throughput.toml",
        include_str!("../../published/tuned-network-throughput.toml"),
    ),
];
const BACKGROUND: &[(&str, &str)] = &[
    (
        "kernel-debian-13.toml",
        include_str!("../../published/kernel-debian-13.toml"),
    ),
    (
        "tuned-throughput-performance.toml",
        include_str!("../../published/tuned-throughput-performance.toml"),
    ),
    (
        "tuned-virtual-guest.toml",
        include_str!("../../published/tuned-virtual-guest.toml"),
    ),
    (
        "tuned-latency-performance.toml",
        include_str!("../../published/tuned-latency-performance.toml"),
    ),
];
const DIFFERENCES: (&str, &str) = (
    "differences.toml",
    include_str!("../../published/differences.toml"),
);

impl Library {
    /// The library that is built into the program.
    ///
    /// # Errors
    /// Never in a program whose tests passed.
    pub fn embedded() -> Result<Self, BadPublished> {
        let read = |(file, text): &(&str, &str)| Published::parse(file, text);
        Ok(Self {
            published: PUBLISHED.iter().map(read).collect::<Result<_, _>>()?,
            background: BACKGROUND.iter().map(read).collect::<Result<_, _>>()?,
            differences: Differences::parse(DIFFERENCES.0, DIFFERENCES.1)?,
        })
    }

    /// The publication with this name, one of the background included.
    pub fn get(&self, name: &str) -> Option<&Published> {
        self.all().find(|published| published.name == name)
    }

    /// The value of a setting that is left alone, for each knob where it is known and the same on every machine.
    pub fn defaults(&self) -> Values {
        self.background.first().map(Published::values).unwrap_or_default()
    }

    /// All publications, and the background.
    pub fn all(&self) -> impl Iterator<Item = &Published> {
        self.published.iter().chain(&self.background)
    }
}

impl Published {
    /// Reads a file; `file` is its name in messages.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn parse(file: &str, text: &str) -> Result<Self, BadPublished> {
        written::read(text).map_err(|why| BadPublished {
            file: file.to_owned(),
            why,
        })
    }

    /// All its values, for a publication that has one set for every host.
    pub fn values(&self) -> Values {
        self.sets.iter().flat_map(|set| set.values.clone()).collect()
    }

    /// The values for a host; of several the ones for the nearest round-trip time, and the longer of two.
    pub fn for_host(&self, host: Audience, rtt_ms: u32) -> Option<&Set> {
        let fits = self.sets.iter().filter(|set| set.is_for(host));
        fits.min_by_key(|set| {
            let rtt = set.rtt_ms.unwrap_or(rtt_ms);
            (rtt.abs_diff(rtt_ms), std::cmp::Reverse(rtt))
        })
    }
}

impl Set {
    /// Whether it is for such a host. What is not known of the host fits only a set that does not ask.
    pub fn is_for(&self, host: Audience) -> bool {
        host.is_among(&self.roles, &self.links)
    }
}

impl Audience {
    /// The hosts that a profile is for. The site may say more: its role, and the speed of the link.
    pub fn of_profile(profile: &Profile, site: &Site) -> Self {
        let link = match profile.matching.speed_classes.as_slice() {
            [only] => Some(*only),
            _ => site.link_mbps.map(SpeedClass::of),
        };
        Self {
            role: site.role.or_else(|| profile.roles.first().copied()),
            link,
        }
    }

    /// Whether both lists have it; an empty list has every host.
    fn is_among(self, roles: &[Role], links: &[SpeedClass]) -> bool {
        let role_fits = roles.is_empty() || self.role.is_some_and(|role| roles.contains(&role));
        let link_fits = links.is_empty() || self.link.is_some_and(|link| links.contains(&link));
        role_fits && link_fits
    }
}

/// Whether a value is what a publication says: field by field, and `*` is any field.
pub fn agrees(value: &Value, published: &Value) -> bool {
    let fields = |value: &Value| value.as_str().split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (ours, theirs) = (fields(value), fields(published));
    ours.len() == theirs.len()
        && ours
            .iter()
            .zip(&theirs)
            .all(|(ours, theirs)| theirs == "*" || ours == theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Include;
    use crate::knob::KnobId;

    #[test]
    fn every_file_that_is_built_in_can_be_read_and_names_itself() {
        let library = Library::embedded().unwrap();
        for ((file, _), published) in PUBLISHED.iter().chain(BACKGROUND).zip(library.all()) {
            assert_eq!(*file, format!("{}.toml", published.name));
            assert!(!published.sets.is_empty(), "{file}");
        }
    }

    #[test]
    fn the_values_of_included_profiles_are_those_that_the_catalog_guards_against() {
        let library = Library::embedded().unwrap();
        for include in Include::ALL {
            let values = library
                .get(&format!("tuned-{}", include.name()))
                .unwrap()
                .values();
            for knob in values.keys().filter_map(KnobTemplate::host_knob) {
                let KnobId::Sysctl(key) = knob else { continue };
                let bytes = key.replace("_ratio", "_bytes");
                assert!(include.reset_of(&bytes).is_some(), "{}: {key}", include.name());
            }
        }
    }

    #[test]
    fn a_host_gets_the_set_of_its_role_link_and_nearest_round_trip_time() {
        let library = Library::embedded().unwrap();
        let rmem_max = |name: &str, role, link, rtt| {
            let set = library
                .get(name)
                .unwrap()
                .for_host(Audience { role, link }, rtt)?;
            let knob = KnobTemplate::parse("sysctl:net.core.rmem_max").unwrap();
            Some(set.values.get(&knob)?.as_str().to_owned())
        };
        let (dtn, g10) = (Some(Role::Dtn), Some(SpeedClass::G10));
        assert_eq!(rmem_max("osg-script", dtn, g10, 100).as_deref(), Some("67108864"));
        assert_eq!(
            rmem_max("osg-script", Some(Role::Perfsonar), g10, 100).as_deref(),
            Some("268435456")
        );
        assert_eq!(
            rmem_max("fasterdata-host", dtn, g10, 90).as_deref(),
            Some("67108864")
        );
        assert_eq!(
            rmem_max("fasterdata-host", dtn, g10, 150).as_deref(),
            Some("134217728")
        );
        assert_eq!(rmem_max("fasterdata-host", dtn, Some(SpeedClass::G25), 100), None);
        assert_eq!(rmem_max("osg-script", None, None, 100), None);
        assert_eq!(
            rmem_max("kernel-debian-13", None, None, 100).as_deref(),
            Some("212992")
        );
    }

    #[test]
    fn a_field_that_a_page_leaves_open_agrees_with_every_value() {
        let ours = Value::new("4096 131072 33554432");
        assert!(agrees(&ours, &"* * 33554432".into()));
        assert!(!agrees(&ours, &"* * 67108864".into()));
        assert!(!agrees(&ours, &"33554432".into()));
    }

    #[test]
    fn a_slip_in_a_file_is_named() {
        let head = "schema = 1\nname = 'x'\ntitle = 'X'\nsource = 's'\n[[set]]\n";
        for (body, expected) in [
            ("links = ['11G']\n", "links: \"11G\" is none of 100M, 1G,"),
            ("roles = ['disk']\n", "roles: \"disk\" is none of dtn,"),
            ("values = { 'sysctl:' = 1 }\n", "the key may hold"),
            (
                "values = { 'sysctl:vm.swappiness' = [1] }\n",
                "neither a number nor a text",
            ),
            ("value = 1\n", "unknown field `value`"),
        ] {
            let said = Published::parse("x.toml", &format!("{head}{body}"))
                .unwrap_err()
                .to_string();
            assert!(said.starts_with("x.toml: ") && said.contains(expected), "{said}");
        }
    }
}
