//! Rates as tc(8) reads them (UNITS): `bit` and its multiples are bits, `bps` and its multiples are bytes.

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::lint) struct Rate {
    /// Bits per second.
    pub(in crate::lint) bits: f64,
    /// Whether it was written in bytes (`mbps`).
    pub(in crate::lint) in_bytes: bool,
}

impl Rate {
    /// Reads `10gbit`, `1000mbps`, `64kibit`, or a plain number of bits.
    pub(in crate::lint) fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let number: f64 = number.parse().ok()?;
        let (factor, in_bytes) = unit_of(unit)?;
        let bits = number * factor * if in_bytes { 8.0 } else { 1.0 };
        (bits.is_finite() && bits >= 0.0).then_some(Self { bits, in_bytes })
    }

    /// The rate in Gbit/s, for people.
    pub(in crate::lint) fn gbit(self) -> String {
        format!("{} Gbit/s", (self.bits / 1e7).round() / 100.0)
    }
}

/// The unit that ends a text whose number is not known: `${rate}mbps`.
pub(in crate::lint) fn ends_in_bytes(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["kbps", "mbps", "gbps", "tbps"]
        .iter()
        .any(|unit| text.ends_with(unit))
}

fn unit_of(unit: &str) -> Option<(f64, bool)> {
    let (prefix, in_bytes) = match unit {
        "" | "bit" => return Some((1.0, false)),
        "bps" => return Some((1.0, true)),
        _ => match (unit.strip_suffix("bit"), unit.strip_suffix("bps")) {
            (Some(prefix), _) => (prefix, false),
            (_, Some(prefix)) => (prefix, true),
            (None, None) => return None,
        },
    };
    let factor = match prefix {
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1_048_576.0,
        "gi" => 1_073_741_824.0,
        "ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    Some((factor, in_bytes))
}
