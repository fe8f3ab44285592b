//! Random numbers with a fixed seed, so that the simulation says the same each time.

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    /// A generator of its own for each seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(7))
    }

    /// A number above 0 and at most 1.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let high = u32::try_from(bits >> 32).unwrap_or(u32::MAX);
        (f64::from(high) + 1.0) / 4_294_967_296.0
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Whether something of this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.uniform() <= probability
    }
}
