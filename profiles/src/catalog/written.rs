//! A profile as it stands in its file: every key spelled out, nothing else allowed, each value with its place.

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// The whole file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileFile {
    pub(super) schema: Spanned<u32>,
    pub(super) name: Spanned<String>,
    pub(super) title: Spanned<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<Spanned<bool>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) extends: Vec<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) speeds: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) roles: Vec<Spanned<String>>,
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub(super) matching: Option<Spanned<MatchFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) buffer: Option<Spanned<BufferFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tuned: Option<TunedFile>,
    #[serde(default, rename = "knob")]
    pub(super) knobs: Vec<KnobFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) advice: Vec<AdviceFile>,
}

/// `[match]`: the hosts that the profile is for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatchFile {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) speed_classes: Vec<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min_mbps: Option<Spanned<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_mbps: Option<Spanned<u32>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) storage: Vec<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) virtualised: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) drivers: Vec<Spanned<String>>,
}

/// `[buffer]`: what the buffer formula is fed with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) speed_mbps: Option<Spanned<u32>>,
    pub(super) streams: Spanned<u32>,
    pub(super) ram_divisor: Spanned<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) most: Vec<BoundFile>,
}

/// One entry of `most`: an upper bound that holds from a speed on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundFile {
    pub(super) from_mbps: Spanned<u32>,
    pub(super) mib: Spanned<u32>,
}

/// `[tuned]`: our tuned profile.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TunedFile {
    pub(super) include: Spanned<String>,
    /// Where it is missing, it is what has to be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<Vec<Spanned<String>>>,
}

/// `[[knob]]`: one value.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnobFile {
    pub(super) id: Spanned<String>,
    pub(super) value: Spanned<toml::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) only_raise: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ram_divisor: Option<Spanned<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min_mbps: Option<Spanned<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_mbps: Option<Spanned<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Spanned<String>>,
    /// Only in the profile of a layer: the base that the entry was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inherited_from: Option<Spanned<String>>,
}

/// `[[advice]]`: what only an admin can set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdviceFile {
    pub(super) set: Spanned<String>,
    pub(super) r#where: Spanned<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) storage: Vec<Spanned<String>>,
    pub(super) why: Spanned<String>,
    pub(super) source: Spanned<String>,
}
