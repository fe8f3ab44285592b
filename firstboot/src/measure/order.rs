//! The order of rounds: ABBA with a random start.
//!
//! Whatever drifts over time (clock, heat, neighbours) then falls on both arms alike, and each pair is taken
//! without anything between its two rounds.

use dtnforge_profiles::measure::Arm;
use std::hash::{BuildHasher, Hasher};

/// Which arm comes first in pair 0; later pairs alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) first: Arm,
}

impl Order {
    /// A start by chance: the hasher's keys come from the kernel's random numbers.
    pub(super) fn random() -> Self {
        let coin = std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish();
        Self {
            first: if coin & 1 == 0 { Arm::AsFound } else { Arm::Ours },
        }
    }

    /// The two arms of `pair` in the order in which they are measured.
    pub(super) fn arms(self, pair: u32) -> [Arm; 2] {
        let second = match self.first {
            Arm::Ours => Arm::AsFound,
            Arm::AsFound | Arm::KernelDefaults => Arm::Ours,
        };
        if pair.is_multiple_of(2) {
            [self.first, second]
        } else {
            [second, self.first]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_follow_each_other_as_abba() {
        let order = Order { first: Arm::Ours };
        let arms: Vec<Arm> = (0..3).flat_map(|pair| order.arms(pair)).collect();
        use Arm::{AsFound, Ours};
        assert_eq!(arms, [Ours, AsFound, AsFound, Ours, Ours, AsFound]);
    }

    #[test]
    fn both_starts_happen() {
        let starts: Vec<Arm> = (0..200).map(|_| Order::random().first).collect();
        assert!(starts.contains(&Arm::AsFound) && starts.contains(&Arm::Ours));
    }
}
