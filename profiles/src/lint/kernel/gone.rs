//! Sysctls of old guides that are gone, or that do nothing any more.
//!
//! From Documentation/networking/ip-sysctl.rst of 6.12 and the history of net/ipv4, mm and kernel/sched.

use super::Kernel;
use crate::lint::key::SysctlKey;

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) struct Gone {
    name: &'static str,
    /// A version that is known to be without it, or to do nothing with it.
    since: (u32, u32),
    /// Whether it can still be written.
    pub(in crate::lint) is_there: bool,
    /// What to do.
    pub(in crate::lint) hint: &'static str,
}

impl Gone {
    /// What to say of it.
    pub(in crate::lint) fn what(&self) -> String {
        let (major, minor) = self.since;
        match self.is_there {
            true => format!("does nothing in Linux {major}.{minor} and later"),
            false => format!("is not in Linux {major}.{minor} and later"),
        }
    }
}

const REMOVE: &str = "remove the line";
const SCHED: &str = "remove the line; the value is now below /sys/kernel/debug/sched";

const fn idle(name: &'static str, since: (u32, u32)) -> Gone {
    let (is_there, hint) = (true, REMOVE);
    Gone {
        name,
        since,
        is_there,
        hint,
    }
}

const fn removed(name: &'static str, since: (u32, u32), hint: &'static str) -> Gone {
    let is_there = false;
    Gone {
        name,
        since,
        is_there,
        hint,
    }
}

const TABLE: &[Gone] = &[
    idle("net.ipv4.tcp_low_latency", (4, 14)),
    idle("net.ipv4.tcp_fack", (4, 15)),
    idle("net.ipv4.tcp_adv_win_scale", (6, 6)),
    idle("net.ipv4.ipfrag_low_thresh", (4, 17)),
    idle("net.ipv4.xfrm4_gc_thresh", (4, 14)),
    idle("net.ipv4.route.max_size", (3, 6)),
    idle("net.ipv6.route.max_size", (6, 3)),
    idle("net.ipv4.udp_wmem_min", (4, 15)),
    removed(
        "net.ipv4.tcp_tw_recycle",
        (4, 12),
        "remove the line; it broke clients behind NAT, and nothing replaces it",
    ),
    removed("net.ipv4.tcp_abc", (3, 10), REMOVE),
    removed("net.ipv4.tcp_frto_response", (3, 10), REMOVE),
    removed("net.ipv4.tcp_cookie_size", (3, 10), REMOVE),
    removed("net.ipv4.tcp_max_ssthresh", (3, 19), REMOVE),
    removed("net.ipv4.tcp_dma_copybreak", (4, 2), REMOVE),
    removed("net.ipv4.tcp_thin_dupack", (4, 15), REMOVE),
    removed(
        "net.ipv4.tcp_bic",
        (2, 6),
        "set net.ipv4.tcp_congestion_control instead",
    ),
    removed(
        "net.ipv4.tcp_westwood",
        (2, 6),
        "set net.ipv4.tcp_congestion_control instead",
    ),
    removed(
        "net.ipv4.tcp_vegas_cong_avoid",
        (2, 6),
        "set net.ipv4.tcp_congestion_control instead",
    ),
    removed(
        "net.ipv4.ip_conntrack_max",
        (2, 6),
        "the key is net.netfilter.nf_conntrack_max",
    ),
    removed(
        "net.ipv4.netfilter.ip_conntrack_max",
        (4, 9),
        "the key is net.netfilter.nf_conntrack_max",
    ),
    removed(
        "vm.nr_pdflush_threads",
        (6, 12),
        "remove the line; writeback threads need no number",
    ),
    removed("vm.block_dump", (5, 13), "remove the line; use blktrace"),
    removed(
        "vm.percpu_pagelist_fraction",
        (5, 14),
        "the key is vm.percpu_pagelist_high_fraction",
    ),
    removed("kernel.sched_min_granularity_ns", (5, 13), SCHED),
    removed("kernel.sched_wakeup_granularity_ns", (5, 13), SCHED),
    removed("kernel.sched_latency_ns", (5, 13), SCHED),
    removed("kernel.sched_migration_cost_ns", (5, 13), SCHED),
    removed("kernel.sched_nr_migrate", (5, 13), SCHED),
    removed("kernel.sched_tunable_scaling", (5, 13), SCHED),
];

/// What became of a key under a kernel; `None` for one that works.
pub(in crate::lint) fn gone(key: &SysctlKey, kernel: &Kernel) -> Option<&'static Gone> {
    let dotted = key.to_string();
    let entry = TABLE.iter().find(|entry| entry.name == dotted)?;
    // EL9 is 5.14 by its number: what went away later may still be there.
    (kernel.version >= entry.since).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;

    #[test]
    fn a_key_is_gone_from_its_version_on() {
        let win_scale = SysctlKey::parse("net.ipv4.tcp_adv_win_scale");
        let debian = Kernel::of_debian_13();
        assert_eq!(
            gone(&win_scale, &debian).map(Gone::what).as_deref(),
            Some("does nothing in Linux 6.6 and later")
        );
        let facts = Facts::read("[host]\nkernel = '5.14.0-503.el9.x86_64'\n").unwrap();
        assert_eq!(gone(&win_scale, &Kernel::of(&facts).unwrap()), None);
        assert_eq!(gone(&SysctlKey::parse("net.ipv4.tcp_sack"), &debian), None);
    }
}
