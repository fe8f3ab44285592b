//! Connections of NetworkManager (keyfiles): MTU, rings, channels, moderation and offloads of a port.

use super::claim::{Claim, Says};
use super::conf::{self, ConfFile};
use super::ini::{self, Entry};
use super::target::{Port, Target};
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::value::Value;

const DIRECTORIES: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/run/NetworkManager/system-connections",
    "/usr/lib/NetworkManager/system-connections",
];

/// The section of an Ethernet connection has two names.
const ETHERNET: &[&str] = &["ethernet", "802-3-ethernet"];
const ETHTOOL: &[&str] = &["ethtool"];

/// Sections and keys, and the knob behind each.
const KEYS: &[(&[&str], &str, &str)] = &[
    (ETHERNET, "mtu", "mtu"),
    (ETHTOOL, "ring-rx", "ring.rx"),
    (ETHTOOL, "ring-tx", "ring.tx"),
    (ETHTOOL, "channels-combined", "channels.combined"),
    (ETHTOOL, "feature-lro", "feature.lro"),
    (ETHTOOL, "coalesce-adaptive-rx", "coalesce.adaptive-rx"),
    (ETHTOOL, "coalesce-adaptive-tx", "coalesce.adaptive-tx"),
];

/// All connections.
#[derive(Debug)]
pub(super) struct Connections(Vec<(ConfFile, Vec<Entry>)>);

impl Connections {
    pub(super) fn read(host: &Host) -> Self {
        let files = conf::files(host, DIRECTORIES, ".nmconnection").into_iter();
        Self(
            files
                .map(|file| (ini::parse(&file.text), file))
                .map(|(entries, file)| (file, entries))
                .collect(),
        )
    }

    /// What the connections of the port say of a knob.
    pub(super) fn claims(&self, target: &Target) -> Vec<Claim> {
        let (KnobId::Nic(_, knob), Some(port)) = (&target.knob, &target.port) else {
            return Vec::new();
        };
        let of_port = self.0.iter().filter(|(_, entries)| is_for(entries, port));
        of_port
            .filter_map(|(file, entries)| claim(file, entries, knob))
            .collect()
    }
}

fn claim(file: &ConfFile, entries: &[Entry], knob: &str) -> Option<Claim> {
    let (sections, key, _) = KEYS.iter().find(|(_, _, name)| *name == knob)?;
    let entry = ini::last(entries, sections, key)?;
    let is_switch = knob.starts_with("feature.") || knob.starts_with("coalesce.");
    let value = match ini::boolean(&entry.value).filter(|_| is_switch) {
        Some(true) => Value::new("on"),
        Some(false) => Value::new("off"),
        None => Value::new(&entry.value),
    };
    Some(Claim {
        kind: SetterKind::NetworkManager,
        place: Some(file.at(entry.line)),
        says: Says::Is(value),
        managed_by: file.managed_by(),
        beats_us: true,
    })
}

/// Whether a connection is tied to the port, by its name or its MAC.
fn is_for(entries: &[Entry], port: &Port) -> bool {
    let name = ini::last(entries, &["connection"], "interface-name");
    let mac = ini::last(entries, ETHERNET, "mac-address");
    match (name, mac) {
        (None, None) => false,
        (name, mac) => {
            name.is_none_or(|entry| entry.value == port.name)
                && mac.is_none_or(|entry| entry.value.eq_ignore_ascii_case(&port.permanent_mac))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_speaks_for_its_port() {
        let text = "[connection]\nid=data\ninterface-name=eth0\n[ethernet]\nmtu=9000\n\
            [ethtool]\nring-rx=8192\nfeature-lro=false\n";
        let entries = ini::parse(text);
        let file = ConfFile {
            name: "data.nmconnection".into(),
            path: "/etc/NetworkManager/system-connections/data.nmconnection".into(),
            text: text.into(),
        };
        let port = |name: &str, mac: &str| Port {
            name: name.into(),
            permanent_mac: mac.into(),
            ..Port::default()
        };
        assert!(is_for(&entries, &port("eth0", "")));
        assert!(!is_for(&entries, &port("eth1", "")));
        for (knob, expected) in [
            ("mtu", Some("data.nmconnection:5 says 9000")),
            ("ring.rx", Some("data.nmconnection:7 says 8192")),
            ("feature.lro", Some("data.nmconnection:8 says off")),
            ("ring.tx", None),
        ] {
            let found = claim(&file, &entries, knob).map(|claim| claim.words());
            let expected = expected.map(|text| format!("/etc/NetworkManager/system-connections/{text}"));
            assert_eq!(found, expected, "{knob}");
        }
        let by_mac = ini::parse("[ethernet]\nmac-address=02:00:00:00:00:0A\n");
        assert!(is_for(&by_mac, &port("eth5", "02:00:00:00:00:0a")));
        assert!(!is_for(&ini::parse("[connection]\nid=any\n"), &port("eth0", "")));
    }
}
