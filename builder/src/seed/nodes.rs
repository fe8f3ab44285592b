//! From the table as written to nodes that are checked, each by itself and against the others.

use super::SEED_SCHEMA;
use super::address::is_domain;
use super::network;
use super::place::Place;
use super::valid::{Interface, Kind, Node};
use super::written::{self, Defaults, Written};
use crate::spec::{SpecError, access};
use dtnforge_profiles::site::{OutOfRange, SITE_SCHEMA, SiteFile};
use std::collections::BTreeMap;

/// The most nodes of a table.
const MOST: usize = 4096;

pub(super) fn build(place: Place<'_>, written: Written) -> Result<Vec<Node>, SpecError> {
    form(place, &written)?;
    let defaults = written.defaults;
    let site = defaults.site.clone().check();
    site.map_err(|bad| out_of_range(place, "defaults.site", &bad))?;
    let nodes = written.node.into_iter().enumerate();
    let nodes: Vec<Node> = nodes
        .map(|(index, node)| self::node(place, index, node, &defaults))
        .collect::<Result<_, _>>()?;
    unique(place, &nodes)?;
    Ok(nodes)
}

fn form(place: Place<'_>, written: &Written) -> Result<(), SpecError> {
    match written.schema {
        Some(SEED_SCHEMA) => {}
        Some(other) => {
            let message = format!("is {other}, this version reads {SEED_SCHEMA}");
            return Err(place
                .at("schema", message)
                .hint("a newer dtnforge wrote this table"));
        }
        None => {
            let error = place.at("schema", "is missing");
            return Err(error.hint(format!("write `schema = {SEED_SCHEMA}` at the top")));
        }
    }
    match written.node.len() {
        0 => Err(place
            .at("node", "there is none")
            .hint("each node is a table [[node]] with a `name`")),
        1..=MOST => Ok(()),
        many => Err(place.at("node", format!("{many} nodes, expected at most {MOST}"))),
    }
}

fn out_of_range(place: Place<'_>, table: &str, bad: &OutOfRange) -> SpecError {
    let key = format!("{table}.{}", bad.key);
    place.at(
        &key,
        format!("{} is out of range, expected {}", bad.found, bad.expected),
    )
}

/// The node's own value, else the default, with the key that it stands under.
fn pick<T: Clone>(own: Option<T>, default: &Option<T>, node: &str, key: &str) -> (Option<T>, String) {
    match own {
        Some(own) => (Some(own), format!("{node}.{key}")),
        None => (default.clone(), format!("defaults.{key}")),
    }
}

fn node(place: Place<'_>, index: usize, node: written::Node, defaults: &Defaults) -> Result<Node, SpecError> {
    let own = format!("node[{index}]");
    if !is_host_name(&node.name) {
        let expected = "a host name without its domain: 1 to 63 of a-z, 0-9 and -";
        return Err(place.refuse(&format!("{own}.name"), &node.name, expected));
    }
    if let Some(serial) = node.serial.as_ref().filter(|serial| !is_serial(serial)) {
        let expected = "a serial number: 1 to 64 of A-Z, a-z, 0-9, ., _ and -";
        return Err(place.refuse(&format!("{own}.serial"), serial, expected));
    }
    let (domain, key) = pick(node.domain, &defaults.domain, &own, "domain");
    names(place, &key, domain.as_slice())?;
    let (search, key) = pick(node.search, &defaults.search, &own, "search");
    let search = search.unwrap_or_default();
    names(place, &key, &search)?;
    let (dns, key) = pick(node.dns, &defaults.dns, &own, "dns");
    let dns = dns.unwrap_or_default();
    let dns = dns
        .iter()
        .map(|server| place.parse(&key, server, "the address of a name server"));
    let (ntp, ntp_key) = pick(node.ntp, &defaults.ntp, &own, "ntp");
    let (hash, hash_key) = pick(
        node.root_password_hash,
        &defaults.root_password_hash,
        &own,
        "root_password_hash",
    );
    let (keys, keys_key) = pick(
        node.ssh_authorized_keys,
        &defaults.ssh_authorized_keys,
        &own,
        "ssh_authorized_keys",
    );
    let checked = Node {
        dns: dns.collect::<Result<_, _>>()?,
        ntp: time_servers(place, &ntp_key, ntp.unwrap_or_default())?,
        root_password_hash: password_hash(place, &hash_key, hash)?,
        ssh_authorized_keys: public_keys(place, &keys_key, keys.unwrap_or_default())?,
        interfaces: network::build(place, &own, node.interface)?,
        site: defaults.site.clone().overlaid_by(node.site),
        name: node.name,
        serial: node.serial,
        domain,
        search,
    };
    let site = site(place, &own, &checked)?;
    Ok(Node { site, ..checked })
}

fn names(place: Place<'_>, key: &str, names: &[String]) -> Result<(), SpecError> {
    match names.iter().find(|name| !is_domain(name)) {
        Some(bad) => Err(place.refuse(key, bad, "a domain, such as example.org")),
        None => Ok(()),
    }
}

fn time_servers(place: Place<'_>, key: &str, servers: Vec<String>) -> Result<Vec<String>, SpecError> {
    let good = |server: &&String| is_domain(server) || server.parse::<std::net::IpAddr>().is_ok();
    match servers.iter().find(|server| !good(server)) {
        Some(bad) => Err(place.refuse(key, bad, "the name or address of a time server")),
        None => Ok(servers),
    }
}

/// The value itself is not shown: somebody may have written a password.
fn password_hash(place: Place<'_>, key: &str, hash: Option<String>) -> Result<Option<String>, SpecError> {
    if hash.as_deref().is_none_or(access::is_hash) {
        return Ok(hash);
    }
    let error = place.at(
        key,
        format!("the value, which is not shown here, is not {}", access::HASH),
    );
    Err(error.hint("`mkpasswd --method=yescrypt` makes one; a password in plain text is never taken"))
}

/// The value itself is not shown: somebody may have pasted a private key.
fn public_keys(place: Place<'_>, key: &str, keys: Vec<String>) -> Result<Vec<String>, SpecError> {
    if keys.iter().all(|key| access::is_key(key)) {
        return Ok(keys);
    }
    Err(place.at(
        key,
        format!("a value, which is not shown here, is not {}", access::KEY),
    ))
}

/// What the site decides for this node, held against its network.
fn site(place: Place<'_>, own: &str, node: &Node) -> Result<SiteFile, SpecError> {
    let table = format!("{own}.site");
    let site = node.site.clone();
    site.clone()
        .check()
        .map_err(|bad| out_of_range(place, &table, &bad))?;
    let known = || node.interfaces.iter().map(|interface| interface.name.as_str());
    for name in site.data_nics.iter().flatten() {
        if !node.interfaces.is_empty() && known().all(|known| known != name) {
            let expected = "the name of an interface of this node";
            return Err(place.unknown(&format!("{table}.data_nics"), name, expected, known()));
        }
    }
    let differs = |interface: &&Interface| {
        let vlan = matches!(interface.kind, Kind::Vlan { .. });
        !vlan && site.mtu.is_some() && interface.mtu.is_some() && interface.mtu != site.mtu
    };
    if let Some(interface) = node.interfaces.iter().find(differs) {
        let message = format!("is not the mtu of the interface `{}`", interface.name);
        let hint = "say it once: `mtu` of an interface sets it, and the node keeps what it finds";
        return Err(place.at(&format!("{table}.mtu"), message).hint(hint));
    }
    Ok(SiteFile {
        schema: Some(SITE_SCHEMA),
        ..site
    })
}

/// No two nodes share what only one can have.
fn unique(place: Place<'_>, nodes: &[Node]) -> Result<(), SpecError> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let own = format!("node[{index}]");
        let mut taken = vec![(format!("name {}", node.name), format!("{own}.name"))];
        taken.extend(
            node.serial
                .iter()
                .map(|serial| (format!("serial {serial}"), format!("{own}.serial"))),
        );
        for (number, interface) in node.interfaces.iter().enumerate() {
            let key = |last: &str| format!("{own}.interface[{number}].{last}");
            if let Kind::Port { mac } = &interface.kind {
                taken.push((format!("MAC address {mac}"), key("mac")));
            }
            let addresses = interface.addresses.iter();
            taken.extend(addresses.map(|found| (format!("address {}", found.address), key("addresses"))));
        }
        for (what, key) in taken {
            if let Some(other) = seen.get(what.as_str()) {
                return Err(place.at(
                    &key,
                    format!("the {what} is in the table twice, first at node `{other}`"),
                ));
            }
            seen.insert(what, &node.name);
        }
    }
    Ok(())
}

/// A label of the DNS, in lower case; the name of files too.
fn is_host_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    is_domain(text) && text.chars().all(inner)
}

/// It names a directory and is part of a URL.
fn is_serial(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&text.len()) && text.chars().all(inner) && !text.starts_with(['.', '-'])
}
