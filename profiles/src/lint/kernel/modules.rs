//! Modules that a value names: congestion controls and queue disciplines.

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

/// The queue disciplines of mainline 6.12 that can stand under a NIC without further options (net/sched/sch_*.c).
pub(in crate::lint) const QDISCS: &[&str] = &[
    "bfifo",
    "cake",
    "codel",
    "fq",
    "fq_codel",
    "fq_pie",
    "hhf",
    "noqueue",
    "pfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "sfb",
    "sfq",
];

/// Congestion controls that Enterprise Linux keeps in the package kernel-modules-extra, as far as that is known; bbr,
/// cubic and reno are in its main packages.
const EXTRA: &[&str] = &["htcp"];

/// Whether Enterprise Linux has the module only in a package of its own.
pub(in crate::lint) fn is_in_extra_package(name: &str) -> bool {
    EXTRA.contains(&name)
}
