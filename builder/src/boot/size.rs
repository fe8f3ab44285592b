//! Sizes in bytes, written as people write them: `512`, `256M`, `4G`, `1T` (powers of 1024).

use std::str::FromStr;

use super::fields::FieldError;

/// A size in bytes, a positive multiple of 512 (the smallest disk sector).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Size(pub u64);

/// What a size looks like, for error messages.
pub(crate) const EXPECTED: &str = "a size such as 512M, 4G or 1T, a multiple of 512 bytes";

impl FromStr for Size {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Size, FieldError> {
        let refuse = || FieldError::value("size", text, EXPECTED);
        let (digits, shift) = match text.char_indices().last() {
            Some((at, 'K' | 'k')) => (&text[..at], 10),
            Some((at, 'M' | 'm')) => (&text[..at], 20),
            Some((at, 'G' | 'g')) => (&text[..at], 30),
            Some((at, 'T' | 't')) => (&text[..at], 40),
            _ => (text, 0),
        };
        let number: u64 = digits.parse().map_err(|_| refuse())?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(refuse)?;
        if bytes == 0 || bytes % 512 != 0 {
            return Err(refuse());
        }
        Ok(Size(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1024() {
        let cases = [
            ("512", 512),
            ("4k", 4096),
            ("256M", 256 << 20),
            ("4G", 4 << 30),
            ("1T", 1 << 40),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_of_a_disk_is_refused() {
        for text in ["", "G", "0", "513", "-1G", "4GB", "99999999T", "1.5G"] {
            let error = text.parse::<Size>().unwrap_err();
            assert!(
                error.0.contains("expected a size such as 512M"),
                "{text}: {error}"
            );
        }
    }
}
