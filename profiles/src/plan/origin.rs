//! Where a value comes from, for people who wonder why it is not another one.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the line of a value stands, and what made the value out of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The base that the profile has the line from; `None` for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<String>,
    /// What made the value.
    #[serde(default)]
    pub value: ValueOrigin,
}

/// What made a value out of a profile's line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueOrigin {
    /// It stands so in the file.
    #[default]
    Written,
    /// The buffer formula.
    Formula,
    /// A decision of the site: the key in `site.toml`.
    Site(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inherited_from {
            Some(base) => write!(f, "inherited from {base}")?,
            None => write!(f, "own")?,
        }
        match &self.value {
            ValueOrigin::Written => Ok(()),
            ValueOrigin::Formula => write!(f, ", by the buffer formula"),
            ValueOrigin::Site(key) => write!(f, ", set by the site (key `{key}`)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_reads_as_a_phrase() {
        let origin = |base: Option<&str>, value| Origin {
            inherited_from: base.map(str::to_owned),
            value,
        };
        for (origin, expected) in [
            (Origin::default(), "own"),
            (
                origin(Some("base-tcp"), ValueOrigin::Formula),
                "inherited from base-tcp, by the buffer formula",
            ),
            (
                origin(None, ValueOrigin::Site("mtu".to_owned())),
                "own, set by the site (key `mtu`)",
            ),
        ] {
            assert_eq!(origin.to_string(), expected);
        }
    }
}
