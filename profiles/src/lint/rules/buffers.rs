//! Sizes of socket buffers.
//!
//! What limits what: an autotuned TCP socket grows up to tcp_rmem[2] and tcp_wmem[2], and nothing of net.core limits it.
//! net.core.rmem_max and wmem_max limit what a program asks for by SO_RCVBUF and SO_SNDBUF, which ends autotuning for
//! its socket. So a tcp_rmem[2] above rmem_max is no mistake, and no lint says that it is.

use crate::catalog::Buffer;
use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::setting::{Origin, Setting};
use crate::lint::text::{gbps, size};

const HOST_25G: &str = "[host]\ncpu_hypervisor_flag = false\nmemory_gib = 256.0\n[[nic]]\nname = 'eth0'\n\
                        kind = 'physical'\ncarrier = true\nspeed_mbps = 25000\n";

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
    Lint {
        id: "buffers-over-memory",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Host,
        what: "The streams of a transfer can fill more than TCP's share of the memory",
        reason: "Buffers are limits, not allocations, but a stalled reader or a lossy path fills them. Above the \
                 pressure mark of tcp_mem (1/16 of memory) the kernel stops to open windows for every socket. So: \
                 streams x tcp_rmem[2] should stay below it; the streams are those of --streams, else 8, or 1 for a \
                 perfsonar host.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_mem); Linux 6.12, net/ipv4/tcp.c (tcp_init_mem)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 1073741824\n",
        )])
        .on("[host]\nmemory_gib = 64.0\n[[nic]]\nname = 'eth0'\ncarrier = true\nspeed_mbps = 100000\n"),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 402653184\n",
        )])
        .on("[host]\nmemory_gib = 64.0\n[[nic]]\nname = 'eth0'\ncarrier = true\nspeed_mbps = 100000\n"),
        check: over_memory,
    },
    Lint {
        id: "buffers-below-link",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Host,
        what: "The streams of a transfer cannot fill the link with these buffers",
        reason: "About half of a buffer is window, and a stream moves one window per round trip. The streams (8 unless \
                 --streams says otherwise) together, at the RTT of --rtt-ms (100 ms), should carry the link. A 25G \
                 host with 48 MiB holds one stream at 2 Gb/s.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_adv_win_scale); RFC 7323; ESnet fasterdata, \
                 host-tuning/linux",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 50331648\n",
        )])
        .on(HOST_25G),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 100663296\n",
        )])
        .on(HOST_25G),
        check: below_link,
    },
    Lint {
        id: "buffers-beyond-link",
        severity: Severity::Warning,
        theme: Theme::Buffers,
        needs: Needs::Host,
        what: "A buffer is larger than one stream of this link could ever use",
        reason: "A window beyond twice the bandwidth-delay product of the whole link only feeds queues: on short paths \
                 and behind a slow reader it turns into delay, cache misses and loss in bursts. Judged from twice the \
                 size that one stream needs at the RTT of --rtt-ms.",
        source: "ESnet fasterdata, host-tuning/linux; \"Understanding Host Network Stack Overheads\", SIGCOMM 2021",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 1073741824\n",
        )])
        .on("[host]\nmemory_gib = 256.0\n[[nic]]\nname = 'eth0'\ncarrier = true\nspeed_mbps = 10000\n"),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 268435456\n",
        )])
        .on("[host]\nmemory_gib = 256.0\n[[nic]]\nname = 'eth0'\ncarrier = true\nspeed_mbps = 10000\n"),
        check: beyond_link,
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
fn tcp_buffers<'b>(context: &'b Context<'_>) -> impl Iterator<Item = (&'b Setting, i128)> {
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

fn over_memory(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, most) in tcp_buffers(context) {
        let (streams, _) = context.streams_and_rtt();
        let pressure = context.memory()? / 16.0;
        let sum = most.saturating_mul(i128::from(streams));
        if sum as f64 > pressure {
            let fits = pressure / f64::from(streams);
            found.at(
                &setting.place,
                format!(
                    "{}: {} of {} can hold {}, more than the {} at which TCP is under pressure here",
                    setting.shown(),
                    count(streams),
                    size(most),
                    size(sum),
                    size(whole(pressure))
                ),
                format!(
                    "at most {} for {} on this host",
                    size(whole(fits)),
                    count(streams)
                ),
            );
        }
    }
    Ok(())
}

fn count(streams: u32) -> String {
    match streams {
        1 => "1 stream".to_owned(),
        _ => format!("{streams} streams"),
    }
}

/// A number of bytes out of a computation, cut to a whole one.
fn whole(bytes: f64) -> i128 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast from f64 saturates, and less than a byte does not count"
    )]
    let whole = bytes as i128;
    whole
}

fn below_link(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, most) in tcp_buffers(context) {
        let (mbps, (streams, rtt_ms)) = (context.link_mbps()?, context.streams_and_rtt());
        // Half of the buffer in bits, per RTT in ms, is kb/s.
        let stream_mbps = most as f64 / 2.0 * 8.0 / f64::from(rtt_ms) / 1000.0;
        let sum = stream_mbps * f64::from(streams);
        if sum < f64::from(mbps) {
            let needed = Buffer::needed(mbps, rtt_ms, streams);
            found.at(
                &setting.place,
                format!(
                    "{}: {} of {} carry {} at {rtt_ms} ms, and the link {}",
                    setting.shown(),
                    count(streams),
                    gbps(stream_mbps),
                    gbps(sum),
                    gbps(f64::from(mbps))
                ),
                format!(
                    "{} would; or use more streams, and say so with --streams",
                    size(needed.into())
                ),
            );
        }
    }
    Ok(())
}

fn beyond_link(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, most) in tcp_buffers(context) {
        let (mbps, (_, rtt_ms)) = (context.link_mbps()?, context.streams_and_rtt());
        let alone = Buffer::needed(mbps, rtt_ms, 1);
        if most > 2 * i128::from(alone) {
            found.at(
                &setting.place,
                format!(
                    "{}: one stream alone on {} at {rtt_ms} ms needs {}",
                    setting.shown(),
                    gbps(f64::from(mbps)),
                    size(alone.into())
                ),
                format!(
                    "at most {}; less where several streams share the link",
                    size(alone.into())
                ),
            );
        }
    }
    Ok(())
}
