//! How large a TCP buffer has to be, and how large it may be.
//!
//! A stream needs twice its bandwidth-delay product, because about half of a buffer is usable as window (kernel
//! documentation ip-sysctl.rst, `tcp_adv_win_scale`, and `scaling_ratio` in the TCP sources from 6.6 on). So:
//! `2 x speed x RTT / 8 / streams`, rounded up to 2^n or 3 x 2^n MiB. It may be at most the kernel's own share of
//! memory for one socket (RAM / 128, as `tcp_rmem` is set at boot), and at most 2^31 - 1, the largest that parses.

/// The largest buffer that the kernel takes, byte.
pub const LARGEST: i64 = 2_147_483_647;
const MIB: i64 = 1 << 20;

/// Inputs of the formula that a profile sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Speed that buffers are made for, Mb/s; `None` takes the speed of the host's own link.
    pub speed_mbps: Option<u32>,
    /// Parallel streams that share the link, unless the site says otherwise.
    pub streams: u32,
    /// A buffer may be memory divided by this.
    pub ram_divisor: u32,
}

impl Buffer {
    /// The size in byte that `speed_mbps` at `rtt_ms` over `streams` needs, not yet capped by memory.
    pub fn needed(speed_mbps: u32, rtt_ms: u32, streams: u32) -> i64 {
        // Mb/s x ms = 1000 bit; x 2 for the share of a buffer that is window; / 8 for byte.
        let bytes = i64::from(speed_mbps) * i64::from(rtt_ms) * 250 / i64::from(streams.max(1));
        round_up(bytes).min(LARGEST)
    }
}

/// The most byte that a value may be on a host with `memory` byte: whole MiB of `memory / divisor`.
pub fn memory_cap(memory: u64, divisor: u32) -> i64 {
    let share = memory / u64::from(divisor.max(1));
    let share = i64::try_from(share).unwrap_or(i64::MAX);
    if share > MIB { share / MIB * MIB } else { share }
}

/// The next 2^n or 3 x 2^n MiB.
fn round_up(bytes: i64) -> i64 {
    let mut size = MIB;
    loop {
        if size >= bytes {
            return size;
        }
        // Between 2^n and 2^(n+1) lies 3 x 2^(n-1).
        if size >= 2 * MIB && size / 2 * 3 >= bytes {
            return size / 2 * 3;
        }
        size *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_gives_the_published_classes_for_eight_streams_at_100_ms() {
        for (mbps, mib) in [
            (10_000, 32),
            (25_000, 96),
            (40_000, 128),
            (100_000, 384),
            (200_000, 768),
            (400_000, 1536),
        ] {
            assert_eq!(Buffer::needed(mbps, 100, 8), mib * MIB, "{mbps} Mb/s");
        }
    }

    #[test]
    fn a_need_beyond_what_tcp_can_use_is_capped() {
        assert_eq!(Buffer::needed(100_000, 100, 1), LARGEST);
        assert_eq!(Buffer::needed(800_000, 1000, 1), LARGEST);
        assert_eq!(Buffer::needed(1, 1, 256), MIB);
    }

    #[test]
    fn memory_bounds_a_buffer_in_whole_mebibytes() {
        assert_eq!(memory_cap(16 << 30, 128), 128 * MIB);
        assert_eq!(memory_cap(2_040_109_465, 128), 15 * MIB);
        assert_eq!(memory_cap(512 << 30, 8), 64 << 30);
        assert_eq!(memory_cap(64 << 20, 128), 512 << 10);
    }
}
