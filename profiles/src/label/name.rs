//! The name of a label, which is also the name of its file.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Longest name, so that the file's name with its suffix fits any file system.
const LONGEST: usize = 64;

/// A name that is safe as a file name: lower-case letters, digits and `.`, `_`, `-` between them, 1 to 64 in all, a
/// letter or digit first and last.
///
/// Lower case only: two labels never differ in case alone, on any file system and to any reader.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// The text is no label.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is no label: {why}{hint}")]
pub struct BadLabel {
    text: String,
    why: &'static str,
    hint: String,
}

impl Label {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn fault(text: &str) -> Option<&'static str> {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.is_empty() {
        return Some("expected 1 to 64 characters");
    }
    if text.len() > LONGEST {
        return Some("expected at most 64 characters");
    }
    if text.chars().any(|c| c.is_ascii_uppercase()) {
        return Some("expected lower case, so that no two labels differ in case alone");
    }
    if !text.chars().all(|c| edge(c) || "._-".contains(c)) {
        return Some("expected letters, digits, `.`, `_` and `-`");
    }
    if !text.starts_with(edge) || !text.ends_with(edge) {
        return Some("expected a letter or digit at both ends");
    }
    None
}

impl FromStr for Label {
    type Err = BadLabel;
    fn from_str(text: &str) -> Result<Self, BadLabel> {
        let Some(why) = fault(text) else {
            return Ok(Self(text.to_owned()));
        };
        // Only a name that would do in lower case is worth a proposal.
        let lower = text.to_ascii_lowercase();
        let hint = if lower != text && fault(&lower).is_none() {
            format!("\nhint: {lower}")
        } else {
            String::new()
        };
        Err(BadLabel {
            text: text.chars().take(80).collect(),
            why,
            hint,
        })
    }
}

impl TryFrom<String> for Label {
    type Error = BadLabel;
    fn try_from(text: String) -> Result<Self, BadLabel> {
        text.parse()
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_could_leave_their_directory_or_hide_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc/passwd",
            "a\0b",
            "a\nb",
            ".hidden",
            "-rf",
            "a b",
            "a;b",
            "$x",
            "é",
            "x.",
            "x-",
        ] {
            assert!(bad.parse::<Label>().is_err(), "{bad:?} was accepted");
        }
        assert!("a".repeat(65).parse::<Label>().is_err());
        for good in ["a", "before-tuning", "2026-11-30_site.1", &"a".repeat(64)] {
            assert_eq!(good.parse::<Label>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn a_name_in_upper_case_is_refused_with_the_one_that_would_do() {
        assert_eq!(
            "Before-Tuning".parse::<Label>().unwrap_err().to_string(),
            "\"Before-Tuning\" is no label: expected lower case, so that no two labels differ in case alone\n\
             hint: before-tuning"
        );
        assert!(!"../X".parse::<Label>().unwrap_err().to_string().contains("hint"));
    }

    proptest! {
        #[test]
        fn every_label_is_one_file_name(text in ".{0,80}") {
            if let Ok(label) = text.parse::<Label>() {
                let file = std::path::Path::new(label.as_str());
                prop_assert_eq!(file.components().count(), 1);
                prop_assert_eq!(file.file_name().unwrap().to_str().unwrap(), label.as_str());
            }
        }
    }
}
