//! Modules that a value names: congestion controls and queue disciplines.
//!
//! A name that a kernel always has compiled in is in no list of its modules: `reno`, and all of the queue disciplines of
//! `sch_generic.c`, `sch_fifo.c`, `sch_mq.c` and `sch_blackhole.c`.

/// All congestion controls of mainline 6.12 (net/ipv4/tcp_*.c).
pub(in crate::lint) const CONGESTION: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// What becomes of a device when a queue discipline is `default_qdisc`: what its `init` does without options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum AsDefault {
    /// It stands under each transmit queue.
    Works,
    /// It cannot be set up without options, or not there; the device is then left without a queue.
    Fails,
    /// It is set up and passes no packet on.
    DropsAll,
}

use AsDefault::{DropsAll, Fails, Works};

/// The queue disciplines of mainline 5.14 to 6.17 (net/sched/sch_*.c), but `noop`, which is never registered.
const QDISCS: &[(&str, AsDefault)] = &[
    ("bfifo", Works),
    ("blackhole", DropsAll),
    ("cake", Works),
    ("cbq", Fails),
    ("cbs", Fails),
    ("choke", Fails),
    ("clsact", Fails),
    ("codel", Works),
    ("drr", DropsAll),
    ("dsmark", Fails),
    ("dualpi2", Works),
    ("etf", Fails),
    ("ets", Fails),
    ("fq", Works),
    ("fq_codel", Works),
    ("fq_pie", Works),
    ("gred", Fails),
    ("hfsc", Fails),
    ("hhf", Works),
    ("htb", Fails),
    ("ingress", Fails),
    ("mq", Fails),
    ("mqprio", Fails),
    ("multiq", Fails),
    ("netem", Fails),
    ("noqueue", Works),
    ("pfifo", Works),
    ("pfifo_fast", Works),
    ("pfifo_head_drop", Works),
    ("pie", Works),
    ("plug", DropsAll),
    ("prio", Fails),
    ("qfq", DropsAll),
    ("red", Fails),
    ("sfb", Works),
    ("sfq", Works),
    ("skbprio", Works),
    ("taprio", Fails),
    ("tbf", Fails),
    ("teql", Fails),
];

/// What a queue discipline does as the default; `None` when no mainline kernel has it.
pub(in crate::lint) fn as_default(qdisc: &str) -> Option<AsDefault> {
    QDISCS
        .iter()
        .find(|(name, _)| *name == qdisc)
        .map(|(_, does)| *does)
}

/// The queue disciplines that can be the default.
pub(in crate::lint) fn default_qdiscs() -> impl Iterator<Item = &'static str> {
    QDISCS
        .iter()
        .filter(|(_, does)| *does == Works)
        .map(|(name, _)| *name)
}

/// Congestion controls that Enterprise Linux keeps in the package kernel-modules-extra, as far as that is known; bbr,
/// cubic and reno are in its main packages.
const EXTRA: &[&str] = &["htcp"];

/// Whether Enterprise Linux has the module only in a package of its own.
pub(in crate::lint) fn is_in_extra_package(name: &str) -> bool {
    EXTRA.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From modules.builtin and modules.order of linux-image-6.12.118+deb13-amd64: what begins with `sch_` or `tcp_`.
    const DEBIAN_13: &str = include_str!("debian_13_modules.txt");

    /// Parts that others use; neither a discipline nor a congestion control.
    const PARTS: &[&str] = &["sch_mqprio_lib", "tcp_diag", "tcp_sigpool"];

    /// Names that are always compiled in, and those that 6.12 has no more or not yet.
    const NO_MODULES: &[&str] = &[
        "bfifo",
        "blackhole",
        "clsact",
        "mq",
        "noqueue",
        "pfifo",
        "pfifo_fast",
        "pfifo_head_drop",
        "reno",
        "cbq",
        "dsmark",
        "dualpi2",
    ];

    #[test]
    fn every_module_of_debian_13_is_known_and_every_other_name_is_known_to_be_none() {
        let modules: Vec<&str> = DEBIAN_13
            .lines()
            .filter(|name| !name.starts_with('#') && !PARTS.contains(name))
            .collect();
        for module in &modules {
            let known = match module.split_once('_') {
                Some(("sch", name)) => as_default(name).is_some(),
                Some((_, name)) => CONGESTION.contains(&name),
                None => false,
            };
            assert!(known, "{module} is in no table");
        }
        let is_module = |prefix: &str, name: &str| modules.contains(&format!("{prefix}_{name}").as_str());
        for (name, _) in QDISCS {
            assert_ne!(is_module("sch", name), NO_MODULES.contains(name), "{name}");
        }
        for name in CONGESTION {
            assert_ne!(is_module("tcp", name), NO_MODULES.contains(name), "{name}");
        }
    }
}
