//! The text grammar of a knob's name.
//!
//! ```text
//! sysctl:net.ipv4.tcp_rmem        a sysctl key; a dot inside a name is written as a slash (conf.eth0/100.mtu)
//! nic/<dev>:ring.rx               a NIC setting, <dev> a `DeviceId`
//! qdisc/<dev>:leaf                the qdisc under each transmit queue
//! block/<dev>:read_ahead_kb       a block queue attribute
//! tuned:profile                   the active tuned profile
//! cpu:governor                    a policy of all CPUs
//! boot:iommu                      a kernel command line word
//! ```
//!
//! In a profile `<dev>` is a class instead of a device: `<data>` stands for each data NIC or data disk.

use crate::device::DeviceId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of one knob of one device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum KnobId {
    /// A sysctl key in dotted form.
    Sysctl(String),
    /// A NIC setting.
    Nic(DeviceId, String),
    /// A queue discipline setting of a NIC.
    Qdisc(DeviceId, String),
    /// A block queue attribute.
    Block(DeviceId, String),
    /// A setting of tuned.
    Tuned(String),
    /// A CPU policy.
    Cpu(String),
    /// A kernel command line word.
    Boot(String),
}

/// The text names no knob.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is no knob: {why}")]
pub struct BadKnobId {
    text: String,
    why: String,
}

impl KnobId {
    /// The device, for knobs that belong to one.
    pub fn device(&self) -> Option<&DeviceId> {
        match self {
            KnobId::Nic(dev, _) | KnobId::Qdisc(dev, _) | KnobId::Block(dev, _) => Some(dev),
            _ => None,
        }
    }

    /// The name with `<dev>` for the device: how the registry lists it.
    pub fn pattern(&self) -> String {
        match self {
            KnobId::Sysctl(key) => format!("sysctl:{key}"),
            KnobId::Nic(_, key) => format!("nic/<dev>:{key}"),
            KnobId::Qdisc(_, key) => format!("qdisc/<dev>:{key}"),
            KnobId::Block(_, key) => format!("block/<dev>:{key}"),
            KnobId::Tuned(key) => format!("tuned:{key}"),
            KnobId::Cpu(key) => format!("cpu:{key}"),
            KnobId::Boot(key) => format!("boot:{key}"),
        }
    }
}

fn key_is_plain(key: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
    // A path component that climbs would leave /proc/sys or the device's directory.
    let climbs = key.split(['/', '.']).any(str::is_empty);
    !key.is_empty() && key.len() <= 128 && key.chars().all(allowed) && !climbs
}

impl FromStr for KnobId {
    type Err = BadKnobId;
    fn from_str(text: &str) -> Result<Self, BadKnobId> {
        let bad = |why: &str| BadKnobId {
            text: text.chars().take(200).collect(),
            why: why.to_owned(),
        };
        // The device may hold colons; the key never does.
        let (head, key) = text
            .rsplit_once(':')
            .ok_or_else(|| bad("expected KIND:KEY or KIND/DEVICE:KEY"))?;
        if !key_is_plain(key) {
            return Err(bad("the key may hold letters, digits and `._-/@`, no empty part"));
        }
        let key = key.to_owned();
        if let Some((kind, dev)) = head.split_once('/') {
            let dev = dev.parse().map_err(|error| bad(&format!("{error}")))?;
            return match kind {
                "nic" => Ok(KnobId::Nic(dev, key)),
                "qdisc" => Ok(KnobId::Qdisc(dev, key)),
                "block" => Ok(KnobId::Block(dev, key)),
                _ => Err(bad("a device belongs to nic, qdisc or block")),
            };
        }
        match head {
            "sysctl" => Ok(KnobId::Sysctl(key)),
            "tuned" => Ok(KnobId::Tuned(key)),
            "cpu" => Ok(KnobId::Cpu(key)),
            "boot" => Ok(KnobId::Boot(key)),
            _ => Err(bad(
                "the kind is one of sysctl, nic, qdisc, block, tuned, cpu, boot",
            )),
        }
    }
}

impl TryFrom<String> for KnobId {
    type Error = BadKnobId;
    fn try_from(text: String) -> Result<Self, BadKnobId> {
        text.parse()
    }
}

impl From<KnobId> for String {
    fn from(id: KnobId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for KnobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.device() {
            Some(dev) => f.pad(&self.pattern().replacen("<dev>", dev.as_str(), 1)),
            None => f.pad(&self.pattern()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_survives_a_round_trip() {
        for text in [
            "sysctl:net.ipv4.tcp_rmem",
            "sysctl:net.ipv4.conf.eth0/100.rp_filter",
            "nic/0000:01:00.0+52:54:00:12:34:56:ring.rx",
            "qdisc/0000:01:00.0+52:54:00:12:34:56:leaf",
            "block/nvme0n1:scheduler",
            "tuned:profile",
            "cpu:governor",
            "boot:iommu",
        ] {
            assert_eq!(text.parse::<KnobId>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_name_that_could_climb_or_break_a_line_is_refused() {
        for text in [
            "sysctl:../../etc/passwd",
            "sysctl:a\nb",
            "sysctl:",
            "nic/:ring.rx",
            "fish:x",
            "sysctl:net..x",
        ] {
            assert!(text.parse::<KnobId>().is_err(), "{text:?} was accepted");
        }
    }
}
