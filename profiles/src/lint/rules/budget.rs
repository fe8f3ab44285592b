//! Buffers held against the memory and the link of a host.

use super::buffers::tcp_buffers;
use crate::catalog::Buffer;
use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::text::{gbps, size};

const HOST_25G: &str = "[host]\ncpu_hypervisor_flag = false\nmemory_gib = 256.0\n[[nic]]\nname = 'eth0'\n\
                        kind = 'physical'\ncarrier = true\nspeed_mbps = 25000\n";

pub(super) const LINTS: &[Lint] = &[
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
