//! The moment at which something is done to a running guest: a time, or a line on its console.

use std::str::FromStr;
use std::time::Duration;

use regex::Regex;

use super::fields::FieldError;

/// What the text form looks like.
const EXPECTED: &str =
    "SECONDSs since the power came on, or /REGEX/ for a line of the console, such as 60s or /login:/";

/// A moment.
#[derive(Debug, Clone)]
pub enum When {
    /// So long after the guest was first switched on.
    After(Duration),
    /// When a console line matches.
    Line(Regex),
}

impl FromStr for When {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<When, FieldError> {
        if let Some(pattern) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            let pattern = Regex::new(pattern).map_err(|error| FieldError(error.to_string()))?;
            return Ok(When::Line(pattern));
        }
        let seconds = text.strip_suffix('s').and_then(|number| number.parse().ok());
        seconds
            .map(|seconds| When::After(Duration::from_secs(seconds)))
            .ok_or_else(|| FieldError(format!("{text:?}: expected {EXPECTED}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_pattern() {
        assert!(matches!("60s".parse(), Ok(When::After(time)) if time == Duration::from_secs(60)));
        let When::Line(pattern) = "/a@b/c/".parse().unwrap() else {
            panic!("not a pattern");
        };
        assert_eq!(pattern.as_str(), "a@b/c");
    }

    #[test]
    fn what_is_no_moment_is_refused_with_both_forms() {
        for text in ["", "60", "s", "/", "-1s", "login:"] {
            let error = text.parse::<When>().unwrap_err().0;
            assert!(error.contains("such as 60s or /login:/"), "{text}: {error}");
        }
        assert!("/(/".parse::<When>().unwrap_err().0.contains("unclosed group"));
    }
}
