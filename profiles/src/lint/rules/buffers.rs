//! Sizes of socket buffers.
//!
//! What limits what: an autotuned TCP socket grows up to tcp_rmem[2] and tcp_wmem[2], and nothing of net.core limits it.
//! net.core.rmem_max and wmem_max limit what a program asks for by SO_RCVBUF and SO_SNDBUF, which ends autotuning for
//! its socket. So a tcp_rmem[2] above rmem_max is no mistake, and no lint says that it is.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::setting::{Origin, Setting};
use crate::lint::text::size;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "rmem-max-alone",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Files,
        what: "rmem_max or wmem_max is raised, and tcp_rmem or tcp_wmem is not",
        reason: "net.core.rmem_max limits what a program asks for by SO_RCVBUF (and the kernel doubles the request). \
                 Autotuned TCP does not look at it: it grows up to tcp_rmem[2], 6 MiB by default, and 4 MiB for \
                 tcp_wmem[2]. So this raises nothing for TCP. The other way round is fine: tcp_rmem[2] may be larger \
                 than rmem_max.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_rmem); Documentation/admin-guide/sysctl/net.rst; \
                 Linux 6.12, net/core/sock.c, net/ipv4/tcp_input.c (tcp_rcv_space_adjust)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.rmem_max = 67108864\nnet.ipv4.tcp_wmem = 4096 16384 33554432\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.rmem_max = 16777216\nnet.ipv4.tcp_rmem = 4096 131072 33554432\n",
        )]),
        check: max_alone,
    },
    Lint {
        id: "rmem-max-coarse-window",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Files,
        what: "rmem_max is so far above tcp_rmem[2] that it coarsens every TCP window",
        reason: "The window scale of a connection is chosen at its start from the larger of tcp_rmem[2] and rmem_max. \
                 Each step doubles the grain of the window. A rmem_max of 2 GiB beside a tcp_rmem[2] of 16 MiB gives \
                 steps of 16 KiB, 32 times what is needed, and buys TCP nothing. Up to four times is not judged.",
        source: "Linux 6.12, net/ipv4/tcp_output.c (tcp_select_initial_window); RFC 7323",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.rmem_max = 2147483647\nnet.ipv4.tcp_rmem = 4096 131072 16777216\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.rmem_max = 67108864\nnet.ipv4.tcp_rmem = 4096 131072 33554432\n",
        )]),
        check: coarse_window,
    },
    Lint {
        id: "default-buffer-huge",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Files,
        what: "rmem_default or wmem_default is raised beyond 1 MiB",
        reason: "It is the buffer of each new socket that is not TCP: UDP, unix, netlink. TCP starts from tcp_rmem[1] \
                 and tcp_wmem[1] instead. So it gains nothing for transfers, and lets every other socket hold that \
                 much.",
        source: "Linux 6.12, net/core/sock.c (sock_init_data), net/ipv4/tcp.c (tcp_init_sock)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.rmem_default = 134217728\n",
        )]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.rmem_default = 212992\n")]),
        check: default_huge,
    },
    Lint {
        id: "buffer-start-huge",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Files,
        what: "Every TCP socket starts with more than 1 MiB",
        reason: "The middle number of tcp_rmem and tcp_wmem is where each socket starts, idle ones included. Autotuning \
                 raises it within a few round trips for those that need more.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_rmem, tcp_wmem)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_wmem = 4096 33554432 33554432\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_wmem = 4096 16384 33554432\n",
        )]),
        check: start_huge,
    },
    Lint {
        id: "tcp-mem-set",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Files,
        what: "tcp_mem is set",
        reason: "The kernel computes it at boot from the memory of the host (4.7, 6.3 and 9.4 % of it), in pages. A \
                 number that was right on another host is wrong on this one.",
        source: "ESnet fasterdata, host-tuning/linux; Linux 6.12, net/ipv4/tcp.c (tcp_init_mem)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_mem = 786432 1048576 1572864\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 33554432\n",
        )]),
        check: tcp_mem,
    },
];

/// The largest buffer of a `tcp_rmem` or `tcp_wmem` with three numbers.
fn largest(setting: &Setting) -> Option<i128> {
    setting
        .integers()
        .filter(|numbers| numbers.len() == 3)?
        .last()
        .copied()
}

/// The live `tcp_rmem` and `tcp_wmem` of foreign files that have three numbers, with the largest.
pub(super) fn tcp_buffers<'b>(context: &'b Context<'_>) -> impl Iterator<Item = (&'b Setting, i128)> {
    let of = |name| context.sysctl(name);
    let both = of("net.ipv4.tcp_rmem").chain(of("net.ipv4.tcp_wmem"));
    let foreign = both.filter(|setting| !matches!(setting.origin, Origin::Catalog(_)));
    foreign.filter_map(|setting| largest(setting).map(|most| (setting, most)))
}

fn max_alone(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (max, tcp, default) in [
        ("net.core.rmem_max", "net.ipv4.tcp_rmem", "6 MiB"),
        ("net.core.wmem_max", "net.ipv4.tcp_wmem", "4 MiB"),
    ] {
        let Some(setting) = context.effective(max) else {
            continue;
        };
        // Up to 4 MiB is what programs over UDP ask for, and the default of later kernels.
        let raised = setting.integer().is_some_and(|bytes| bytes > 4 << 20);
        if raised && context.effective(tcp).is_none() {
            found.at(
                &setting.place,
                format!(
                    "{}: autotuned TCP does not look at it, and stays at {default} ({tcp})",
                    setting.shown()
                ),
                format!("set {tcp} too; only programs that set their buffers themselves gain from {max}"),
            );
        }
    }
    Ok(())
}

/// The window scale that a largest buffer leads to.
fn scale_of(bytes: i128) -> u32 {
    // 65535 << 14 is the largest window of all.
    let bytes = bytes.clamp(1, 65_535 << 14);
    bytes.ilog2().saturating_sub(15).min(14)
}

fn coarse_window(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let (Some(setting), Some(tcp)) = (
        context.effective("net.core.rmem_max"),
        context.effective("net.ipv4.tcp_rmem"),
    ) else {
        return Ok(());
    };
    let (Some(max), Some(most)) = (setting.integer(), largest(tcp)) else {
        return Ok(());
    };
    let (scale, needed) = (scale_of(max), scale_of(most));
    if scale >= needed + 3 {
        found.at(
            &setting.place,
            format!(
                "{}: windows of all TCP connections come in steps of {}, where tcp_rmem[2] of {} needs {}",
                setting.shown(),
                size(1 << scale),
                size(most),
                size(1 << needed)
            ),
            "lower it to tcp_rmem[2], or to what programs ask for by SO_RCVBUF",
        );
    }
    Ok(())
}

fn default_huge(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for name in ["net.core.rmem_default", "net.core.wmem_default"] {
        for setting in context.sysctl(name) {
            let Some(bytes) = setting.integer().filter(|bytes| *bytes > 1 << 20) else {
                continue;
            };
            found.at(
                &setting.place,
                format!(
                    "{}: {} for each UDP, unix and netlink socket, and nothing for TCP",
                    setting.shown(),
                    size(bytes)
                ),
                "remove the line; TCP starts from the middle number of tcp_rmem and tcp_wmem",
            );
        }
    }
    Ok(())
}

fn start_huge(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, most) in tcp_buffers(context) {
        let start = setting.integers().and_then(|numbers| numbers.get(1).copied());
        // Out of order is another lint's.
        if let Some(start) = start.filter(|start| *start > 1 << 20 && *start <= most) {
            let default = if setting.what.to_string().ends_with("wmem") {
                16_384
            } else {
                131_072
            };
            found.at(
                &setting.place,
                format!("{}: every socket starts with {}", setting.shown(), size(start)),
                format!("write {default} in the middle, the kernel's default"),
            );
        }
    }
    Ok(())
}

fn tcp_mem(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("net.ipv4.tcp_mem") {
        found.at(
            &setting.place,
            format!(
                "{}: the kernel computes it from the memory of the host, in pages",
                setting.shown()
            ),
            "remove the line",
        );
    }
    Ok(())
}
