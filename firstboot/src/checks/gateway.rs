//! Does the default router answer on the link?
//!
//! Nothing has to come back from it but the address resolution that precedes each packet: a datagram to its discard
//! port makes the kernel ask, and the neighbour table tells the answer. A router that drops all that is addressed to
//! itself still passes. An answer that has grown old (`STALE`) says nothing of a card that was changed since, so the
//! kernel is given the time to ask again: it waits 5 s for a sign of life from above, then asks.
//!
//! The table is read by `ip`, which shows states; where there is no `ip`, that of IPv4 also stands in /proc.

use super::judged;
use crate::detect::source::ONE_TABLE;
use crate::detect::{Clock, Source, routes};
use crate::host::Host;
use dtnforge_profiles::verdict::Check;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::Duration;

/// How long it may take until an old answer is renewed: 5 s of waiting, 3 s of asking, and a little more.
const ANSWER: Duration = Duration::from_secs(9);
/// The time between two looks at the neighbour table.
const STEP: Duration = Duration::from_millis(250);
/// The discard service (RFC 863): whoever gets the datagram has to do nothing.
const DISCARD: u16 = 9;
/// The time that `ip` has.
const COMMAND: Duration = Duration::from_secs(5);

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::V4 => "ipv4",
            Family::V6 => "ipv6",
        })
    }
}

/// A default router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its family.
    pub family: Family,
    /// Its address.
    pub address: IpAddr,
    /// The interface that leads to it.
    pub interface: String,
    /// What the neighbour table says of it.
    pub neighbour: Neighbour,
}

/// What a neighbour table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Neighbour {
    /// It has a link-layer address; the kernel's word for the state.
    Resolved(String),
    /// It did not answer; the kernel's word for the state.
    Unresolved(String),
    /// There is no entry, or the table cannot be read: the check cannot be run. Why.
    NotRun(String),
}

/// The default router of each family, as the neighbour table has it now.
pub(super) fn glance(host: &Host) -> Vec<Gateway> {
    let mut gateways = present(host);
    for gateway in &mut gateways {
        gateway.neighbour = neighbour(host, gateway, None);
    }
    gateways
}

/// The default routers, not asked yet. Without a readable table of routes there is none to speak of; detection reports
/// that file.
fn present(host: &Host) -> Vec<Gateway> {
    defaults(&routes::read(host).unwrap_or_default())
}

/// The default router of each family, after it had the time to answer.
pub(super) fn observe(host: &Host, clock: &dyn Clock) -> Vec<Gateway> {
    let mut gateways = present(host);
    let asked: Vec<Option<String>> = gateways.iter().map(|gateway| ask(host, gateway).err()).collect();
    let start = clock.now();
    loop {
        for (gateway, refused) in gateways.iter_mut().zip(&asked) {
            gateway.neighbour = neighbour(host, gateway, refused.as_deref());
        }
        let is_open = gateways.iter().any(|gateway| gateway.neighbour.may_change());
        // A host in a directory does not change while we wait.
        if !host.is_live() || !is_open || clock.now().saturating_sub(start) >= ANSWER {
            return gateways;
        }
        clock.sleep(STEP);
    }
}

/// The router of the best default route of each family. A route without a router (a tunnel) has none.
fn defaults(routes: &[routes::Route]) -> Vec<Gateway> {
    let of = |family: Family| {
        let routers = routes
            .iter()
            .filter(|route| route.is_default())
            .filter_map(|route| {
                let address = route.gateway?;
                let same = address.is_ipv4() == (family == Family::V4);
                same.then_some((route.metric, &route.interface, address))
            });
        let (_, interface, address) = routers.min_by_key(|(metric, _, _)| *metric)?;
        Some(Gateway {
            family,
            address,
            interface: interface.clone(),
            neighbour: Neighbour::NotRun("not asked yet".to_owned()),
        })
    };
    [Family::V4, Family::V6].into_iter().filter_map(of).collect()
}

/// Makes the kernel talk to the router.
fn ask(host: &Host, gateway: &Gateway) -> Result<(), String> {
    if !host.is_live() {
        return Ok(());
    }
    let (any, to): (IpAddr, SocketAddr) = match gateway.address {
        IpAddr::V4(address) => (Ipv4Addr::UNSPECIFIED.into(), (address, DISCARD).into()),
        IpAddr::V6(address) => {
            // A link-local address means nothing without its link.
            let index = host.sign(&format!("/sys/class/net/{}/ifindex", gateway.interface));
            let index = index.and_then(|text| text.parse().ok()).unwrap_or(0);
            (
                Ipv6Addr::UNSPECIFIED.into(),
                SocketAddrV6::new(address, DISCARD, 0, index).into(),
            )
        }
    };
    let socket = UdpSocket::bind((any, 0)).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
    let sent = socket.and_then(|socket| socket.send_to(&[0], to));
    sent.map(drop)
        .map_err(|error| format!("no datagram could be sent to it: {error}"))
}

fn neighbour(host: &Host, gateway: &Gateway, refused: Option<&str>) -> Neighbour {
    let state = match (ip_state(host, gateway), gateway.family) {
        (Err(_), Family::V4) => arp_state(host, gateway),
        (state, _) => state,
    };
    match state {
        Ok(Some(state)) => Neighbour::of(&state),
        Ok(None) => Neighbour::NotRun(refused.unwrap_or("no entry in the neighbour table").to_owned()),
        Err(why) => Neighbour::NotRun(why),
    }
}

impl Neighbour {
    /// By the kernel's word (`ip neigh`).
    fn of(state: &str) -> Self {
        match state {
            "INCOMPLETE" | "FAILED" | "NONE" => Neighbour::Unresolved(state.to_owned()),
            _ => Neighbour::Resolved(state.to_owned()),
        }
    }

    /// Whether the kernel is still asking, or about to.
    fn may_change(&self) -> bool {
        match self {
            Neighbour::Resolved(state) => matches!(state.as_str(), "STALE" | "DELAY" | "PROBE"),
            Neighbour::Unresolved(state) => state != "FAILED",
            Neighbour::NotRun(_) => false,
        }
    }
}

fn arp_state(host: &Host, gateway: &Gateway) -> Result<Option<String>, String> {
    let table = host.text("/proc/net/arp", ONE_TABLE);
    let table = table.map_err(|error| format!("/proc/net/arp: {error}"))?;
    Ok(arp_entry(&table, gateway))
}

/// The entry in `IP address, HW type, Flags, HW address, Mask, Device`; the flag 2 is a complete one.
fn arp_entry(table: &str, gateway: &Gateway) -> Option<String> {
    let address = gateway.address.to_string();
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [ip, _, flags, .., device] = fields[..] else {
            return None;
        };
        if ip != address || device != gateway.interface {
            return None;
        }
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
        Some(if flags & 2 != 0 { "COMPLETE" } else { "INCOMPLETE" }.to_owned())
    })
}

/// One entry of `ip -j neigh`.
#[derive(Debug, serde::Deserialize)]
struct Entry {
    dst: IpAddr,
    dev: String,
    #[serde(default)]
    state: Vec<String>,
}

fn ip_state(host: &Host, gateway: &Gateway) -> Result<Option<String>, String> {
    let address = gateway.address.to_string();
    // With an address that was parsed and printed again, nothing of a table reaches the command line.
    let text = host.run("ip", &["-j", "neigh", "show", "to", &address], COMMAND);
    let text = text.map_err(|error| error.to_string())?;
    ip_entry(&text, gateway)
}

fn ip_entry(json: &str, gateway: &Gateway) -> Result<Option<String>, String> {
    // Nothing to show is no list at all for some versions.
    if json.trim().is_empty() {
        return Ok(None);
    }
    let entries: Vec<Entry> =
        serde_json::from_str(json).map_err(|error| format!("the answer of ip -j neigh: {error}"))?;
    let entry = entries
        .into_iter()
        .find(|entry| entry.dst == gateway.address && entry.dev == gateway.interface);
    Ok(entry.map(|entry| {
        entry
            .state
            .into_iter()
            .next()
            .unwrap_or_else(|| "NONE".to_owned())
    }))
}

/// One check for each family that has a default router, before or now.
pub(super) fn compare(before: &[Gateway], after: &[Gateway]) -> Vec<Check> {
    let of = |gateways: &[Gateway], family| gateways.iter().find(|gateway| gateway.family == family).cloned();
    [Family::V4, Family::V6]
        .into_iter()
        .filter_map(|family| check(family, of(before, family), of(after, family)))
        .collect()
}

fn check(family: Family, before: Option<Gateway>, after: Option<Gateway>) -> Option<Check> {
    let was_good = before
        .as_ref()
        .is_some_and(|gateway| matches!(gateway.neighbour, Neighbour::Resolved(_)));
    let name = format!("gateway:{family}");
    let Some(after) = after else {
        let before = before?;
        let detail = format!(
            "no default route any more, was by {} on {}",
            before.address, before.interface
        );
        return Some(judged(name, was_good, false, detail));
    };
    let who = format!("{} on {}", after.address, after.interface);
    Some(match after.neighbour {
        Neighbour::Resolved(state) => judged(name, was_good, true, format!("{who} is {state}")),
        Neighbour::Unresolved(state) => judged(name, was_good, false, format!("{who} is {state}")),
        Neighbour::NotRun(why) => Check {
            name,
            ok: true,
            required: false,
            detail: format!("not run: {who}: {why}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(address: &str, neighbour: Neighbour) -> Gateway {
        let address: IpAddr = address.parse().unwrap();
        Gateway {
            family: if address.is_ipv4() { Family::V4 } else { Family::V6 },
            address,
            interface: "eth0".into(),
            neighbour,
        }
    }

    fn unasked(address: &str) -> Gateway {
        gateway(address, Neighbour::NotRun(String::new()))
    }

    #[test]
    fn the_best_route_with_a_router_is_taken_for_each_family() {
        let route = |interface: &str, gateway: Option<&str>, metric| routes::Route {
            interface: interface.into(),
            destination: if gateway.is_some_and(|text| text.contains(':')) {
                "::"
            } else {
                "0.0.0.0"
            }
            .parse()
            .unwrap(),
            prefix: 0,
            gateway: gateway.map(|text| text.parse().unwrap()),
            metric,
        };
        let found = defaults(&[
            route("wlan0", Some("192.0.2.9"), 600),
            route("tun0", None, 50),
            route("eth0", Some("192.0.2.1"), 100),
            route("eth0", Some("fe80::1"), 1024),
        ]);
        let shown: Vec<String> = found
            .iter()
            .map(|gateway| format!("{} {}", gateway.family, gateway.address))
            .collect();
        assert_eq!(shown, ["ipv4 192.0.2.1", "ipv6 fe80::1"]);
    }

    #[test]
    fn the_arp_table_tells_answered_from_unanswered() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
                     192.0.2.1        0x1         0x0         00:00:00:00:00:00     *        eth1\n\
                     192.0.2.1        0x1         0x2         02:fc:00:00:00:05     *        eth0\n\
                     192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0\n\
                     192.0.2.3\n";
        let state = |address| arp_entry(table, &unasked(address));
        assert_eq!(state("192.0.2.1").as_deref(), Some("COMPLETE"));
        assert_eq!(state("192.0.2.2").as_deref(), Some("INCOMPLETE"));
        assert_eq!(state("192.0.2.3"), None);
        assert_eq!(state("192.0.2.4"), None);
    }

    #[test]
    fn the_answer_of_ip_is_read_or_named() {
        let json = r#"[{"dst":"fe80::1","dev":"eth1","state":["FAILED"]},
                       {"dst":"fe80::1","dev":"eth0","lladdr":"02:fc:00:00:00:05","router":null,"state":["STALE"]}]"#;
        assert_eq!(ip_entry(json, &unasked("fe80::1")), Ok(Some("STALE".into())));
        assert_eq!(ip_entry(json, &unasked("fe80::2")), Ok(None));
        assert_eq!(ip_entry("\n", &unasked("fe80::2")), Ok(None));
        let error = ip_entry("Dump terminated", &unasked("fe80::2")).unwrap_err();
        assert!(error.starts_with("the answer of ip -j neigh: "), "{error}");
    }

    #[test]
    fn an_old_answer_is_waited_on_and_a_refusal_is_final() {
        let open = |state| Neighbour::of(state).may_change();
        assert!(open("STALE") && open("DELAY") && open("PROBE") && open("INCOMPLETE"));
        assert!(!open("REACHABLE") && !open("FAILED") && !open("PERMANENT") && !open("COMPLETE"));
    }

    #[test]
    fn the_table_in_proc_is_read_where_there_is_no_ip() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let zero = "0".repeat(32);
        write(
            "proc/net/route",
            "Iface\nens2\t00000000\t0202000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n",
        );
        write(
            "proc/net/ipv6_route",
            &format!("{zero} 00 {zero} 00 fe800000000000000000000000000002 00000400 1 0 00000003 ens2\n"),
        );
        write("proc/net/arp", "IP\n10.0.2.2 0x1 0x2 52:55:0a:00:02:02 * ens2\n");
        let host = Host::at(dir.path(), Some(dir.path()));
        let found = observe(&host, &crate::detect::SystemClock::default());
        assert_eq!(found[0].neighbour, Neighbour::Resolved("COMPLETE".into()));
        let Neighbour::NotRun(why) = &found[1].neighbour else {
            panic!("{:?}", found[1]);
        };
        assert!(why.starts_with("cannot run ip: "), "{why}");
    }

    #[test]
    fn states_of_the_kernel_are_answers_or_none() {
        for state in [
            "REACHABLE",
            "STALE",
            "DELAY",
            "PROBE",
            "PERMANENT",
            "NOARP",
            "COMPLETE",
        ] {
            assert!(matches!(Neighbour::of(state), Neighbour::Resolved(_)), "{state}");
        }
        for state in ["FAILED", "INCOMPLETE", "NONE"] {
            assert!(
                matches!(Neighbour::of(state), Neighbour::Unresolved(_)),
                "{state}"
            );
        }
    }

    #[test]
    fn a_router_is_judged_by_what_it_was_before() {
        let resolved = || Neighbour::Resolved("REACHABLE".into());
        let failed = || Neighbour::Unresolved("FAILED".into());
        let v4 = |neighbour| vec![gateway("192.0.2.1", neighbour)];
        let one = |before: Vec<Gateway>, after: Vec<Gateway>| {
            let check = compare(&before, &after).remove(0);
            (check.ok, check.required, check.detail)
        };
        let who = "192.0.2.1 on eth0";
        assert_eq!(
            one(v4(resolved()), v4(resolved())),
            (true, true, format!("{who} is REACHABLE"))
        );
        assert_eq!(
            one(v4(resolved()), v4(failed())),
            (false, true, format!("{who} is FAILED"))
        );
        assert_eq!(
            one(v4(failed()), v4(failed())),
            (
                false,
                false,
                format!("{who} is FAILED; it failed before the trial too")
            )
        );
        assert_eq!(
            one(v4(resolved()), vec![]),
            (
                false,
                true,
                "no default route any more, was by 192.0.2.1 on eth0".into()
            )
        );
        let silent = v4(Neighbour::NotRun("no entry in the neighbour table".into()));
        assert_eq!(
            one(v4(resolved()), silent),
            (
                true,
                false,
                format!("not run: {who}: no entry in the neighbour table")
            )
        );
        assert_eq!(compare(&[], &[]), []);
    }
}
