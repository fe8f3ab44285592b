//! When the numbers are looked at, and how sure each look has to be.
//!
//! Whoever looks after every pair and stops at the first answer that he likes finds one by chance much more often than
//! once in 20. So the looks are few and fixed beforehand, and each is held to the nominal level of Pocock's design for
//! five looks: over all of them together an interval is a 95 % interval (Pocock 1977; as "repeated confidence
//! intervals" in Jennison and Turnbull 2000).

/// Pairs after which the numbers are looked at. A run that has to end between two looks looks once at its end, in
/// place of the next one.
pub const LOOKS: [u32; 5] = [6, 9, 14, 21, 32];

/// The least number of pairs that decide anything.
pub const MIN_PAIRS: u32 = LOOKS[0];

/// The number of pairs after which a run ends undecided.
pub const MAX_PAIRS: u32 = LOOKS[LOOKS.len() - 1];

/// Error probability (two-sided) of one look, for 5 % over all five.
pub(super) const LOOK_ERROR: f64 = 0.0158;

/// Whether the numbers are looked at after so many pairs.
pub fn is_look(pairs: u32) -> bool {
    LOOKS.contains(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_apart_and_the_first_has_the_least_number_of_pairs() {
        assert!(LOOKS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(is_look(MIN_PAIRS) && is_look(MAX_PAIRS) && !is_look(MIN_PAIRS + 1));
    }
}
