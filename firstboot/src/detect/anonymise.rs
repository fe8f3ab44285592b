//! Taking out of facts what names a site: host names, MACs, addresses, serial numbers and UUIDs.
//!
//! The same thing gets the same stand-in everywhere in the report, so that it stays readable: the first MAC becomes
//! `02:00:00:00:00:01` wherever it stands, inside an interface name (`enx0a1b2c3d4e5f`) too. The DMI serials are never
//! read in the first place.

use dtnforge_profiles::facts::Facts;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is written for a host name.
const HOST: &str = "host";
/// What is written for a UUID.
const UUID: &str = "00000000-0000-0000-0000-000000000000";
/// Facts that may look like an address and are none.
const VERSIONS: [&str; 5] = [
    "bios_version",
    "dmi_product_version",
    "firmware",
    "driver_version",
    "kernel",
];
/// Keys whose value, in a `key=value` word, names the site.
const NAMING_KEYS: [&str; 10] = [
    "addr",
    "clientaddr",
    "mountaddr",
    "hostname",
    "systemd.hostname",
    "ip",
    "nfsroot",
    "BOOTIF",
    "serial",
    "url",
];

/// Replaces what names the site, in place.
///
/// # Errors
/// Never in practice: only when the facts cannot be turned into data and back; then nothing is changed.
pub fn anonymise(facts: &mut Facts) -> Result<(), serde_json::Error> {
    let mut tree = serde_json::to_value(&*facts)?;
    let mut names = Names::of(facts);
    names.rewrite(&mut tree);
    *facts = Facts::from_value(tree)?;
    Ok(())
}

/// The stand-ins that were given out.
#[derive(Debug, Default)]
struct Names {
    hostname: Option<String>,
    macs: BTreeMap<String, String>,
}

impl Names {
    fn of(facts: &Facts) -> Self {
        let hostname = facts.host.hostname.as_deref();
        let mut names = Self {
            // A short name would match inside of words that are none of its business.
            hostname: hostname
                .filter(|name| name.len() > 2 && *name != HOST)
                .map(str::to_owned),
            macs: BTreeMap::new(),
        };
        for mac in facts.nics.iter().filter_map(|nic| nic.mac.as_deref()) {
            names.mac(mac);
        }
        names
    }

    fn mac(&mut self, mac: &str) -> String {
        let number = self.macs.len() + 1;
        let stand_in = || {
            let [.., high, low] = number.to_be_bytes();
            format!("02:00:00:00:{high:02x}:{low:02x}")
        };
        self.macs
            .entry(mac.to_ascii_lowercase())
            .or_insert_with(stand_in)
            .clone()
    }

    fn rewrite(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.rewrite(value)),
            Value::Object(entries) => {
                // Serial numbers under whatever name a report has them.
                entries.retain(|key, _| !key.contains("serial") && !key.contains("uuid"));
                let entries = entries
                    .iter_mut()
                    .filter(|(key, _)| !VERSIONS.contains(&key.as_str()));
                entries.for_each(|(_, value)| self.rewrite(value));
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) -> String {
        let ends = |c: char| c.is_whitespace() || c == ',';
        let words: String = text.split_inclusive(ends).map(|word| self.word(word)).collect();
        self.without_hostname(&words)
    }

    /// A word of a command line or a list of options, with the separator that ends it.
    fn word(&mut self, word: &str) -> String {
        let bare = word.trim_end_matches(|c: char| c.is_whitespace() || c == ',');
        let end = &word[bare.len()..];
        let (key, value) = bare
            .split_once('=')
            .map_or(("", bare), |(key, value)| (key, value));
        let equals = if bare.contains('=') { "=" } else { "" };
        let value = if NAMING_KEYS.contains(&key) || value.contains("://") {
            HOST.to_owned()
        } else {
            self.value(value)
        };
        format!("{key}{equals}{value}{end}")
    }

    /// Replaces each run of the characters that MACs, addresses and UUIDs are written with.
    fn value(&mut self, value: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
        let mut out = String::new();
        let mut rest = value;
        while let Some(first) = rest.chars().next() {
            let end = rest
                .find(|c: char| is_part(c) != is_part(first))
                .unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            out.push_str(&self.run(run));
            rest = after;
        }
        out
    }

    fn run(&mut self, run: &str) -> String {
        if is_mac(run) {
            return self.mac(run);
        }
        if is_uuid(run) {
            return UUID.to_owned();
        }
        match run.parse() {
            Ok(IpAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.to_string(),
            Ok(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.to_string(),
            Err(_) => self.with_mac_inside(run),
        }
    }

    /// An interface named after its MAC.
    fn with_mac_inside(&mut self, word: &str) -> String {
        let known = self
            .macs
            .iter()
            .find(|(mac, _)| word.contains(&mac.replace(':', "")));
        match known {
            Some((mac, stand_in)) => word.replace(&mac.replace(':', ""), &stand_in.replace(':', "")),
            None => word.to_owned(),
        }
    }

    fn without_hostname(&self, text: &str) -> String {
        let Some(hostname) = &self.hostname else {
            return text.to_owned();
        };
        // device-mapper doubles the dashes of a volume group's name, which is often the host's.
        let short = hostname.split('.').next().unwrap_or(hostname);
        let mut out = text.replace(hostname.as_str(), HOST);
        if short.len() > 2 {
            out = out.replace(short, HOST).replace(&short.replace('-', "--"), HOST);
        }
        out
    }
}

fn is_mac(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    // 6 octets of Ethernet, 20 of InfiniBand.
    matches!(parts.len(), 6 | 20) && parts.iter().all(|part| part.len() == 2 && is_hex(part))
}

fn is_uuid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.split('-').all(is_hex)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_the_site_is_gone_and_what_does_not_stays() {
        let mut facts: Facts = toml::from_str(
            "schema = 1\n[host]\nhostname = 'dtn-1.site.example'\ndmi_product = 'PowerEdge R7525'\nkernel = '6.12.48'\n\
             cmdline = 'root=UUID=3b1f0a52-1111-4c2d-9f00-aaaaaaaaaaaa systemd.hostname=dtn-1 ip=192.0.2.1::gw quiet'\n\
             bios_version = '2.15.1'\nserial = 'ABC'\n\
             [[nic]]\nname = 'enx0a1b2c3d4e5f'\nmac = '0A:1B:2C:3D:4E:5F'\npci_slot = '0000:01:00.0'\n\
             [[nic]]\nname = 'bond0'\nmembers = ['enx0a1b2c3d4e5f']\nmac = '0a:1b:2c:3d:4e:60'\n\
             [[block]]\nname = 'sda'\nholders = ['dtn--1-root']\n\
             [[mount]]\noptions = 'rw,vers=4.2,addr=203.0.113.200,clientaddr=fd00::5,sec=sys'\n",
        )
        .unwrap();
        anonymise(&mut facts).unwrap();
        let text = toml::to_string(&facts).unwrap();
        let expected = "schema = 1\n\n[host]\ndmi_product = \"PowerEdge R7525\"\nbios_version = \"2.15.1\"\n\
             kernel = \"6.12.48\"\n\
             cmdline = \"root=UUID=00000000-0000-0000-0000-000000000000 systemd.hostname=host ip=host quiet\"\n\
             hostname = \"host\"\n\n\
             [[nic]]\nname = \"enx020000000001\"\npci_slot = \"0000:01:00.0\"\nmac = \"02:00:00:00:00:01\"\n\n\
             [[nic]]\nname = \"bond0\"\nmac = \"02:00:00:00:00:02\"\nmembers = [\"enx020000000001\"]\n\n\
             [[block]]\nname = \"sda\"\nholders = [\"host-root\"]\n\n\
             [[mount]]\noptions = \"rw,vers=4.2,addr=host,clientaddr=host,sec=sys\"\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn doing_it_twice_changes_nothing_more() {
        let mut facts: Facts =
            toml::from_str("[host]\nhostname = 'node7'\n[[nic]]\nname = 'eth0'\nmac = 'aa:bb:cc:dd:ee:ff'\n")
                .unwrap();
        anonymise(&mut facts).unwrap();
        let once = facts.clone();
        anonymise(&mut facts).unwrap();
        assert_eq!(facts, once);
    }

    #[test]
    fn addresses_and_places_on_the_net_are_replaced_and_bus_addresses_are_not() {
        let mut names = Names::default();
        for (text, expected) in [
            ("192.0.2.17", "0.0.0.0"),
            ("a=10.1.2.3;b", "a=0.0.0.0;b"),
            ("2001:db8::1", "::"),
            ("0000:01:00.0", "0000:01:00.0"),
            ("a/aa:bb:cc:dd:ee:ff b", "a/02:00:00:00:00:01 b"),
            ("seed=https://boot.site.example/x quiet", "seed=host quiet"),
            ("a=b=c,,d", "a=b=c,,d"),
        ] {
            assert_eq!(names.text(text), expected, "{text}");
        }
    }

    #[test]
    fn the_version_of_a_firmware_is_no_address() {
        let text = "[host]\nbios_version = '1.2.3.4'\n[[nic]]\nfirmware = '14.32.10.3'\n";
        let mut facts: Facts = toml::from_str(text).unwrap();
        let before = facts.clone();
        anonymise(&mut facts).unwrap();
        assert_eq!(facts, before);
    }
}
