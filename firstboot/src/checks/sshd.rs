//! Does something listen where sshd should?
//!
//! Who listens does not matter: sshd itself, or systemd in its place. A listener on the loopback is of no use to
//! anybody who wants in.

mod units;

use super::judged;
use crate::detect::Source;
use crate::detect::source::ONE_TABLE;
use crate::host::Host;
use dtnforge_profiles::verdict::Check;
use std::collections::BTreeSet;

const CONFIG: &str = "/etc/ssh/sshd_config";
const DROP_INS: &str = "/etc/ssh/sshd_config.d";
/// The port of a configuration that names none.
const DEFAULT: u16 = 22;
/// State of a listening socket (`TCP_LISTEN`).
const LISTEN: &str = "0A";

/// The ports of sshd that something listens on, loopback aside.
pub fn listening(host: &Host) -> BTreeSet<u16> {
    // Listeners come first in a table, so one that was cut (a busy node) has them all.
    let tables: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|path| host.content(path, ONE_TABLE).ok())
        .map(|content| String::from_utf8_lossy(&content.bytes).into_owned())
        .collect();
    let open: BTreeSet<u16> = tables
        .iter()
        .flat_map(|table| listeners(table))
        .map(|listener| listener.port)
        .collect();
    let mut seen: BTreeSet<u16> = open.intersection(&expected(host)).copied().collect();
    if seen.is_empty() {
        // Options of the unit, a drop-in of the socket, a file that is included: the unit knows where it listens.
        let of_units = units::ports(host, &tables);
        seen = open.intersection(&of_units).copied().collect();
    }
    seen
}

/// Why nobody is to get in by sshd: all units that there are of it are masked.
pub fn masked(host: &Host) -> Option<String> {
    units::masked(host)
}

/// The standard port and those of the configuration.
fn expected(host: &Host) -> BTreeSet<u16> {
    let mut ports = BTreeSet::from([DEFAULT]);
    let drop_ins = host.list(DROP_INS).unwrap_or_default();
    let files = drop_ins.iter().map(|name| format!("{DROP_INS}/{name}"));
    for path in files.chain([CONFIG.to_owned()]) {
        // Without a configuration the standard port is all that there is.
        ports.extend(configured(&host.text(&path, ONE_TABLE).unwrap_or_default()));
    }
    ports
}

/// `Port` and the port of `ListenAddress`, up to the first `Match`, which may hold neither.
fn configured(config: &str) -> BTreeSet<u16> {
    let words = |line: &str| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line
            .split(|c: char| c.is_whitespace() || c == '=')
            .filter(|word| !word.is_empty());
        Some((words.next()?.to_ascii_lowercase(), words.next()?.to_owned()))
    };
    let lines = config
        .lines()
        .filter_map(words)
        .take_while(|(key, _)| key != "match");
    lines
        .filter_map(|(key, value)| match key.as_str() {
            "port" => value.parse().ok(),
            "listenaddress" => value
                .parse()
                .map(|address: std::net::SocketAddr| address.port())
                .ok(),
            _ => None,
        })
        .collect()
}

/// A listening socket.
struct Listener {
    port: u16,
    inode: u64,
}

/// The listening sockets of a table (`sl local_address rem_address st ... inode ...`) that are not bound to the loopback.
fn listeners(table: &str) -> Vec<Listener> {
    let listener = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        let listens = *fields.get(3)? == LISTEN && !is_loopback(address);
        let port = u16::from_str_radix(port, 16).ok()?;
        // 0 is the inode of no socket.
        let inode = fields.get(9).and_then(|inode| inode.parse().ok()).unwrap_or(0);
        listens.then_some(Listener { port, inode })
    };
    table.lines().skip(1).filter_map(listener).collect()
}

/// Addresses stand there as the memory of the CPU has them, four bytes a word.
fn is_loopback(hex: &str) -> bool {
    let word = |at: usize| {
        let digits = hex.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    match hex.len() {
        8 => word(0).is_some_and(|[first, ..]| first == 127),
        32 => {
            let words: Option<Vec<[u8; 4]>> = (0..4).map(word).collect();
            words.is_some_and(|words| words.concat() == std::net::Ipv6Addr::LOCALHOST.octets())
        }
        _ => false,
    }
}

/// All ports that were open have to be open still.
pub(super) fn compare(before: &BTreeSet<u16>, after: &BTreeSet<u16>) -> Check {
    let lost: Vec<u16> = before.difference(after).copied().collect();
    let detail = match (after.is_empty(), lost.is_empty()) {
        (true, true) => "nothing listens on a port of sshd".to_owned(),
        (_, false) => format!("nothing listens any more on {lost:?}"),
        (false, true) => format!("listening on {after:?}"),
    };
    judged(
        "sshd".to_owned(),
        !before.is_empty(),
        lost.is_empty() && !after.is_empty(),
        detail,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_taken_from_the_configuration_as_sshd_reads_it() {
        let config = "# Port 1\n  port 2222\nPort=2022 # second\nListenAddress [::]:2300\nListenAddress 0.0.0.0\n\
                      PermitRootLogin no\nMatch User x\nPort 9999\n";
        assert_eq!(configured(config), BTreeSet::from([2022, 2222, 2300]));
        assert_eq!(configured("Port many\n"), BTreeSet::new());
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn only_listeners_that_can_be_reached_count() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                   0: 00000000:0016 00000000:0000 0A 00000000:00000000\n\
                   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
                   2: 0F02000A:0050 0202000A:D2F0 01 00000000:00000000\n";
        let ports = |table| {
            listeners(table)
                .iter()
                .map(|listener| listener.port)
                .collect::<Vec<u16>>()
        };
        assert_eq!(ports(tcp), [22]);
        let tcp6 = "  sl  local_address                         remote_address                        st\n\
                    0: 00000000000000000000000000000000:08AE 00000000000000000000000000000000:0000 0A\n\
                    1: 00000000000000000000000001000000:0277 00000000000000000000000000000000:0000 0A\n";
        assert_eq!(ports(tcp6), [2222]);
    }

    #[test]
    fn a_lost_port_fails_and_one_that_never_was_does_not_count() {
        let set = |ports: &[u16]| ports.iter().copied().collect::<BTreeSet<u16>>();
        let of = |before: &[u16], after: &[u16]| {
            let check = compare(&set(before), &set(after));
            (check.ok, check.required, check.detail)
        };
        assert_eq!(of(&[22], &[22]), (true, true, "listening on {22}".into()));
        assert_eq!(
            of(&[22, 2222], &[2222]),
            (false, true, "nothing listens any more on [22]".into())
        );
        assert_eq!(
            of(&[22], &[]),
            (false, true, "nothing listens any more on [22]".into())
        );
        let (ok, required, detail) = of(&[], &[]);
        assert_eq!((ok, required), (false, false));
        assert_eq!(
            detail,
            "nothing listens on a port of sshd; it failed before the trial too"
        );
    }

    #[test]
    fn a_host_is_read_with_its_drop_ins() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("etc/ssh/sshd_config.d/10-port.conf", "Port 2222\n");
        write(
            "proc/net/tcp",
            "sl\n 0: 00000000:08AE 00000000:0000 0A\n 1: 00000000:0CEA 00000000:0000 0A\n",
        );
        let host = Host::at(dir.path(), None);
        assert_eq!(listening(&host), BTreeSet::from([2222]));
    }
}
