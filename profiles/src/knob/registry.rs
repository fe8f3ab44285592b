//! The table of all knobs. Ranges and effects: kernel documentation (ip-sysctl.rst, admin-guide/sysctl/{net,vm}.rst)
//! and the drivers' sources, kernel 6.12.

use super::definition::{Disrupts, KnobDef, Owner, Rounding, Scope, ValueKind};
use super::id::KnobId;
use crate::group::Group;
use crate::site::MAX_PACING;

const INT_MAX: i64 = 2_147_483_647;

/// A sysctl owned by sysctl.d that interrupts nothing: most of the table.
const fn sysctl(
    pattern: &'static str,
    group: Group,
    scope: Scope,
    kind: ValueKind,
    unit: &'static str,
    about: &'static str,
) -> KnobDef {
    KnobDef {
        pattern,
        kind,
        unit,
        owner: Owner::SysctlD,
        group,
        scope,
        disrupts: Disrupts::None,
        rounding: Rounding::Exact,
        after: &[],
        modules: &[],
        about,
    }
}

/// A NIC setting owned by a udev rule.
const fn nic(
    pattern: &'static str,
    group: Group,
    kind: ValueKind,
    unit: &'static str,
    disrupts: Disrupts,
    after: &'static [&'static str],
    about: &'static str,
) -> KnobDef {
    KnobDef {
        pattern,
        kind,
        unit,
        owner: Owner::Udev,
        group,
        scope: Scope::Device,
        disrupts,
        rounding: Rounding::Clamp,
        after,
        modules: &[],
        about,
    }
}

const BYTES: ValueKind = ValueKind::Integer {
    min: 4608,
    max: INT_MAX,
};
const BOOL: ValueKind = ValueKind::Integer { min: 0, max: 1 };
const RING: ValueKind = ValueKind::Integer { min: 1, max: 65_536 };

/// All knobs, grouped as they are shown.
pub static REGISTRY: &[KnobDef] = &[
    sysctl(
        "sysctl:net.core.rmem_max",
        Group::TcpBuffers,
        Scope::Host,
        BYTES,
        "byte",
        "Largest receive buffer that a program may ask for by SO_RCVBUF; not a limit of autotuned TCP.",
    ),
    sysctl(
        "sysctl:net.core.wmem_max",
        Group::TcpBuffers,
        Scope::Host,
        BYTES,
        "byte",
        "Largest send buffer that a program may ask for by SO_SNDBUF; not a limit of autotuned TCP.",
    ),
    sysctl(
        "sysctl:net.ipv4.tcp_rmem",
        Group::TcpBuffers,
        Scope::Netns,
        ValueKind::Triple {
            min: 4096,
            max: INT_MAX,
        },
        "byte",
        "Receive buffer of a TCP socket: minimum, start, and the most that autotuning may reach.",
    ),
    sysctl(
        "sysctl:net.ipv4.tcp_wmem",
        Group::TcpBuffers,
        Scope::Netns,
        ValueKind::Triple { min: 1, max: INT_MAX },
        "byte",
        "Send buffer of a TCP socket: minimum, start, and the most that autotuning may reach.",
    ),
    sysctl(
        "sysctl:net.core.optmem_max",
        Group::TcpBuffers,
        Scope::Host,
        ValueKind::Integer { min: 0, max: INT_MAX },
        "byte",
        "Ancillary buffer of a socket; MSG_ZEROCOPY needs about 1 MiB.",
    ),
    KnobDef {
        modules: &[("bbr", "tcp_bbr"), ("htcp", "tcp_htcp")],
        ..sysctl(
            "sysctl:net.ipv4.tcp_congestion_control",
            Group::Congestion,
            Scope::Netns,
            ValueKind::Word(&[]),
            "",
            "Congestion control of new sockets; listeners keep the one they started with.",
        )
    },
    sysctl(
        "sysctl:net.ipv4.tcp_mtu_probing",
        Group::Congestion,
        Scope::Netns,
        ValueKind::Integer { min: 0, max: 2 },
        "",
        "1: probe the path MTU once a black hole is suspected. 2 probes always and hurts on lossy paths.",
    ),
    sysctl(
        "sysctl:net.ipv4.tcp_slow_start_after_idle",
        Group::Congestion,
        Scope::Netns,
        BOOL,
        "",
        "0: keep the congestion window over idle gaps longer than the retransmission time-out.",
    ),
    sysctl(
        "sysctl:net.ipv4.tcp_no_metrics_save",
        Group::Congestion,
        Scope::Netns,
        BOOL,
        "",
        "1: do not start a connection from what the last one to the same host saw.",
    ),
    sysctl(
        "sysctl:net.ipv4.tcp_notsent_lowat",
        Group::Congestion,
        Scope::Netns,
        ValueKind::Integer {
            min: 0,
            max: 4_294_967_295,
        },
        "byte",
        "Unsent bytes above which a socket is not writable; bounds queueing inside a server.",
    ),
    KnobDef {
        modules: &[("fq", "sch_fq"), ("fq_codel", "sch_fq_codel")],
        ..sysctl(
            "sysctl:net.core.default_qdisc",
            Group::Qdisc,
            Scope::Host,
            ValueKind::Word(&[]),
            "",
            "Queue discipline of a device that is activated from now on; devices that are up keep theirs.",
        )
    },
    KnobDef {
        pattern: "qdisc/<dev>:leaf",
        kind: ValueKind::Word(&["fq", "fq_codel", "pfifo_fast"]),
        unit: "",
        // At boot default_qdisc does it before the link is up; only a trial touches a device that is up.
        owner: Owner::SysctlD,
        group: Group::Qdisc,
        scope: Scope::Device,
        disrupts: Disrupts::Queue,
        rounding: Rounding::Exact,
        after: &["sysctl:net.core.default_qdisc", "nic/<dev>:channels.combined"],
        modules: &[("fq", "sch_fq"), ("fq_codel", "sch_fq_codel")],
        about: "Queue discipline under each transmit queue of a data NIC; the mq root stays.",
    },
    KnobDef {
        pattern: "qdisc/<dev>:maxrate",
        kind: ValueKind::Integer {
            min: 0,
            max: MAX_PACING as i64,
        },
        unit: "Mb/s",
        owner: Owner::Udev,
        group: Group::Qdisc,
        scope: Scope::Device,
        disrupts: Disrupts::Queue,
        rounding: Rounding::Exact,
        after: &["qdisc/<dev>:leaf"],
        modules: &[],
        about: "Rate that fq lets one flow of a data NIC have; 0 is no limit.",
    },
    sysctl(
        "sysctl:net.core.netdev_max_backlog",
        Group::Irq,
        Scope::Host,
        ValueKind::Integer { min: 1, max: 10_000 },
        "packet per CPU",
        "Input queue of RPS, loopback and veth; drivers with NAPI pass it by.",
    ),
    nic(
        "nic/<dev>:mtu",
        Group::Mtu,
        ValueKind::Integer {
            min: 576,
            max: 65_535,
        },
        "byte",
        Disrupts::Link,
        &[],
        "Largest packet without link header; only where the whole layer 2 network carries it.",
    ),
    nic(
        "nic/<dev>:feature.lro",
        Group::NicOffload,
        ValueKind::Switch,
        "",
        Disrupts::Queue,
        &["nic/<dev>:mtu"],
        "Large receive offload; must be off on a host that forwards or bridges.",
    ),
    nic(
        "nic/<dev>:channels.combined",
        Group::NicChannels,
        ValueKind::Integer { min: 1, max: 4096 },
        "queue",
        Disrupts::Link,
        &["nic/<dev>:feature.lro"],
        "Number of combined receive and transmit queues.",
    ),
    nic(
        "nic/<dev>:ring.rx",
        Group::NicRings,
        RING,
        "descriptor",
        Disrupts::Link,
        &[
            "nic/<dev>:mtu",
            "nic/<dev>:feature.lro",
            "nic/<dev>:channels.combined",
        ],
        "Receive descriptors of each queue.",
    ),
    nic(
        "nic/<dev>:ring.tx",
        Group::NicRings,
        RING,
        "descriptor",
        Disrupts::Link,
        &[
            "nic/<dev>:mtu",
            "nic/<dev>:feature.lro",
            "nic/<dev>:channels.combined",
        ],
        "Transmit descriptors of each queue.",
    ),
    nic(
        "nic/<dev>:pause.rx",
        Group::NicOffload,
        ValueKind::Switch,
        "",
        Disrupts::Link,
        &["nic/<dev>:ring.rx"],
        "Whether pause frames of the switch are obeyed. It has to agree with the switch; absent on VFs.",
    ),
    nic(
        "nic/<dev>:pause.tx",
        Group::NicOffload,
        ValueKind::Switch,
        "",
        Disrupts::Link,
        &["nic/<dev>:ring.tx"],
        "Whether the port sends pause frames. A slow receiver then stops the switch port, for others too.",
    ),
    nic(
        "nic/<dev>:coalesce.adaptive-rx",
        Group::NicCoalesce,
        ValueKind::Switch,
        "",
        Disrupts::None,
        &["nic/<dev>:ring.rx"],
        "Interrupt moderation that follows the load, receive side.",
    ),
    nic(
        "nic/<dev>:coalesce.adaptive-tx",
        Group::NicCoalesce,
        ValueKind::Switch,
        "",
        Disrupts::None,
        &["nic/<dev>:ring.tx"],
        "Interrupt moderation that follows the load, transmit side.",
    ),
    sysctl(
        "sysctl:vm.dirty_bytes",
        Group::Vm,
        Scope::Host,
        ValueKind::Integer {
            min: 8192,
            max: i64::MAX,
        },
        "byte",
        "Dirty page cache at which a writer has to write back itself; sets vm.dirty_ratio to 0.",
    ),
    sysctl(
        "sysctl:vm.dirty_background_bytes",
        Group::Vm,
        Scope::Host,
        ValueKind::Integer {
            min: 8192,
            max: i64::MAX,
        },
        "byte",
        "Dirty page cache at which write-back starts; sets vm.dirty_background_ratio to 0.",
    ),
    sysctl(
        "sysctl:vm.swappiness",
        Group::Vm,
        Scope::Host,
        ValueKind::Integer { min: 0, max: 200 },
        "",
        "How soon anonymous memory is swapped out against page cache.",
    ),
    KnobDef {
        pattern: "tuned:profile",
        kind: ValueKind::Word(&[]),
        unit: "",
        owner: Owner::Tuned,
        group: Group::Cpu,
        scope: Scope::Host,
        disrupts: Disrupts::None,
        rounding: Rounding::Exact,
        after: &[],
        modules: &[],
        about: "The active tuned profile; ours includes a stock one and repeats our values where that would reset them.",
    },
    KnobDef {
        pattern: "cpu:governor",
        kind: ValueKind::Word(&[
            "performance",
            "powersave",
            "schedutil",
            "ondemand",
            "conservative",
        ]),
        unit: "",
        owner: Owner::Tuned,
        group: Group::Cpu,
        scope: Scope::Host,
        disrupts: Disrupts::None,
        rounding: Rounding::Exact,
        after: &["tuned:profile"],
        modules: &[],
        about: "CPU frequency governor of all policies; absent in most guests.",
    },
    KnobDef {
        pattern: "block/<dev>:scheduler",
        kind: ValueKind::Word(&["none", "mq-deadline", "kyber", "bfq"]),
        unit: "",
        owner: Owner::Tuned,
        group: Group::Block,
        scope: Scope::Device,
        disrupts: Disrupts::None,
        rounding: Rounding::Exact,
        after: &["tuned:profile"],
        modules: &[("kyber", "kyber_iosched"), ("bfq", "bfq")],
        about: "Order of the requests of a disk; `none` for drives with a queue for each CPU.",
    },
    KnobDef {
        pattern: "block/<dev>:read_ahead_kb",
        kind: ValueKind::Integer { min: 0, max: 65_536 },
        unit: "KiB",
        owner: Owner::Tuned,
        group: Group::Block,
        scope: Scope::Device,
        disrupts: Disrupts::None,
        rounding: Rounding::Exact,
        after: &["tuned:profile"],
        modules: &[],
        about: "Read-ahead of buffered sequential reads.",
    },
    KnobDef {
        pattern: "boot:iommu",
        kind: ValueKind::Word(&["pt"]),
        unit: "",
        owner: Owner::KernelCommandLine,
        group: Group::Boot,
        scope: Scope::Boot,
        disrupts: Disrupts::Reboot,
        rounding: Rounding::Exact,
        after: &[],
        modules: &[],
        about: "IOMMU pass-through for host drivers, where an IOMMU is on.",
    },
];

/// The definition for a knob; `None` for a name that the registry does not know.
pub fn definition_of(knob: &KnobId) -> Option<&'static KnobDef> {
    let pattern = knob.pattern();
    REGISTRY.iter().find(|def| def.pattern == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_a_knob_and_stands_once() {
        for (index, def) in REGISTRY.iter().enumerate() {
            let id: KnobId = def.pattern.replace("<dev>", "x").parse().unwrap();
            assert_eq!(id.pattern(), def.pattern);
            assert!(
                REGISTRY[..index].iter().all(|other| other.pattern != def.pattern),
                "{} twice",
                def.pattern
            );
        }
    }

    #[test]
    fn what_comes_first_is_known() {
        for def in REGISTRY {
            for first in def.after {
                assert!(
                    REGISTRY.iter().any(|other| other.pattern == *first),
                    "{}: {first}",
                    def.pattern
                );
            }
        }
    }
}
