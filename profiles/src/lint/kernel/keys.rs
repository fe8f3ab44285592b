//! Whether a sysctl exists, and which one was meant where it does not.

use super::table::{INT, Kind, Row};
use super::{Kernel, host, ipv4};
use crate::lint::key::SysctlKey;
use crate::suggest::closest;

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Known {
    /// It exists.
    Yes,
    /// Mainline has it since this version only.
    Since((u32, u32)),
    /// No kernel of the tables has it.
    No,
    /// A family that the tables do not list.
    NotListed,
}

/// Keys of each interface below `net.ipv4.conf` (net/ipv4/devinet.c).
const IPV4_CONF: &[&str] = &[
    "accept_local",
    "accept_redirects",
    "accept_source_route",
    "arp_accept",
    "arp_announce",
    "arp_evict_nocarrier",
    "arp_filter",
    "arp_ignore",
    "arp_notify",
    "bc_forwarding",
    "bootp_relay",
    "disable_policy",
    "disable_xfrm",
    "drop_gratuitous_arp",
    "drop_unicast_in_l2_multicast",
    "force_igmp_version",
    "forwarding",
    "igmpv2_unsolicited_report_interval",
    "igmpv3_unsolicited_report_interval",
    "ignore_routes_with_linkdown",
    "log_martians",
    "mc_forwarding",
    "medium_id",
    "promote_secondaries",
    "proxy_arp",
    "proxy_arp_pvlan",
    "route_localnet",
    "rp_filter",
    "secure_redirects",
    "send_redirects",
    "shared_media",
    "src_valid_mark",
    "tag",
];

/// Keys of each interface below `net.ipv4.neigh` and `net.ipv6.neigh` (net/core/neighbour.c).
const NEIGH: &[&str] = &[
    "anycast_delay",
    "app_solicit",
    "base_reachable_time",
    "base_reachable_time_ms",
    "delay_first_probe_time",
    "gc_interval",
    "gc_stale_time",
    "gc_thresh1",
    "gc_thresh2",
    "gc_thresh3",
    "interval_probe_time_ms",
    "locktime",
    "mcast_resolicit",
    "mcast_solicit",
    "proxy_delay",
    "proxy_qlen",
    "retrans_time",
    "retrans_time_ms",
    "ucast_solicit",
    "unres_qlen",
    "unres_qlen_bytes",
];

/// Families whose keys are there only once a module is loaded, by their first parts.
const MODULES: &[(&str, &str)] = &[
    ("net/netfilter/nf_conntrack", "nf_conntrack"),
    ("net/nf_conntrack_max", "nf_conntrack"),
    ("net/bridge/", "br_netfilter"),
    ("sunrpc/", "sunrpc"),
    ("net/sctp/", "sctp"),
    ("net/rds/", "rds"),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    [ipv4::TCP, ipv4::OTHER, host::CORE, host::VM, host::SUNRPC]
        .into_iter()
        .flatten()
}

/// The row of a key.
pub(super) fn row_of(key: &SysctlKey) -> Option<&'static Row> {
    let dotted = key.to_string();
    rows().find(|row| row.name == dotted)
}

/// The type of a key, as far as it is known.
pub(super) fn kind_of(key: &SysctlKey) -> Option<Kind> {
    let interface = leaves_of(key).is_some_and(|(leaves, leaf)| leaves.contains(&leaf));
    row_of(key)
        .map(|row| row.kind)
        .or_else(|| interface.then_some(INT))
}

/// The list of keys of an interface that a key belongs to, and its own last part.
fn leaves_of(key: &SysctlKey) -> Option<(&'static [&'static str], &str)> {
    let parts: Vec<&str> = key.path().split('/').collect();
    match parts[..] {
        ["net", "ipv4", "conf", _, leaf] => Some((IPV4_CONF, leaf)),
        ["net", "ipv4" | "ipv6", "neigh", _, leaf] => Some((NEIGH, leaf)),
        _ => None,
    }
}

/// Whether all keys of its family are in the tables.
fn is_listed(key: &SysctlKey) -> bool {
    let path = key.path();
    ["net/core/", "net/ipv4/", "vm/", "sunrpc/"]
        .iter()
        .any(|family| path.starts_with(family))
}

/// What is known of a key under a kernel.
pub(in crate::lint) fn look_up(key: &SysctlKey, kernel: &Kernel) -> Known {
    if let Some(row) = row_of(key) {
        return match row.since {
            Some(version) if !kernel.has(version) => Known::Since(version),
            _ => Known::Yes,
        };
    }
    if let Some((leaves, leaf)) = leaves_of(key) {
        return if leaves.contains(&leaf) {
            Known::Yes
        } else {
            Known::No
        };
    }
    // Later kernels have more; what is like none of ours may be one of theirs.
    let slip = nearest_key(key).is_some();
    if is_listed(key) && (slip || !kernel.is_newer_than_tables()) {
        return Known::No;
    }
    // Outside the families, only a slip of the pen is certain to be none: `net.croe.rmem_max`.
    if slip { Known::No } else { Known::NotListed }
}

/// The key that was meant: one that is at most two letters away.
pub(in crate::lint) fn nearest_key(key: &SysctlKey) -> Option<String> {
    if let Some((leaves, leaf)) = leaves_of(key) {
        let head = key.path().strip_suffix(leaf)?;
        let near = closest(leaf, leaves.iter().copied()).filter(|(distance, _)| *distance <= 2)?;
        return Some(SysctlKey::parse(&format!("{head}{}", near.1)).to_string());
    }
    let dotted = key.to_string();
    let near = closest(&dotted, rows().map(|row| row.name));
    near.filter(|(distance, _)| (1..=2).contains(distance))
        .map(|(_, name)| name.to_owned())
}

/// The module that has to be loaded before a key exists.
pub(in crate::lint) fn module_of(key: &SysctlKey) -> Option<&'static str> {
    let of = |(prefix, _): &&(&str, &str)| key.path().starts_with(prefix);
    MODULES.iter().find(of).map(|(_, module)| *module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Known {
        look_up(&SysctlKey::parse(name), &Kernel::of_debian_13())
    }

    #[test]
    fn a_key_exists_is_too_new_is_none_or_cannot_be_told() {
        for (name, expected) in [
            ("net.ipv4.tcp_rmem", Known::Yes),
            ("net/core/rmem_max", Known::Yes),
            ("net.ipv4.conf.all.rp_filter", Known::Yes),
            ("net.ipv4.conf.all.rp_fliter", Known::No),
            ("net.ipv4.tcp_rto_max_ms", Known::Since((6, 15))),
            ("net.ipv4.tcp_turbo", Known::No),
            ("net.croe.rmem_max", Known::No),
            ("kernel.pid_max", Known::NotListed),
        ] {
            assert_eq!(known(name), expected, "{name}");
        }
    }

    #[test]
    fn the_nearest_key_is_at_most_two_letters_away() {
        for (name, expected) in [
            ("net.ipv4.tcp_rmen", Some("net.ipv4.tcp_rmem")),
            (
                "net.ipv4.conf.eth0/100.rp_fliter",
                Some("net.ipv4.conf.eth0/100.rp_filter"),
            ),
            ("net.ipv4.tcp_turbo_charger", None),
        ] {
            assert_eq!(
                nearest_key(&SysctlKey::parse(name)).as_deref(),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn no_row_stands_twice() {
        let mut names: Vec<_> = rows().map(|row| row.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
