//! Nodes with every value checked and every default in place.

use super::address::{Mac, Prefixed};
pub use super::written::BondMode;
use dtnforge_profiles::site::SiteFile;
use std::net::IpAddr;

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Host name without its domain.
    pub name: String,
    /// SMBIOS serial number of the machine.
    pub serial: Option<String>,
    /// Domain.
    pub domain: Option<String>,
    /// Public keys of root, one line each.
    pub ssh_authorized_keys: Vec<String>,
    /// Hash of root's password.
    pub root_password_hash: Option<String>,
    /// Name servers.
    pub dns: Vec<IpAddr>,
    /// Search domains.
    pub search: Vec<String>,
    /// Time servers.
    pub ntp: Vec<String>,
    /// What the site decides.
    pub site: SiteFile,
    /// The network, in the order of the file.
    pub interfaces: Vec<Interface>,
}

impl Node {
    /// Whether the node routes by more than the destination: then an answer may leave by another port than the question
    /// came in by, and the strict reverse-path filter would drop the question.
    pub fn routes_by_policy(&self) -> bool {
        self.interfaces
            .iter()
            .any(|interface| interface.table.is_some() || !interface.rules.is_empty())
    }

    /// Whether the image needs the package netplan.io: without it cloud-init writes networkd's files itself, and knows
    /// neither bonds nor VLANs, rules or tables.
    pub fn needs_netplan(&self) -> bool {
        let beyond = |interface: &Interface| {
            !matches!(interface.kind, Kind::Port { .. })
                || interface.routes.iter().any(|route| route.table.is_some())
        };
        self.routes_by_policy() || self.interfaces.iter().any(beyond)
    }
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name on the node.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// MTU, byte.
    pub mtu: Option<u32>,
    /// Whether it asks for an IPv4 address.
    pub dhcp4: bool,
    /// Whether it asks for an IPv6 address by DHCP.
    pub dhcp6: bool,
    /// Whether it listens to router advertisements.
    pub accept_ra: bool,
    /// Fixed addresses.
    pub addresses: Vec<Prefixed>,
    /// Routers for all other networks, at most one of each family.
    pub gateways: Vec<IpAddr>,
    /// Its own routing table.
    pub table: Option<u32>,
    /// More routes.
    pub routes: Vec<Route>,
    /// More rules.
    pub rules: Vec<Rule>,
}

impl Interface {
    /// Whether it gets an address of its own in any way.
    pub fn is_addressed(&self) -> bool {
        self.dhcp4 || self.dhcp6 || self.accept_ra || !self.addresses.is_empty()
    }
}

/// What an interface is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A physical port.
    Port {
        /// Its permanent MAC address.
        mac: Mac,
    },
    /// Several ports as one.
    Bond {
        /// Names of the ports.
        members: Vec<String>,
        /// How it works.
        mode: BondMode,
    },
    /// A VLAN on a port or bond.
    Vlan {
        /// Name of what carries it.
        link: String,
        /// Its number.
        id: u16,
    },
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Network.
    pub to: Prefixed,
    /// Router.
    pub via: IpAddr,
    /// Lower wins.
    pub metric: Option<u32>,
    /// Table; the main one where none is named.
    pub table: Option<u32>,
}

/// A rule of routing policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Source network.
    pub from: Option<Prefixed>,
    /// Destination network.
    pub to: Option<Prefixed>,
    /// Table.
    pub table: u32,
    /// Lower is asked first.
    pub priority: Option<u32>,
}
