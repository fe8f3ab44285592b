//! What tuned's own profiles set that a profile of ours may set too.
//!
//! Read from tuned 2.25.1, `profiles/{throughput-performance,virtual-guest,latency-performance}/tuned.conf`. Each has a
//! `[vm]` section with ratios and a `[sysctl]` section. A ratio resets its `_bytes` twin to zero, so it counts as
//! resetting that.

use serde::{Deserialize, Serialize};

/// A profile of tuned that ours may include.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Include {
    /// For machines.
    ThroughputPerformance,
    /// For guests; includes throughput-performance itself.
    VirtualGuest,
    /// For machines that must answer at once: no idle state that takes long to leave.
    LatencyPerformance,
}

/// One setting of an included profile that takes away a value of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// The sysctl whose value is lost.
    pub sysctl: &'static str,
    /// The option of the `[vm]` section that does it and has to be dropped; `None`: the sysctl itself is set.
    pub vm_option: Option<&'static str>,
}

const RESETS: &[Reset] = &[
    Reset {
        sysctl: "vm.dirty_bytes",
        vm_option: Some("dirty_ratio"),
    },
    Reset {
        sysctl: "vm.dirty_background_bytes",
        vm_option: Some("dirty_background_ratio"),
    },
    Reset {
        sysctl: "vm.swappiness",
        vm_option: None,
    },
    SOMAXCONN,
];

/// Not in latency-performance.
const SOMAXCONN: Reset = Reset {
    sysctl: "net.core.somaxconn",
    vm_option: None,
};

impl Include {
    /// All of them.
    pub const ALL: [Include; 3] = [
        Include::ThroughputPerformance,
        Include::VirtualGuest,
        Include::LatencyPerformance,
    ];

    /// The name that tuned knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Include::ThroughputPerformance => "throughput-performance",
            Include::VirtualGuest => "virtual-guest",
            Include::LatencyPerformance => "latency-performance",
        }
    }

    /// The profile with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|include| include.name() == name)
    }

    /// How it takes away the value of a sysctl, when it does.
    pub fn reset_of(self, sysctl: &str) -> Option<&'static Reset> {
        let sets = |reset: &&Reset| self != Include::LatencyPerformance || **reset != SOMAXCONN;
        RESETS.iter().filter(sets).find(|reset| reset.sysctl == sysctl)
    }
}
