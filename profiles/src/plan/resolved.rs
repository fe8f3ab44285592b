//! A profile without a host: its lines with the buffer formula and the site's own choices put in.

use super::offline::offline_target;
use super::origin::Origin;
use super::wanted::Inputs;
use crate::catalog::{KnobLine, Profile};
use crate::conclude::conclude;
use crate::facts::Facts;
use crate::site::Site;
use crate::value::Value;

/// What a line of a profile comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved<'a> {
    /// The line.
    pub line: &'a KnobLine,
    /// Its value; or why there is none, for instance because it is for faster links.
    pub value: Result<Value, String>,
    /// The reason, with the formula's numbers.
    pub why: String,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Every line of a profile, as far as profile and site tell. The speed of the link is the profile's own, or the one that
/// the site states; memory and devices are not looked at.
pub fn resolve<'a>(profile: &'a Profile, site: &Site) -> Vec<Resolved<'a>> {
    let facts = Facts::default();
    let mut seen = conclude(&facts, site);
    seen.link_mbps = site.link_mbps;
    let target = offline_target(&facts);
    let inputs = Inputs {
        profile,
        facts: &facts,
        seen: &seen,
        site,
        target: &target,
    };
    let one = |line: &'a KnobLine| match inputs.wanted(line, line.id.stand_in()) {
        Ok(wanted) => Resolved {
            line,
            value: Ok(wanted.value),
            why: wanted.why,
            origin: wanted.origin,
        },
        Err(why) => Resolved {
            line,
            value: Err(why),
            why: line.why.clone(),
            origin: Origin {
                inherited_from: line.inherited_from.clone(),
                ..Origin::default()
            },
        },
    };
    profile.knobs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::site::SiteFile;

    fn resolved(name: &str, site: &str) -> Vec<(String, Result<Value, String>, String)> {
        let site = toml::from_str::<SiteFile>(site).unwrap().check().unwrap();
        let catalog = Catalog::embedded().unwrap();
        let lines = resolve(catalog.get(name).unwrap(), &site);
        lines
            .into_iter()
            .map(|line| (line.line.id.to_string(), line.value, line.origin.to_string()))
            .collect()
    }

    fn value(name: &str, site: &str, knob: &str) -> (Result<Value, String>, String) {
        let lines = resolved(name, site);
        let (_, value, origin) = lines.into_iter().find(|(id, ..)| id == knob).unwrap();
        (value, origin)
    }

    #[test]
    fn the_formula_and_the_site_are_put_in_and_the_origin_says_so() {
        let (value, origin) = value(
            "dtn-vm",
            "link_mbps = 10000\nrtt_ms = 200",
            "sysctl:net.core.rmem_max",
        );
        assert_eq!(value, Ok("67108864".into()));
        assert_eq!(origin, "inherited from base-tcp, by the buffer formula");
    }

    #[test]
    fn a_line_without_a_value_says_why() {
        let (ring, _) = value("perfsonar", "link_mbps = 1000", "nic/<data>:ring.rx");
        let why = ring.unwrap_err();
        assert!(
            why.contains("for links of 10000 Mb/s and more, and this one has 1000"),
            "{why}"
        );
        let (buffer, _) = value("dtn-vm", "", "sysctl:net.core.rmem_max");
        assert_eq!(buffer, Err("the speed of the link is not known".to_owned()));
        let (ring, origin) = value("perfsonar", "link_mbps = 10000", "nic/<data>:ring.rx");
        assert_eq!(
            (ring, origin.as_str()),
            (Ok("2048".into()), "inherited from base-metal")
        );
    }
}
