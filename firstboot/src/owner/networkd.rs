//! `.link` files, which udev applies to a NIC before any rule of ours, and the MTU of `.network` files.
//!
//! Of the `.link` files only the first that matches is applied.

use super::claim::{Claim, Says};
use super::conf::{self, ConfFile};
use super::glob;
use super::ini::{self, Entry};
use super::target::{Port, Target};
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::value::Value;

const DIRECTORIES: &[&str] = &[
    "/etc/systemd/network",
    "/run/systemd/network",
    "/usr/local/lib/systemd/network",
    "/usr/lib/systemd/network",
];

/// Keys of `[Link]` and the knob behind each.
const KEYS: &[(&str, &str)] = &[
    ("MTUBytes", "mtu"),
    ("RxBufferSize", "ring.rx"),
    ("TxBufferSize", "ring.tx"),
    ("CombinedChannels", "channels.combined"),
    ("LargeReceiveOffload", "feature.lro"),
    ("UseAdaptiveRxCoalesce", "coalesce.adaptive-rx"),
    ("UseAdaptiveTxCoalesce", "coalesce.adaptive-tx"),
];

/// All `.link` and `.network` files.
#[derive(Debug)]
pub(super) struct NetworkFiles {
    links: Vec<(ConfFile, Vec<Entry>)>,
    networks: Vec<(ConfFile, Vec<Entry>)>,
}

impl NetworkFiles {
    pub(super) fn read(host: &Host) -> Self {
        let read = |suffix: &str| {
            let files = conf::files(host, DIRECTORIES, suffix).into_iter();
            files
                .map(|file| (ini::parse(&file.text), file))
                .map(|(entries, file)| (file, entries))
                .collect()
        };
        Self {
            links: read(".link"),
            networks: read(".network"),
        }
    }

    /// What these files say of a knob.
    pub(super) fn claims(&self, target: &Target) -> Vec<Claim> {
        let (KnobId::Nic(_, knob), Some(port)) = (&target.knob, &target.port) else {
            return Vec::new();
        };
        let matching =
            |files: &'_ [(ConfFile, Vec<Entry>)]| files.iter().position(|(_, entries)| is_for(entries, port));
        let link = matching(&self.links).and_then(|at| claim(&self.links[at], knob, false));
        // networkd sets the MTU of a link that it configures, after udev.
        let network = matching(&self.networks)
            .filter(|_| knob == "mtu")
            .and_then(|at| claim(&self.networks[at], knob, true));
        link.into_iter().chain(network).collect()
    }
}

fn claim((file, entries): &(ConfFile, Vec<Entry>), knob: &str, beats_us: bool) -> Option<Claim> {
    let key = KEYS.iter().find(|(_, name)| *name == knob)?.0;
    let entry = ini::last(entries, &["Link"], key)?;
    Some(Claim {
        kind: SetterKind::Networkd,
        place: Some(file.at(entry.line)),
        says: says(knob, &entry.value),
        managed_by: file.managed_by(),
        beats_us,
    })
}

/// Numbers may be `max` or carry a suffix to the base of 1024.
fn says(knob: &str, value: &str) -> Says {
    let is_switch = knob.starts_with("feature.") || knob.starts_with("coalesce.");
    if let Some(on) = ini::boolean(value).filter(|_| is_switch) {
        return Says::Is(Value::new(if on { "on" } else { "off" }));
    }
    let (number, unit) = match value.strip_suffix('K') {
        Some(number) => (number, 1024),
        None => (value, 1),
    };
    match number.trim().parse::<i64>() {
        Ok(number) => Says::Is(Value::from(number.saturating_mul(unit))),
        Err(_) => Says::Unknown(value.to_owned()),
    }
}

/// Whether `[Match]` names the port. A file without a condition that can be told here is taken for no match.
fn is_for(entries: &[Entry], port: &Port) -> bool {
    let conditions = entries
        .iter()
        .filter(|entry| entry.section == "Match" && !entry.value.is_empty());
    let answers: Vec<bool> = conditions
        .filter_map(|entry| fits(&entry.key, &entry.value, port))
        .collect();
    !answers.is_empty() && answers.iter().all(|fits| *fits)
}

/// Whether one condition is true; `None` when it cannot be told.
fn fits(key: &str, list: &str, port: &Port) -> Option<bool> {
    let path = format!("pci-{}", port.bus);
    let known: &str = match key {
        "OriginalName" | "Name" => &port.name,
        "MACAddress" => &port.mac,
        "PermanentMACAddress" => &port.permanent_mac,
        "Path" => &path,
        "Driver" => &port.driver,
        _ => return None,
    };
    let is_mac = key.ends_with("MACAddress");
    let (negated, list) = match list.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let matches = list.split_whitespace().any(|pattern| {
        if is_mac {
            pattern.eq_ignore_ascii_case(known)
        } else {
            glob::matches(pattern, known, None)
        }
    });
    Some(matches != negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<(ConfFile, Vec<Entry>)> {
        let file = |(name, text): &(&str, &str)| {
            let file = ConfFile {
                name: (*name).to_owned(),
                path: format!("/etc/systemd/network/{name}"),
                text: (*text).to_owned(),
            };
            let entries = ini::parse(&file.text);
            (file, entries)
        };
        texts.iter().map(file).collect()
    }

    fn said(links: &[(&str, &str)], networks: &[(&str, &str)], key: &str) -> Vec<String> {
        let all = NetworkFiles {
            links: files(links),
            networks: files(networks),
        };
        let target = Target {
            knob: format!("nic/0000:01:00.0+02:00:00:00:00:0a:{key}")
                .parse()
                .unwrap(),
            port: Some(Port {
                name: "eth0".into(),
                mac: "02:00:00:00:00:0a".into(),
                permanent_mac: "02:00:00:00:00:0a".into(),
                bus: "0000:01:00.0".into(),
                driver: "ixgbe".into(),
            }),
            disk: None,
        };
        all.claims(&target).iter().map(|claim| claim.words()).collect()
    }

    #[test]
    fn only_the_first_link_file_that_matches_is_applied() {
        let links = [
            ("10-a.link", "[Match]\nDriver=mlx5*\n[Link]\nRxBufferSize=1\n"),
            (
                "20-b.link",
                "[Match]\nMACAddress=02:00:00:00:00:0A\n[Link]\nRxBufferSize=8192\nMTUBytes=9K\n",
            ),
            (
                "30-c.link",
                "[Match]\nOriginalName=*\n[Link]\nRxBufferSize=2\nTxBufferSize=max\n",
            ),
        ];
        assert_eq!(
            said(&links, &[], "ring.rx"),
            ["/etc/systemd/network/20-b.link:4 says 8192"]
        );
        assert_eq!(said(&links, &[], "ring.tx"), Vec::<String>::new());
        assert_eq!(
            said(&links, &[], "mtu"),
            ["/etc/systemd/network/20-b.link:5 says 9216"]
        );
        assert_eq!(
            said(&links[2..], &[], "ring.tx"),
            ["/etc/systemd/network/30-c.link:5 says max"]
        );
    }

    #[test]
    fn a_network_file_sets_the_mtu_and_nothing_else() {
        let networks = [(
            "10.network",
            "[Match]\nName=eth*\n[Link]\nMTUBytes=9000\nRxBufferSize=7\n",
        )];
        assert_eq!(
            said(&[], &networks, "mtu"),
            ["/etc/systemd/network/10.network:4 says 9000"]
        );
        assert_eq!(said(&[], &networks, "ring.rx"), Vec::<String>::new());
    }

    #[test]
    fn a_switch_is_on_or_off_and_an_unknown_condition_alone_is_no_match() {
        let lro = [("10.link", "[Match]\nName=!eth1\n[Link]\nLargeReceiveOffload=no\n")];
        assert_eq!(
            said(&lro, &[], "feature.lro"),
            ["/etc/systemd/network/10.link:4 says off"]
        );
        let host = [("10.link", "[Match]\nHost=x\n[Link]\nLargeReceiveOffload=no\n")];
        assert_eq!(said(&host, &[], "feature.lro"), Vec::<String>::new());
    }
}
