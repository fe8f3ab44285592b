//! What tuned's own profiles set, for an `include=` whose file is not given. Read from tuned 2.25.1 (Debian 13),
//! `profiles/*/tuned.conf`: network, memory, CPU and disk settings only.

/// One of them.
pub(super) struct StockProfile {
    pub(super) name: &'static str,
    pub(super) include: Option<&'static str>,
    /// Section, option and value.
    pub(super) options: &'static [(&'static str, &'static str, &'static str)],
}

const fn profile(
    name: &'static str,
    include: Option<&'static str>,
    options: &'static [(&'static str, &'static str, &'static str)],
) -> StockProfile {
    StockProfile {
        name,
        include,
        options,
    }
}

/// The profiles that a server includes.
const PROFILES: &[StockProfile] = &[
    profile(
        "balanced",
        None,
        &[("cpu", "governor", "schedutil|ondemand|powersave")],
    ),
    profile(
        "powersave",
        None,
        &[("cpu", "governor", "schedutil|conservative|powersave")],
    ),
    profile(
        "throughput-performance",
        None,
        &[
            ("cpu", "governor", "performance"),
            ("vm", "dirty_ratio", "40"),
            ("vm", "dirty_background_ratio", "10"),
            ("disk", "readahead", ">4096"),
            ("sysctl", "vm.swappiness", "10"),
            ("sysctl", "net.core.somaxconn", ">2048"),
        ],
    ),
    profile(
        "network-throughput",
        Some("throughput-performance"),
        &[
            ("sysctl", "net.ipv4.tcp_rmem", "4096 131072 16777216"),
            ("sysctl", "net.ipv4.tcp_wmem", "4096 16384 16777216"),
        ],
    ),
    profile(
        "latency-performance",
        None,
        &[
            ("cpu", "governor", "performance"),
            ("vm", "dirty_ratio", "10"),
            ("vm", "dirty_background_ratio", "3"),
            ("sysctl", "vm.swappiness", "10"),
        ],
    ),
    profile(
        "network-latency",
        Some("latency-performance"),
        &[
            ("sysctl", "net.core.busy_read", "50"),
            ("sysctl", "net.core.busy_poll", "50"),
            ("sysctl", "net.ipv4.tcp_fastopen", "3"),
            ("sysctl", "vm.stat_interval", "10"),
        ],
    ),
    profile(
        "virtual-guest",
        Some("throughput-performance"),
        &[("vm", "dirty_ratio", "30"), ("sysctl", "vm.swappiness", "30")],
    ),
    profile(
        "virtual-host",
        Some("throughput-performance"),
        &[("vm", "dirty_background_ratio", "5")],
    ),
    profile(
        "accelerator-performance",
        None,
        &[
            ("cpu", "governor", "performance"),
            ("vm", "dirty_ratio", "40"),
            ("vm", "dirty_background_ratio", "10"),
            ("disk", "readahead", ">4096"),
            ("sysctl", "vm.swappiness", "10"),
        ],
    ),
];

/// Others that tuned ships, of which nothing is known here.
const OTHERS: &[&str] = &[
    "atomic-guest",
    "atomic-host",
    "aws",
    "balanced-battery",
    "cpu-partitioning",
    "cpu-partitioning-powersave",
    "default",
    "desktop",
    "desktop-powersave",
    "enterprise-storage",
    "hpc-compute",
    "intel-sst",
    "laptop-ac-powersave",
    "laptop-battery-powersave",
    "mssql",
    "openshift",
    "openshift-control-plane",
    "openshift-node",
    "optimize-serial-console",
    "oracle",
    "postgresql",
    "realtime",
    "realtime-virtual-guest",
    "realtime-virtual-host",
    "sap-hana",
    "sap-hana-kvm-guest",
    "sap-netweaver",
    "server-powersave",
    "spectrumscale-ece",
    "spindown-disk",
];

/// The profile with this name, when its values are known.
pub(super) fn find(name: &str) -> Option<&'static StockProfile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Whether tuned ships a profile of this name.
pub(super) fn exists(name: &str) -> bool {
    find(name).is_some() || OTHERS.contains(&name)
}

/// The profile of tuned that a name was meant to be.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let names = PROFILES
        .iter()
        .map(|profile| profile.name)
        .chain(OTHERS.iter().copied());
    crate::suggest::closest(name, names)
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, name)| name)
}
