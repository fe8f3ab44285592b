//! Facts: what was seen on a host, in the form of a hardware report (TOML or JSON).
//!
//! A missing key means that the file or line does not exist; a key in `errors` means that reading it failed, with
//! the text of the error. Neither ever becomes a default. Keys that this version does not know are kept in `extra`, and
//! so are values that do not fit their field: a report that is read and written says all that it said.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Form of [`Facts`].
pub const FACTS_SCHEMA: u32 = 1;

/// Keys that have no field, or whose value does not fit theirs.
type Extra = BTreeMap<String, serde_json::Value>;

/// All that was seen on a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// [`FACTS_SCHEMA`]; reports of other people have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// The machine.
    #[serde(default)]
    pub host: Host,
    /// Network interfaces.
    #[serde(default, rename = "nic", skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// Block devices.
    #[serde(default, rename = "block", skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Mounts.
    #[serde(default, rename = "mount", skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Other keys of the report.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Writes a struct of optional facts with a doc comment for each.
macro_rules! facts {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[$field_meta])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
            /// Facts whose reading failed, or that are of another type than ours: key and text of the error.
            #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
            pub errors: std::collections::BTreeMap<String, String>,
            /// Other keys.
            #[serde(flatten)]
            pub extra: $crate::facts::Extra,
        }
    };
}

mod block;
mod host;
mod mount;
mod nic;
mod read;

pub use block::Block;
pub use host::Host;
pub use mount::Mount;
pub use nic::{Nic, Numbers};
pub use read::BadFacts;

impl Facts {
    /// Names the hardware that a commit was made for: NICs (address, device, MAC), memory rounded to GiB, CPUs, and
    /// whether the host is a guest. A host with another fingerprint is measured anew.
    pub fn fingerprint(&self) -> Digest {
        let mut nics: Vec<String> = self
            .nics
            .iter()
            .filter(|nic| nic.pci_slot.is_some())
            .map(|nic| {
                format!(
                    "{:?} {:?} {:?} {:?}",
                    nic.pci_slot, nic.pci_id, nic.mac, nic.driver
                )
            })
            .collect();
        nics.sort();
        let memory = self.host.memory_gib.map(f64::round);
        let text = format!(
            "{nics:?} {memory:?} {:?} {:?} {:?}",
            self.host.cpus, self.host.cpu_model, self.host.hypervisor
        );
        Digest::of(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_kept_and_written_back() {
        let text =
            "source = 'x'\n[host]\nodd = 3\n[[nic]]\nname = 'eth0'\nspeed_mbps = -1\nnew_key = [1, 2]\n";
        let facts: Facts = toml::from_str(text).unwrap();
        assert_eq!(facts.nics[0].speed_mbps, Some(-1));
        let again: Facts = toml::from_str(&toml::to_string(&facts).unwrap()).unwrap();
        assert_eq!(again, facts);
    }

    #[test]
    fn the_fingerprint_ignores_the_link_and_follows_the_card() {
        let mut facts = Facts::default();
        facts.nics.push(Nic {
            pci_slot: Some("0000:01:00.0".into()),
            mac: Some("a".into()),
            ..Nic::default()
        });
        let before = facts.fingerprint();
        facts.nics[0].carrier = Some(true);
        assert_eq!(facts.fingerprint(), before);
        facts.nics[0].mac = Some("b".into());
        assert_ne!(facts.fingerprint(), before);
    }
}
