//! The identity of a device that survives a reboot and a rename.
//!
//! Interface names are for people: they change with firmware, slots and rules. A plan, an undo record and a commit
//! name a NIC by its bus address and its permanent MAC together, so that a swapped card is another device.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A stable device identity, for instance `0000:01:00.0+52:54:00:12:34:56` (NIC) or `0000:02:00.0+nvme0n1` (disk).
///
/// Characters: ASCII letters, digits, and `: . + - _ @`. Never empty, at most 128 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceId(String);

/// The text is no device identity.
#[derive(Debug, thiserror::Error)]
#[error(
    "device identity {0:?} has a character outside letters, digits and `:.+-_@`, or is empty or too long"
)]
pub struct BadDeviceId(String);

impl DeviceId {
    /// A NIC by bus address (PCI `domain:bus:slot.function`, or another bus path) and permanent MAC.
    pub fn nic(bus_path: &str, mac: &str) -> Result<Self, BadDeviceId> {
        format!("{bus_path}+{}", mac.to_ascii_lowercase()).parse()
    }

    /// The bus address: what stands before the `+`.
    pub fn bus_path(&self) -> &str {
        self.0.split_once('+').map_or(&self.0, |(bus, _)| bus)
    }

    /// What stands after the `+` (a MAC for a NIC), if anything does.
    pub fn suffix(&self) -> Option<&str> {
        self.0.split_once('+').map(|(_, rest)| rest)
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DeviceId {
    type Err = BadDeviceId;
    fn from_str(text: &str) -> Result<Self, BadDeviceId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || ":.+-_@".contains(c);
        if text.is_empty() || text.len() > 128 || !text.chars().all(allowed) {
            return Err(BadDeviceId(text.chars().take(140).collect()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for DeviceId {
    type Error = BadDeviceId;
    fn try_from(text: String) -> Result<Self, BadDeviceId> {
        text.parse()
    }
}

impl From<DeviceId> for String {
    fn from(id: DeviceId) -> Self {
        id.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nic_is_its_bus_path_and_mac() {
        let id = DeviceId::nic("0000:01:00.0", "52:54:00:AA:BB:CC").unwrap();
        assert_eq!(id.as_str(), "0000:01:00.0+52:54:00:aa:bb:cc");
        assert_eq!(id.bus_path(), "0000:01:00.0");
        assert_eq!(id.suffix(), Some("52:54:00:aa:bb:cc"));
    }

    #[test]
    fn characters_that_could_leave_a_line_are_refused() {
        for bad in ["", "a b", "a\nb", "a\"b", "a;b", "a/b", "$x"] {
            assert!(bad.parse::<DeviceId>().is_err(), "{bad:?} was accepted");
        }
    }
}
