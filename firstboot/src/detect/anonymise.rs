//! Taking out of facts what names a site: host names, MACs, addresses, serial numbers and UUIDs.
//!
//! The same thing gets the same stand-in everywhere in the report, so that it stays readable: the first MAC becomes
//! `02:00:00:00:00:01` wherever it stands, inside an interface name (`enx0a1b2c3d4e5f`) too. The DMI serials are never
//! read in the first place.
//!
//! A command line is where most of it hides, secrets as well: `netroot=iscsi:user:password@10.0.0.1`. What a key is
//! known to name a place or a person by is replaced whole; all other text is searched for addresses.

mod token;

use dtnforge_profiles::facts::Facts;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use token::Token;

/// What is written for a host name.
const HOST: &str = "host";
/// What is written for the domain of the host.
const DOMAIN: &str = "example";
/// Facts that may look like an address or a serial number and are none.
const NO_NAMES: [&str; 6] = [
    "bios_version",
    "dmi_product_version",
    "firmware",
    "driver_version",
    "kernel",
    "numa_mask_node1",
];
/// Keys whose value, in a `key=value` word, names the site or someone of it.
const NAMING_KEYS: [&str; 21] = [
    "addr",
    "clientaddr",
    "mountaddr",
    "mon_addr",
    "hostname",
    "systemd.hostname",
    "systemd.machine_id",
    "ip",
    "nameserver",
    "nfsroot",
    "netroot",
    "ks",
    "inst.ks",
    "ds",
    "BOOTIF",
    "serial",
    "url",
    "name",
    "user",
    "username",
    "domain",
];
/// What the names of keys begin with that name the site, or hold a secret.
const NAMING_PREFIXES: [&str; 2] = ["rd.iscsi.", "systemd.set_credential"];
/// What stands in the names of keys that hold a secret.
const SECRETS: [&str; 4] = ["passw", "secret", "token", "credential"];
/// What the value of `root=` begins with when the root is on a server.
const ROOT_ON_SERVER: [&str; 4] = ["nfs:", "nfs4:", "iscsi:", "nbd:"];

fn names_the_site(key: &str, value: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    NAMING_KEYS.contains(&key)
        || NAMING_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || SECRETS.iter().any(|word| lower.contains(word))
        || value.contains("://")
        || (key == "root" && ROOT_ON_SERVER.iter().any(|kind| value.starts_with(kind)))
}

/// Replaces what names the site, in place.
///
/// # Errors
/// Never in practice: only when the facts cannot be turned into data and back; then nothing is changed.
pub fn anonymise(facts: &mut Facts) -> Result<(), serde_json::Error> {
    let mut tree = serde_json::to_value(&*facts)?;
    let mut names = Names::of(facts);
    names.rewrite(&mut tree);
    *facts = Facts::from_value(tree)?;
    // A short name is not looked for in other texts, and is a name all the same.
    if facts.host.hostname.is_some() {
        facts.host.hostname = Some(HOST.to_owned());
    }
    Ok(())
}

/// The stand-ins that were given out.
#[derive(Debug, Default)]
struct Names {
    hostname: Option<String>,
    macs: BTreeMap<String, String>,
    ids: BTreeMap<String, String>,
}

impl Names {
    fn of(facts: &Facts) -> Self {
        let hostname = facts.host.hostname.as_deref();
        let mut names = Self {
            // A short name would match inside of words that are none of its business.
            hostname: hostname
                .filter(|name| name.len() > 2 && *name != HOST)
                .map(str::to_owned),
            ..Self::default()
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

    /// The stand-in of a long hexadecimal number (a WWN, a machine id): a number as long.
    fn id(&mut self, id: &str) -> String {
        let number = self.ids.len() + 1;
        self.ids
            .entry(id.to_ascii_lowercase())
            .or_insert_with(|| format!("{number:0>width$}", width = id.len()))
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
                    .filter(|(key, _)| !NO_NAMES.contains(&key.as_str()));
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
        let value = if names_the_site(key, value) {
            HOST.to_owned()
        } else {
            self.value(value)
        };
        format!("{key}{equals}{value}{end}")
    }

    /// Replaces the addresses and numbers in a text.
    fn value(&mut self, value: &str) -> String {
        let replaced = token::replaced(value, |token| match token {
            Token::Mac(mac) => self.mac(mac),
            Token::Uuid(uuid) => uuid
                .chars()
                .map(|c| if c.is_ascii_hexdigit() { '0' } else { c })
                .collect(),
            Token::V4 => Ipv4Addr::UNSPECIFIED.to_string(),
            Token::V6 => Ipv6Addr::UNSPECIFIED.to_string(),
            Token::Id(id) => self.id(id),
        });
        self.with_mac_inside(&replaced)
    }

    /// An interface named after its MAC.
    fn with_mac_inside(&self, word: &str) -> String {
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
        // Servers are of the same domain as often as not.
        if let Some((_, domain)) = hostname
            .split_once('.')
            .filter(|(_, domain)| domain.contains('.'))
        {
            out = out.replace(domain, DOMAIN);
        }
        if short.len() > 2 {
            out = out.replace(short, HOST).replace(&short.replace('-', "--"), HOST);
        }
        out
    }
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
            ("10.1.2.3:2049", "0.0.0.0:2049"),
            ("192.0.2.1:/export", "0.0.0.0:/export"),
            ("mds=10.0.0.1:6789/10.0.0.2:6789", "mds=0.0.0.0:6789/0.0.0.0:6789"),
            ("ifname=lan0:aa:bb:cc:dd:ee:ff", "ifname=lan0:02:00:00:00:00:01"),
            ("[2001:db8::1]:2049", "[::]:2049"),
            (
                "rd.luks.uuid=luks-3b1f0a52-1111-4c2d-9f00-aaaaaaaaaaaa",
                "rd.luks.uuid=luks-00000000-0000-0000-0000-000000000000",
            ),
            (
                "rd.md.uuid=0a1b2c3d:4e5f6071:8293a4b5:c6d7e8f9",
                "rd.md.uuid=00000000:00000000:00000000:00000000",
            ),
            ("wwn-0x5000c500a1b2c3d4", "wwn-0x0000000000000001"),
            (
                "3600508b400105e210000900000490000",
                "000000000000000000000000000000002",
            ),
            ("5000c500a1b2c3d4", "0000000000000001"),
            (
                "netroot=iscsi:joe:pass@192.0.2.1::::iqn.2001-04.example:x",
                "netroot=host",
            ),
            ("root=nfs4:filer:/images/dtn,ro", "root=host,ro"),
            ("root=/dev/mapper/vg-root", "root=/dev/mapper/vg-root"),
            (
                "rd.iscsi.initiator=iqn.1993-08.org.debian:01:a1",
                "rd.iscsi.initiator=host",
            ),
            ("luks.Password=x", "luks.Password=host"),
            (
                "v1.2.3.4 isolcpus=2-63 hugepagesz=1G",
                "v1.2.3.4 isolcpus=2-63 hugepagesz=1G",
            ),
            ("a=b=c,,d", "a=b=c,,d"),
        ] {
            assert_eq!(names.text(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_of_two_letters_is_a_name_and_a_server_of_the_same_domain_is_named_by_it() {
        let text = "[host]\nhostname = 'vm'\n[[nic]]\nname = 'vmnet0'\n";
        let mut facts: Facts = toml::from_str(text).unwrap();
        anonymise(&mut facts).unwrap();
        assert_eq!(facts.host.hostname.as_deref(), Some(HOST));
        assert_eq!(facts.nics[0].name.as_deref(), Some("vmnet0"));
        let text = "[host]\nhostname = 'dtn1.cs.site.org'\ncmdline = 'x=filer.cs.site.org:/a'\n";
        let mut facts: Facts = toml::from_str(text).unwrap();
        anonymise(&mut facts).unwrap();
        assert_eq!(facts.host.cmdline.as_deref(), Some("x=filer.example:/a"));
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
