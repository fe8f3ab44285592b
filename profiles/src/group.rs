//! Groups: knobs that stand or fall together, and what kind of evidence may speak for each.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of knobs that is kept or dropped as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Socket buffer limits.
    TcpBuffers,
    /// Congestion control and other behaviour of a TCP sender.
    Congestion,
    /// Queue disciplines on data NICs.
    Qdisc,
    /// NIC descriptor rings.
    NicRings,
    /// NIC queues (channels).
    NicChannels,
    /// Interrupt coalescing.
    NicCoalesce,
    /// Offloads and other NIC features, pause frames.
    NicOffload,
    /// Maximum transmission unit.
    Mtu,
    /// Interrupt placement.
    Irq,
    /// CPU frequency policy and idle states.
    Cpu,
    /// Block device queues.
    Block,
    /// Page cache and virtual memory.
    Vm,
    /// What only a boot can set: the kernel command line.
    Boot,
}

/// What kind of measurement can speak for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// TCP over an emulated path inside the host (network namespaces, veth, netem).
    EmulatedPath,
    /// Traffic with a peer over the real NIC.
    RealNic,
    /// fio on the data store.
    Storage,
    /// Reading the value back is all that can be done, because the setting is harmless by nature.
    ReadBack,
}

impl Group {
    /// All groups, in the order in which they are shown.
    pub const ALL: [Group; 13] = [
        Group::TcpBuffers,
        Group::Congestion,
        Group::Qdisc,
        Group::NicRings,
        Group::NicChannels,
        Group::NicCoalesce,
        Group::NicOffload,
        Group::Mtu,
        Group::Irq,
        Group::Cpu,
        Group::Block,
        Group::Vm,
        Group::Boot,
    ];

    /// The evidence that can speak for this group.
    pub fn evidence(self) -> EvidenceKind {
        match self {
            Group::TcpBuffers | Group::Congestion => EvidenceKind::EmulatedPath,
            Group::Qdisc
            | Group::NicRings
            | Group::NicChannels
            | Group::NicCoalesce
            | Group::NicOffload
            | Group::Mtu
            | Group::Irq => EvidenceKind::RealNic,
            Group::Block | Group::Vm => EvidenceKind::Storage,
            Group::Cpu | Group::Boot => EvidenceKind::ReadBack,
        }
    }

    /// Whether the group, without evidence, is held at stock by default: it could flap a link or lose packets.
    pub fn held_when_unproved(self) -> bool {
        matches!(
            self,
            Group::NicRings
                | Group::NicChannels
                | Group::NicCoalesce
                | Group::NicOffload
                | Group::Mtu
                | Group::Irq
                | Group::Boot
        )
    }

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Group::TcpBuffers => "tcp-buffers",
            Group::Congestion => "congestion",
            Group::Qdisc => "qdisc",
            Group::NicRings => "nic-rings",
            Group::NicChannels => "nic-channels",
            Group::NicCoalesce => "nic-coalesce",
            Group::NicOffload => "nic-offload",
            Group::Mtu => "mtu",
            Group::Irq => "irq",
            Group::Cpu => "cpu",
            Group::Block => "block",
            Group::Vm => "vm",
            Group::Boot => "boot",
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_serialised_form() {
        for group in Group::ALL {
            assert_eq!(serde_json::to_value(group).unwrap(), group.name());
        }
    }
}
