//! SHA-256 digests as text: the name of layers, plans and artefacts.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest, 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// The text is no SHA-256 digest.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a SHA-256 digest: expected 64 hexadecimal digits")]
pub struct BadDigest(String);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_bytes(&Sha256::digest(bytes))
    }

    /// The text form of 32 raw bytes, as a hasher returns them.
    pub fn from_bytes(raw: &[u8]) -> Self {
        Self(raw.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, for people and file names.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl TryFrom<String> for Digest {
    type Error = BadDigest;
    fn try_from(text: String) -> Result<Self, BadDigest> {
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if text.len() == 64 && text.chars().all(hex) {
            Ok(Self(text))
        } else {
            Err(BadDigest(text))
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
