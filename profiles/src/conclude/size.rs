//! Sizes as reports write them: `3.49 TiB`, `7.3T`, `300G`.

/// The size in byte; `None` when the text is none.
///
/// `T` and `TiB` are powers of 1024, as `lsblk` prints them; `TB` is a power of 1000.
pub(super) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let unit = unit.trim().to_ascii_uppercase();
    let decimal = unit.len() == 2 && unit.ends_with('B');
    let power = match unit.chars().next() {
        None | Some('B') => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some(_) => return None,
    };
    let base: f64 = if decimal { 1000.0 } else { 1024.0 };
    let bytes = number * base.powi(power);
    // 2^60 byte is more than any disk, and well inside both types.
    let fits = bytes.is_finite() && (0.0..1.2e18).contains(&bytes);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked"
    )]
    fits.then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_are_told_apart() {
        assert_eq!(parse("300G"), Some(300 << 30));
        assert_eq!(parse("1.5 TiB"), Some(3 << 39));
        assert_eq!(parse("2 TB"), Some(2_000_000_000_000));
        assert_eq!(parse("512"), Some(512));
        for bad in ["", "big", "1 X", "9e99", "99999P"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
