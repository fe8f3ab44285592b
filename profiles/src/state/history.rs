//! What happened before: states entered, and what was done to the boot counter.

use serde::{Deserialize, Serialize};

/// One line of history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryEntry {
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
    /// The boot.
    pub boot_id: String,
    /// Name of the state that was entered: `baseline`, `trial`, `committed`, ...
    pub entered: String,
    /// Profile, when one is involved.
    pub profile: Option<String>,
    /// Why.
    pub reason: String,
}

/// What this node did to the boot counter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counting {
    /// When it was last armed by us; `None` as long as it is the image's own.
    #[serde(default)]
    pub armed: Option<Armed>,
    /// Why it could not be armed, when it should be and is not.
    #[serde(default)]
    pub failure: Option<String>,
    /// How often the node tried again by itself after a fallback, since a tuned boot was good.
    #[serde(default)]
    pub retried: u32,
}

/// An arming of the boot counter: the boots after it are its tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Armed {
    /// The boot in which it was armed.
    pub boot_id: String,
    /// Seconds since 1970, UTC, by the host's clock.
    pub at: i64,
}
