//! What a profile writes where a host has a device or a number: `nic/<data>:ring.rx` and `4096 131072 {buffer}`.

use crate::device::DeviceId;
use crate::knob::{BadKnobId, KnobDef, KnobId, definition_of};
use crate::value::Value;
use std::fmt;

/// Which devices of a host a knob of a profile is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The host as a whole.
    Host,
    /// Each physical port that carries data.
    DataNics,
    /// Each disk that holds data.
    DataDisks,
}

/// A knob as a profile names it: a [`KnobId`], with `<data>` where a device would stand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnobTemplate {
    /// The name with the stand-in device in place of `<data>`.
    stand_in: KnobId,
}

/// A device name that no host has; it only serves to parse the rest of the knob's name.
const STAND_IN: &str = "data";
const PLACEHOLDER: &str = "<data>";

impl KnobTemplate {
    /// Reads `sysctl:...`, `nic/<data>:...`, `qdisc/<data>:...`, `block/<data>:...` and so on.
    ///
    /// # Errors
    /// The text is no knob, or names a certain device: a profile is for a class of hosts.
    pub fn parse(text: &str) -> Result<Self, BadKnobTemplate> {
        let stand_in: KnobId = text.replacen(PLACEHOLDER, STAND_IN, 1).parse()?;
        if stand_in.device().is_some() && !text.contains(&format!("/{PLACEHOLDER}:")) {
            return Err(BadKnobTemplate::CertainDevice(text.to_owned()));
        }
        if stand_in.device().is_none() && text.contains(PLACEHOLDER) {
            return Err(BadKnobTemplate::NoDevice(text.to_owned()));
        }
        Ok(Self { stand_in })
    }

    /// The devices that it is for.
    pub fn target(&self) -> Target {
        match self.stand_in {
            KnobId::Nic(..) | KnobId::Qdisc(..) => Target::DataNics,
            KnobId::Block(..) => Target::DataDisks,
            _ => Target::Host,
        }
    }

    /// The knob of one device, or the knob itself when it belongs to none.
    pub fn knob_of(&self, device: &DeviceId) -> KnobId {
        match &self.stand_in {
            KnobId::Nic(_, key) => KnobId::Nic(device.clone(), key.clone()),
            KnobId::Qdisc(_, key) => KnobId::Qdisc(device.clone(), key.clone()),
            KnobId::Block(_, key) => KnobId::Block(device.clone(), key.clone()),
            other => other.clone(),
        }
    }

    /// The knob itself, for knobs of the whole host.
    pub fn host_knob(&self) -> Option<&KnobId> {
        (self.target() == Target::Host).then_some(&self.stand_in)
    }

    /// The knob itself, or that of a device which no host has.
    pub(crate) fn stand_in(&self) -> &KnobId {
        &self.stand_in
    }

    /// The registry's entry for it.
    pub fn definition(&self) -> Option<&'static KnobDef> {
        definition_of(&self.stand_in)
    }
}

impl fmt::Display for KnobTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.stand_in.pattern().replacen("<dev>", PLACEHOLDER, 1))
    }
}

/// The text names no knob of a profile.
#[derive(Debug, thiserror::Error)]
pub enum BadKnobTemplate {
    /// It is no knob at all.
    #[error(transparent)]
    Knob(#[from] BadKnobId),
    /// It names one device.
    #[error("{0:?} names one device, and a profile is for a class of hosts")]
    CertainDevice(String),
    /// It has a place for a device where none belongs.
    #[error("{0:?} has `<data>`, and a knob of this kind belongs to no device")]
    NoDevice(String),
}

/// A value of a profile: text, with `{buffer}` where the buffer formula's result goes; or one of the site's decisions,
/// `{mtu}`, `{pause}` or `{pacing_mbps}`, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueTemplate(String);

/// Where the result of the buffer formula goes.
const BUFFER: &str = "{buffer}";

/// A decision of the site that makes a value of its own. Without it the knob is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteChoice {
    /// MTU of the data ports.
    Mtu,
    /// Pause frames of the data ports.
    Pause,
    /// Rate of a flow of a data port.
    Pacing,
}

impl SiteChoice {
    /// The key in `site.toml`, and the name in braces.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mtu => "mtu",
            Self::Pause => "pause",
            Self::Pacing => "pacing_mbps",
        }
    }
}

impl ValueTemplate {
    /// Reads it.
    ///
    /// # Errors
    /// A name in braces that is not known, or a control character.
    pub fn parse(text: &str) -> Result<Self, BadValueTemplate> {
        let template = Self(Value::new(text).as_str().to_owned());
        let rest = text.replace(BUFFER, "");
        if rest.contains(['{', '}']) && template.decision().is_none() {
            return Err(BadValueTemplate::UnknownName(text.to_owned()));
        }
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(BadValueTemplate::NotOneLine(text.to_owned()));
        }
        Ok(template)
    }

    /// Whether the buffer formula is used.
    pub fn uses_buffer(&self) -> bool {
        self.0.contains(BUFFER)
    }

    /// The decision of the site that is the value.
    pub fn decision(&self) -> Option<SiteChoice> {
        match self.0.as_str() {
            "{mtu}" => Some(SiteChoice::Mtu),
            "{pause}" => Some(SiteChoice::Pause),
            "{pacing_mbps}" => Some(SiteChoice::Pacing),
            _ => None,
        }
    }

    /// The value with `buffer` bytes in the place of `{buffer}`; `None` when it needs a buffer and there is none, or when
    /// it is the site's decision.
    pub fn resolve(&self, buffer: Option<i64>) -> Option<Value> {
        match buffer {
            _ if self.decision().is_some() => None,
            Some(bytes) => Some(Value::new(&self.0.replace(BUFFER, &bytes.to_string()))),
            None => (!self.uses_buffer()).then(|| Value::new(&self.0)),
        }
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is no value of a profile.
#[derive(Debug, thiserror::Error)]
pub enum BadValueTemplate {
    /// Something unknown in braces.
    #[error(
        "{0:?} has braces that are not `{{buffer}}`, nor `{{mtu}}`, `{{pause}}` or `{{pacing_mbps}}` alone"
    )]
    UnknownName(String),
    /// Empty, or more than one line.
    #[error("{0:?} is empty or has control characters")]
    NotOneLine(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_data_device_gets_its_own_knob() {
        let template = KnobTemplate::parse("nic/<data>:ring.rx").unwrap();
        let device: DeviceId = "0000:01:00.0+52:54:00:12:34:56".parse().unwrap();
        assert_eq!(template.target(), Target::DataNics);
        assert_eq!(
            template.knob_of(&device).to_string(),
            "nic/0000:01:00.0+52:54:00:12:34:56:ring.rx"
        );
        assert_eq!(template.to_string(), "nic/<data>:ring.rx");
    }

    #[test]
    fn a_certain_device_or_a_place_for_none_is_refused() {
        for (text, expected) in [
            ("nic/eth0:ring.rx", "names one device"),
            ("sysctl:<data>", "belongs to no device"),
            ("nic/<dev>:ring.rx", "character outside"),
        ] {
            let error = KnobTemplate::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_buffer_goes_where_it_is_named() {
        let value = ValueTemplate::parse("4096 131072  {buffer}").unwrap();
        assert_eq!(
            value.resolve(Some(33_554_432)),
            Some("4096 131072 33554432".into())
        );
        assert_eq!(value.resolve(None), None);
        for text in ["{rtt}", "9{mtu}", "{buffer} {mtu}"] {
            let said = ValueTemplate::parse(text).unwrap_err().to_string();
            assert!(said.contains("braces"), "{said}");
        }
        let mtu = ValueTemplate::parse("{mtu}").unwrap();
        assert_eq!(
            (mtu.decision(), mtu.resolve(Some(1))),
            (Some(SiteChoice::Mtu), None)
        );
    }
}
