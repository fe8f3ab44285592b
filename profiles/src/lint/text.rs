//! Numbers for people.

/// Bytes in the largest binary unit that leaves a short number: `48 MiB`, `1.5 GiB`.
pub(super) fn size(bytes: i128) -> String {
    const UNITS: [(i128, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes.abs() >= *unit);
    let Some((unit, name)) = unit else {
        return format!("{bytes} B");
    };
    // Tenths, rounded; whole numbers without a point.
    let tenths = (bytes.saturating_mul(10) + unit / 2) / unit;
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        _ => format!("{}.{} {name}", tenths / 10, tenths % 10),
    }
}

/// Mb/s as Gb/s, with one place: `16.1 Gb/s`.
pub(super) fn gbps(mbps: f64) -> String {
    format!("{} Gb/s", (mbps / 100.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, expected) in [
            (512, "512 B"),
            (50_331_648, "48 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (2_147_483_647, "2 GiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        assert_eq!(gbps(16_106.1), "16.1 Gb/s");
    }
}
