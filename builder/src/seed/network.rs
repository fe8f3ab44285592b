//! The network of one node: each interface by itself, then what they make together.

use super::address::{MAC, Mac, Prefixed};
use super::place::Place;
use super::valid::{Interface, Kind, Route, Rule};
use super::written;
use crate::spec::SpecError;
use std::net::IpAddr;
use std::ops::RangeInclusive;

const MTU: RangeInclusive<u32> = 1280..=65_535;
/// MTU of Ethernet where nobody says another.
const ETHERNET_MTU: u32 = 1500;
/// Tables of the kernel: default, main and local.
const KERNEL_TABLES: RangeInclusive<u32> = 253..=255;
const NETWORK: &str = "a network, such as 198.51.100.0/24 or 2001:db8::/32, without bits behind its prefix";

pub(super) fn build(
    place: Place<'_>,
    node: &str,
    written: Vec<written::Interface>,
) -> Result<Vec<Interface>, SpecError> {
    let one = |(index, written)| {
        One {
            place,
            own: format!("{node}.interface[{index}]"),
        }
        .check(written)
    };
    let interfaces: Vec<Interface> = written
        .into_iter()
        .enumerate()
        .map(one)
        .collect::<Result<_, _>>()?;
    let all = All {
        place,
        node,
        interfaces: &interfaces,
    };
    all.names()?;
    all.stacking()?;
    all.routing()?;
    Ok(interfaces)
}

/// One interface and where it stands.
struct One<'a> {
    place: Place<'a>,
    own: String,
}

impl One<'_> {
    fn key(&self, last: &str) -> String {
        format!("{}.{last}", self.own)
    }

    fn check(&self, written: written::Interface) -> Result<Interface, SpecError> {
        let kind = self.kind(&written)?;
        self.name(&written.name, &kind)?;
        let mtu = written
            .mtu
            .map(|mtu| self.place.range(&self.key("mtu"), mtu, MTU))
            .transpose()?;
        let table = written
            .table
            .map(|table| self.table("table", table))
            .transpose()?;
        let addresses: Vec<Prefixed> = self.addresses(&written.addresses)?;
        let has_v6 = addresses.iter().any(|found| found.address.is_ipv6());
        let mut gateways = Vec::new();
        for (key, gateway, is_v4) in [
            ("gateway4", &written.gateway4, true),
            ("gateway6", &written.gateway6, false),
        ] {
            if let Some(gateway) = gateway {
                gateways.push(self.router(key, gateway, is_v4, &addresses)?);
            }
        }
        if table.is_some() && gateways.is_empty() {
            let error = self
                .place
                .at(&self.key("table"), "an own table needs a gateway to hold");
            return Err(error.hint("add `gateway4` or `gateway6`, with fixed addresses"));
        }
        Ok(Interface {
            routes: self.routes(&written.routes, &addresses)?,
            rules: self.rules(&written.rules)?,
            // A fixed address and a router's word about another one are two owners.
            accept_ra: written
                .accept_ra
                .unwrap_or(written.dhcp6 || (written.dhcp4 && !has_v6)),
            name: written.name,
            kind,
            mtu,
            dhcp4: written.dhcp4,
            dhcp6: written.dhcp6,
            addresses,
            gateways,
            table,
        })
    }

    fn kind(&self, written: &written::Interface) -> Result<Kind, SpecError> {
        let one_of = || {
            let message = "expected one of: `mac` (a port), `members` (a bond), `vlan` with `link` (a VLAN)";
            self.place.at(&self.own, message)
        };
        if written.mode.is_some() && written.members.is_none() {
            return Err(self
                .place
                .at(&self.key("mode"), "only a bond has a mode")
                .hint("name its `members`"));
        }
        match (&written.mac, &written.members, written.vlan, &written.link) {
            (Some(mac), None, None, None) => {
                let mac: Mac = self.place.parse(&self.key("mac"), mac, MAC)?;
                Ok(Kind::Port { mac })
            }
            (None, Some(members), None, None) => {
                let mode = written.mode.unwrap_or_default();
                Ok(Kind::Bond {
                    members: members.clone(),
                    mode,
                })
            }
            (None, None, Some(id), Some(link)) => {
                self.place.range(&self.key("vlan"), u32::from(id), 1..=4094)?;
                Ok(Kind::Vlan {
                    link: link.clone(),
                    id,
                })
            }
            _ => Err(one_of()),
        }
    }

    fn name(&self, name: &str, kind: &Kind) -> Result<(), SpecError> {
        let key = self.key("name");
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let taken = matches!(name, "lo" | "all" | "default");
        if !(1..=15).contains(&name.len())
            || !name.chars().all(plain)
            || name.starts_with(['.', '-'])
            || taken
        {
            let expected = "the name of an interface: 1 to 15 of A-Z, a-z, 0-9, ., _ and -";
            return Err(self.place.refuse(&key, name, expected));
        }
        let number = name.strip_prefix("eth").unwrap_or("x");
        if matches!(kind, Kind::Port { .. }) && number.chars().all(|c| c.is_ascii_digit()) {
            let error = self
                .place
                .refuse(&key, name, "a name that the kernel does not give out by itself");
            return Err(
                error.hint("such as `data0`: a port may be called eth0 for another reason at the next boot")
            );
        }
        Ok(())
    }

    fn addresses(&self, written: &[String]) -> Result<Vec<Prefixed>, SpecError> {
        let expected = "an address of one host with its prefix length, such as 192.0.2.10/24";
        let key = self.key("addresses");
        let one = |text: &String| {
            let found: Prefixed = self.place.parse(&key, text, expected)?;
            match found.is_host() {
                true => Ok(found),
                false => Err(self.place.refuse(&key, text, expected)),
            }
        };
        written.iter().map(one).collect()
    }

    /// A router that can be reached without another one.
    fn router(
        &self,
        key: &str,
        text: &str,
        is_v4: bool,
        addresses: &[Prefixed],
    ) -> Result<IpAddr, SpecError> {
        let key = self.key(key);
        let expected = if is_v4 {
            "an IPv4 address"
        } else {
            "an IPv6 address"
        };
        let router: IpAddr = self.place.parse(&key, text, expected)?;
        if router.is_ipv4() != is_v4 {
            return Err(self.place.refuse(&key, text, expected));
        }
        let link_local = matches!(router, IpAddr::V6(v6) if v6.is_unicast_link_local());
        let near = addresses
            .iter()
            .any(|own| own.holds(router) && own.address != router);
        if near || (link_local && addresses.iter().any(|own| own.address.is_ipv6())) {
            return Ok(router);
        }
        let error = self.place.refuse(
            &key,
            text,
            "a router in a network of this interface's `addresses`",
        );
        Err(error.hint("with DHCP or router advertisements the network names its router itself"))
    }

    fn table(&self, key: &str, table: u32) -> Result<u32, SpecError> {
        if table == 0 || KERNEL_TABLES.contains(&table) {
            let expected = "1 to 4294967295 without 253 to 255, which are the kernel's";
            return Err(self.place.refuse(&self.key(key), &table.to_string(), expected));
        }
        Ok(table)
    }

    fn network(&self, key: &str, text: &str) -> Result<Prefixed, SpecError> {
        let key = self.key(key);
        let network: Prefixed = self.place.parse(&key, text, NETWORK)?;
        if network.is_network() {
            return Ok(network);
        }
        let error = self.place.refuse(&key, text, NETWORK);
        Err(error.hint(format!("did you mean `{}`?", network.network())))
    }

    fn routes(&self, written: &[written::Route], addresses: &[Prefixed]) -> Result<Vec<Route>, SpecError> {
        let one = |(index, route): (usize, &written::Route)| {
            let key = |last: &str| format!("routes[{index}].{last}");
            let to = self.network(&key("to"), &route.to)?;
            if route.metric == Some(0) {
                return Err(self
                    .place
                    .refuse(&self.key(&key("metric")), "0", "1 to 4294967295"));
            }
            Ok(Route {
                to,
                via: self.router(&key("via"), &route.via, to.address.is_ipv4(), addresses)?,
                metric: route.metric,
                table: route
                    .table
                    .map(|table| self.table(&key("table"), table))
                    .transpose()?,
            })
        };
        written.iter().enumerate().map(one).collect()
    }

    fn rules(&self, written: &[written::Rule]) -> Result<Vec<Rule>, SpecError> {
        let one = |(index, rule): (usize, &written::Rule)| {
            let key = |last: &str| format!("rules[{index}].{last}");
            let network = |last: &str, text: &Option<String>| {
                text.as_ref()
                    .map(|text| self.network(&key(last), text))
                    .transpose()
            };
            let (from, to) = (network("from", &rule.from)?, network("to", &rule.to)?);
            let families = from
                .zip(to)
                .is_none_or(|(from, to)| from.address.is_ipv4() == to.address.is_ipv4());
            if (from.is_none() && to.is_none()) || !families {
                let expected = "expected `from`, `to` or both, of one family";
                return Err(self.place.at(&self.key(&key("from")), expected));
            }
            let priority = |value| self.place.range(&self.key(&key("priority")), value, 1..=32_765);
            Ok(Rule {
                from,
                to,
                table: self.table(&key("table"), rule.table)?,
                priority: rule.priority.map(priority).transpose()?,
            })
        };
        written.iter().enumerate().map(one).collect()
    }
}

/// All interfaces of a node.
struct All<'a> {
    place: Place<'a>,
    node: &'a str,
    interfaces: &'a [Interface],
}

impl All<'_> {
    fn key(&self, index: usize, last: &str) -> String {
        format!("{}.interface[{index}].{last}", self.node)
    }

    fn named(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    fn names(&self) -> Result<(), SpecError> {
        for (index, interface) in self.interfaces.iter().enumerate() {
            if self.interfaces[..index]
                .iter()
                .any(|other| other.name == interface.name)
            {
                let message = format!("the node has two interfaces `{}`", interface.name);
                return Err(self.place.at(&self.key(index, "name"), message));
            }
        }
        Ok(())
    }

    fn stacking(&self) -> Result<(), SpecError> {
        let mut bonded: Vec<&str> = Vec::new();
        for (index, interface) in self.interfaces.iter().enumerate() {
            let Kind::Bond { members, .. } = &interface.kind else {
                continue;
            };
            if members.is_empty() {
                return Err(self.place.at(&self.key(index, "members"), "a bond needs a port"));
            }
            for member in members {
                self.member(index, member, interface)?;
                if bonded.contains(&member.as_str()) {
                    let message = format!("the port `{member}` is named twice");
                    return Err(self.place.at(&self.key(index, "members"), message));
                }
                bonded.push(member);
            }
        }
        for (index, interface) in self.interfaces.iter().enumerate() {
            if let Kind::Vlan { link, .. } = &interface.kind {
                self.vlan(index, link, interface, &bonded)?;
            }
        }
        Ok(())
    }

    fn member(&self, index: usize, member: &str, bond: &Interface) -> Result<(), SpecError> {
        let key = self.key(index, "members");
        let is_port = |interface: &&Interface| matches!(interface.kind, Kind::Port { .. });
        let Some(port) = self.named(member).filter(is_port) else {
            let ports = self
                .interfaces
                .iter()
                .filter(is_port)
                .map(|port| port.name.as_str());
            return Err(self
                .place
                .unknown(&key, member, "the name of a port of this node", ports));
        };
        if port.is_addressed() || !port.routes.is_empty() || !port.rules.is_empty() {
            let error = self.place.at(
                &key,
                format!("the port `{member}` has addresses or routes of its own"),
            );
            return Err(error.hint("give them to the bond"));
        }
        if port.mtu.is_some() && port.mtu != bond.mtu {
            let error = self
                .place
                .at(&key, format!("the port `{member}` has another mtu than the bond"));
            return Err(error.hint("`mtu` of the bond holds for its ports"));
        }
        Ok(())
    }

    fn vlan(&self, index: usize, link: &str, vlan: &Interface, bonded: &[&str]) -> Result<(), SpecError> {
        let carries = |interface: &&Interface| {
            !matches!(interface.kind, Kind::Vlan { .. }) && !bonded.contains(&interface.name.as_str())
        };
        let Some(carrier) = self.named(link).filter(carries) else {
            let carriers = self
                .interfaces
                .iter()
                .filter(carries)
                .map(|carrier| carrier.name.as_str());
            let expected = "the name of a bond, or of a port in no bond, of this node";
            return Err(self
                .place
                .unknown(&self.key(index, "link"), link, expected, carriers));
        };
        let below = carrier.mtu.unwrap_or(ETHERNET_MTU);
        if let Some(mtu) = vlan.mtu.filter(|mtu| *mtu > below) {
            let message = format!("{mtu} does not fit into `{link}`, whose mtu is {below}");
            return Err(self
                .place
                .at(&self.key(index, "mtu"), message)
                .hint(format!("give `{link}` that mtu too")));
        }
        Ok(())
    }

    /// One way out for each family, unless each has a table of its own.
    fn routing(&self) -> Result<(), SpecError> {
        for (index, interface) in self.interfaces.iter().enumerate() {
            let before = &self.interfaces[..index];
            if interface.table.is_some() && before.iter().any(|other| other.table == interface.table) {
                let message = "another interface of this node has the same table";
                return Err(self.place.at(&self.key(index, "table"), message));
            }
            for gateway in &interface.gateways {
                let same = |other: &IpAddr| other.is_ipv4() == gateway.is_ipv4();
                let rival = before.iter().find(|other| other.gateways.iter().any(same));
                if let Some(rival) = rival.filter(|rival| rival.table.is_none() || interface.table.is_none())
                {
                    let key = self.key(index, if gateway.is_ipv4() { "gateway4" } else { "gateway6" });
                    let message = format!("`{}` has a gateway of this family already", rival.name);
                    let hint = "give each of them a `table`: answers then leave by the port that the question came in by";
                    return Err(self.place.at(&key, message).hint(hint));
                }
            }
        }
        Ok(())
    }
}
