//! The table of nodes as written: an unknown key is an error, and what is left out is filled in from `[defaults]`.

use dtnforge_profiles::site::SiteFile;
use schemars::JsonSchema;
use serde::Deserialize;

/// A table of nodes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// [`super::SEED_SCHEMA`].
    pub schema: Option<u32>,
    /// What holds for each node that says nothing else.
    #[serde(default)]
    pub defaults: Defaults,
    /// The nodes.
    #[serde(default)]
    pub node: Vec<Node>,
}

/// `[defaults]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Domain of the nodes, for their full names.
    pub domain: Option<String>,
    /// Public keys that may log in as root.
    pub ssh_authorized_keys: Option<Vec<String>>,
    /// Hash of root's password, as crypt(5) makes it: for consoles only.
    pub root_password_hash: Option<String>,
    /// Addresses of name servers.
    pub dns: Option<Vec<String>>,
    /// Domains that short names are looked up in.
    pub search: Option<Vec<String>>,
    /// Time servers: names or addresses.
    pub ntp: Option<Vec<String>>,
    /// What the site decides: becomes `/etc/dtnforge/site.toml`. A node's own keys win, key by key.
    #[serde(default)]
    pub site: SiteFile,
}

/// `[[node]]`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Host name without its domain: 1 to 63 of a-z, 0-9 and -.
    pub name: String,
    /// Serial number of the machine (SMBIOS): names its directory in the HTTP form, so that one kernel command line does
    /// for all nodes.
    pub serial: Option<String>,
    /// In place of the default.
    pub domain: Option<String>,
    /// In place of the default.
    pub ssh_authorized_keys: Option<Vec<String>>,
    /// In place of the default.
    pub root_password_hash: Option<String>,
    /// In place of the default.
    pub dns: Option<Vec<String>>,
    /// In place of the default.
    pub search: Option<Vec<String>>,
    /// In place of the default.
    pub ntp: Option<Vec<String>>,
    /// Laid over the default, key by key.
    #[serde(default)]
    pub site: SiteFile,
    /// The network. Without an interface the node asks for an address on the first port with a link.
    #[serde(default)]
    pub interface: Vec<Interface>,
}

/// `[[node.interface]]`: a port (`mac`), a bond (`members`) or a VLAN (`vlan` and `link`).
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Name of the interface on the node, 1 to 15 characters; a port is renamed to it.
    pub name: String,
    /// MAC address of the port.
    pub mac: Option<String>,
    /// Names of the ports that make the bond.
    pub members: Option<Vec<String>>,
    /// How the bond works. Default `802.3ad` (LACP).
    pub mode: Option<BondMode>,
    /// VLAN number, 1 to 4094.
    pub vlan: Option<u16>,
    /// Name of the port or bond that carries the VLAN.
    pub link: Option<String>,
    /// MTU in byte, 1280 to 65535. Only where the whole layer 2 network carries it. Default: as found.
    pub mtu: Option<u32>,
    /// Whether to ask for an IPv4 address.
    #[serde(default)]
    pub dhcp4: bool,
    /// Whether to ask for an IPv6 address by DHCP.
    #[serde(default)]
    pub dhcp6: bool,
    /// Whether router advertisements are listened to. Default: with `dhcp6`, and with `dhcp4` where no
    /// IPv6 address is fixed.
    pub accept_ra: Option<bool>,
    /// Fixed addresses with their prefix length, such as `192.0.2.10/24`.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// IPv4 router for all other networks.
    pub gateway4: Option<String>,
    /// IPv6 router for all other networks.
    pub gateway6: Option<String>,
    /// Number of a routing table of its own, for a node with several networks: what comes from an address of this
    /// interface leaves by this interface's gateway. 1 to 4294967295 without 253 to 255.
    pub table: Option<u32>,
    /// More routes.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// More rules on which table routes what.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// How a bond works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BondMode {
    /// LACP, with the switch. Flows are spread by addresses and ports.
    #[default]
    #[serde(rename = "802.3ad")]
    Lacp,
    /// One port carries all, the others wait.
    ActiveBackup,
    /// Spread by addresses and ports, without LACP.
    BalanceXor,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Network, such as `198.51.100.0/24`.
    pub to: String,
    /// Router in a network of this interface.
    pub via: String,
    /// Lower wins, 1 to 4294967295.
    pub metric: Option<u32>,
    /// Table that it is in. Default: the main one.
    pub table: Option<u32>,
}

/// A rule: which table routes what comes from, or goes to, a network.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Source network.
    pub from: Option<String>,
    /// Destination network.
    pub to: Option<String>,
    /// The table.
    pub table: u32,
    /// Lower is asked first, 1 to 32765. Default: after the rules that follow from `table` of an interface.
    pub priority: Option<u32>,
}
