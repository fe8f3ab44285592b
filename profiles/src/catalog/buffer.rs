//! How large a TCP buffer has to be, and how large it may be.
//!
//! A stream needs twice its bandwidth-delay product, because about half of a buffer is usable as window (kernel
//! documentation ip-sysctl.rst, `tcp_adv_win_scale`, and `scaling_ratio` in the TCP sources from 6.6 on). So:
//! `2 x speed x RTT / 8 / streams`, rounded up to 2^n or 3 x 2^n MiB. It may be at most a share of memory, for a
//! transfer host the kernel's own for one socket (RAM / 128, as `tcp_rmem` is set at boot), at most what the profile
//! allows for a speed, and at most 2^31 - 1, the largest that parses.

/// The largest buffer that the kernel takes, byte.
pub const LARGEST: i64 = 2_147_483_647;
const MIB: i64 = 1 << 20;

/// Inputs of the formula that a profile sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Speed that buffers are made for, Mb/s; `None` takes the speed of the host's own link.
    pub speed_mbps: Option<u32>,
    /// Parallel streams that share the link, unless the site says otherwise.
    pub streams: u32,
    /// A buffer may be memory divided by this.
    pub ram_divisor: u32,
    /// Upper bounds by speed, in ascending order of speed; the last one that begins at or below a speed holds.
    pub most: Vec<Bound>,
}

/// An upper bound of a buffer that holds from a speed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Slowest link that it is for, Mb/s.
    pub from_mbps: u32,
    /// The bound, MiB.
    pub mib: u32,
}

/// A size with the numbers that it came from, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sized {
    /// The size, byte.
    pub bytes: i64,
    /// The formula with its inputs and its result.
    pub formula: String,
}

impl Buffer {
    /// The size in byte that `speed_mbps` at `rtt_ms` over `streams` needs, not yet capped by memory.
    pub fn needed(speed_mbps: u32, rtt_ms: u32, streams: u32) -> i64 {
        round_up(product(speed_mbps, rtt_ms, streams)).min(LARGEST)
    }

    /// The size for a link, with the profile's own bound; memory is not looked at.
    pub fn sized(&self, mbps: u32, rtt_ms: u32, streams: u32) -> Sized {
        let needed = Self::needed(mbps, rtt_ms, streams);
        let product = mib(product(mbps, rtt_ms, streams));
        let inputs = format!("2 x {mbps} Mb/s x {rtt_ms} ms / 8 / {streams} streams = {product}");
        match self.bound(mbps).filter(|bound| *bound < needed) {
            Some(bound) => Sized {
                bytes: bound,
                formula: format!("{inputs}, at most {} here", mib(bound)),
            },
            None => Sized {
                bytes: needed,
                formula: format!("{inputs}, rounded up to {}", mib(needed)),
            },
        }
    }

    /// The bound for a speed, byte.
    fn bound(&self, mbps: u32) -> Option<i64> {
        let mut holding = self.most.iter().rev().filter(|bound| bound.from_mbps <= mbps);
        let bound = holding.next()?;
        Some((i64::from(bound.mib) * MIB).min(LARGEST))
    }
}

/// Twice the bandwidth-delay product of one stream, byte.
fn product(speed_mbps: u32, rtt_ms: u32, streams: u32) -> i64 {
    // Mb/s x ms = 1000 bit; x 2 for the share of a buffer that is window; / 8 for byte.
    i64::from(speed_mbps) * i64::from(rtt_ms) * 250 / i64::from(streams.max(1))
}

/// A size for people: `96 MiB`, `3.8 MiB`.
fn mib(bytes: i64) -> String {
    // One place behind the point is enough to check the arithmetic by hand.
    let tenths = (bytes * 10 + MIB / 2) / MIB;
    match tenths % 10 {
        0 => format!("{} MiB", tenths / 10),
        rest => format!("{}.{rest} MiB", tenths / 10),
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

    #[test]
    fn the_bound_of_a_speed_holds_and_the_formula_shows_its_numbers() {
        let bound = |from_mbps, mib| Bound { from_mbps, mib };
        let buffer = Buffer {
            speed_mbps: None,
            streams: 1,
            ram_divisor: 32,
            most: vec![bound(1, 1024), bound(200_000, 2048)],
        };
        for (mbps, bytes, formula) in [
            (
                10_000,
                256 * MIB,
                "2 x 10000 Mb/s x 100 ms / 8 / 1 streams = 238.4 MiB, rounded up to 256 MiB",
            ),
            (
                100_000,
                1024 * MIB,
                "2 x 100000 Mb/s x 100 ms / 8 / 1 streams = 2384.2 MiB, at most 1024 MiB here",
            ),
            (
                400_000,
                LARGEST,
                "2 x 400000 Mb/s x 100 ms / 8 / 1 streams = 9536.7 MiB, rounded up to 2048 MiB",
            ),
        ] {
            let sized = buffer.sized(mbps, 100, 1);
            assert_eq!((sized.bytes, sized.formula.as_str()), (bytes, formula));
        }
    }
}
