//! `network-config`: netplan's form, version 2, which cloud-init hands to netplan where the image has it, and turns into
//! networkd's own files where it has not.
//!
//! Ports are found by their MAC address and get the name of the table; nothing else is the same at each boot. A port with
//! a table of its own has its gateway twice: in that table, for answers, and in the main one with a metric, so that what
//! the node begins by itself takes the first interface of the file.

use super::address::Prefixed;
use super::valid::{Interface, Kind, Node};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// Priority of the first rule that follows from a `table`: before the main table (32766), behind nothing of the kernel's
/// but the local one.
const FIRST_PRIORITY: u32 = 10_000;
/// The main table.
const MAIN: u32 = 254;
/// Metric of the first of several gateways, and the step to the next.
const METRIC: u32 = 100;
/// How often the link of a port in a bond is looked at, ms.
const LINK_CHECK: &str = "100";

/// The network of a node; `None` where the table names no interface.
pub fn config(node: &Node) -> Option<Value> {
    if node.interfaces.is_empty() {
        return None;
    }
    let mut config = Map::from_iter([("version".to_owned(), json!(2))]);
    let mut priorities = FIRST_PRIORITY..;
    for (index, interface) in node.interfaces.iter().enumerate() {
        let mut body = common(node, index, interface, &mut priorities);
        let group = kind(node, interface, &mut body);
        let group = config.entry(group).or_insert_with(|| json!({}));
        group[&interface.name] = Value::Object(body);
    }
    Some(json!({ "network": config }))
}

/// Adds what is special to the kind, and names the kind's group.
fn kind(node: &Node, interface: &Interface, body: &mut Map<String, Value>) -> &'static str {
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    match &interface.kind {
        Kind::Port { mac } => {
            put("match", json!({ "macaddress": mac.to_string() }));
            put("set-name", json!(interface.name));
            if let Some(mtu) = bond_of(node, &interface.name).and_then(|bond| bond.mtu) {
                put("mtu", json!(mtu));
            }
            "ethernets"
        }
        Kind::Bond { members, mode } => {
            put("interfaces", json!(members));
            let mut parameters = json!({ "mode": mode, "mii-monitor-interval": LINK_CHECK });
            if *mode != super::valid::BondMode::ActiveBackup {
                parameters["transmit-hash-policy"] = json!("layer3+4");
            }
            put("parameters", parameters);
            "bonds"
        }
        Kind::Vlan { link, id } => {
            put("id", json!(id));
            put("link", json!(link));
            "vlans"
        }
    }
}

fn bond_of<'a>(node: &'a Node, port: &str) -> Option<&'a Interface> {
    node.interfaces.iter().find(|interface| match &interface.kind {
        Kind::Bond { members, .. } => members.iter().any(|member| member == port),
        _ => false,
    })
}

fn common(
    node: &Node,
    index: usize,
    interface: &Interface,
    priorities: &mut impl Iterator<Item = u32>,
) -> Map<String, Value> {
    let mut body = Map::from_iter([
        ("dhcp4".to_owned(), json!(interface.dhcp4)),
        ("dhcp6".to_owned(), json!(interface.dhcp6)),
        ("accept-ra".to_owned(), json!(interface.accept_ra)),
    ]);
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    if let Some(mtu) = interface.mtu {
        put("mtu", json!(mtu));
    }
    if !interface.addresses.is_empty() {
        put("addresses", texts(&interface.addresses));
    }
    if asks_names(node, interface) {
        put(
            "nameservers",
            json!({ "addresses": texts(&node.dns), "search": node.search }),
        );
    }
    let routes = routes(index, interface);
    if !routes.is_empty() {
        put("routes", Value::Array(routes));
    }
    let rules = rules(interface, priorities);
    if !rules.is_empty() {
        put("routing-policy", Value::Array(rules));
    }
    body
}

fn texts<T: ToString>(values: &[T]) -> Value {
    values.iter().map(ToString::to_string).collect()
}

/// Whether name servers are reached through this interface: it leads out, or it is all that has an address.
fn asks_names(node: &Node, interface: &Interface) -> bool {
    let leads_out = |interface: &Interface| {
        !interface.gateways.is_empty() || interface.dhcp4 || interface.dhcp6 || interface.accept_ra
    };
    let any = node.interfaces.iter().any(leads_out);
    let says = !node.dns.is_empty() || !node.search.is_empty();
    says && (leads_out(interface) || (!any && interface.is_addressed()))
}

fn routes(index: usize, interface: &Interface) -> Vec<Value> {
    let mut routes = Vec::new();
    let metric = u32::try_from(index)
        .unwrap_or(u32::MAX)
        .saturating_add(1)
        .saturating_mul(METRIC);
    for gateway in &interface.gateways {
        let to = everywhere(*gateway);
        match interface.table {
            None => routes.push(json!({ "to": to, "via": gateway })),
            Some(table) => {
                routes.push(json!({ "to": to, "via": gateway, "metric": metric }));
                routes.push(json!({ "to": to, "via": gateway, "table": table }));
            }
        }
    }
    for route in &interface.routes {
        let mut value = json!({ "to": route.to.to_string(), "via": route.via });
        for (key, number) in [("metric", route.metric), ("table", route.table)] {
            if let Some(number) = number {
                value[key] = json!(number);
            }
        }
        routes.push(value);
    }
    routes
}

fn everywhere(gateway: IpAddr) -> &'static str {
    if gateway.is_ipv4() { "0.0.0.0/0" } else { "::/0" }
}

/// What comes from an address of ours goes by our table, but straight to a neighbour; then the rules of the file.
fn rules(interface: &Interface, priorities: &mut impl Iterator<Item = u32>) -> Vec<Value> {
    let mut rules = Vec::new();
    let mut next = |asked: Option<u32>| asked.or_else(|| priorities.next());
    if let Some(table) = interface.table {
        let led = |own: &&Prefixed| {
            interface
                .gateways
                .iter()
                .any(|way| way.is_ipv4() == own.address.is_ipv4())
        };
        for own in interface.addresses.iter().filter(led) {
            let network = own.network().to_string();
            rules.push(json!({ "from": own.address, "to": network, "table": MAIN, "priority": next(None) }));
            rules.push(json!({ "from": own.address, "table": table, "priority": next(None) }));
        }
    }
    for rule in &interface.rules {
        let mut value = json!({ "table": rule.table, "priority": next(rule.priority) });
        for (key, network) in [("from", rule.from), ("to", rule.to)] {
            if let Some(network) = network {
                value[key] = json!(network.to_string());
            }
        }
        rules.push(value);
    }
    rules
}
