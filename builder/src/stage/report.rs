//! What each stage of a build did, why, and how long it took.

use serde::Serialize;
use std::fmt;

/// How many changed inputs are named before the rest is counted.
const NAMED: usize = 3;

/// What a stage did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// Its output was there.
    Cached,
    /// It ran.
    Ran,
}

/// Why a stage ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason", content = "inputs")]
pub enum Why {
    /// This spec was never built here.
    FirstBuild,
    /// These inputs changed since the last build of this spec.
    Changed(Vec<String>),
    /// The inputs are those of the last build, but the output is not there or is not as it was written.
    OutputGone,
}

/// One stage of one build.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageReport {
    /// Name.
    pub stage: &'static str,
    /// What it did.
    pub did: Did,
    /// Why it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// How long it took.
    pub seconds: f64,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstBuild => f.write_str("first build of this spec"),
            Self::OutputGone => f.write_str("its output is gone or was changed by others"),
            Self::Changed(names) => {
                write!(
                    f,
                    "changed: {}",
                    names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ")
                )?;
                match names.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
        }
    }
}

impl fmt::Display for StageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let did = match self.did {
            Did::Cached => "cached",
            Did::Ran => "ran",
        };
        write!(f, "{:<9} {did:<6} {:>6.1} s", self.stage, self.seconds)?;
        match &self.why {
            Some(why) => write!(f, "  {why}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_ran_how_long_and_why() {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let report = StageReport {
            stage: "layers",
            did: Did::Ran,
            why: Some(Why::Changed(names)),
            seconds: 0.25,
        };
        assert_eq!(
            report.to_string(),
            "layers    ran       0.2 s  changed: a, b, c and 2 more"
        );
        let report = StageReport {
            stage: "packages",
            did: Did::Cached,
            why: None,
            seconds: 0.0,
        };
        assert_eq!(report.to_string(), "packages  cached    0.0 s");
    }
}
