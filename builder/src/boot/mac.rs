//! A network card's hardware address.

use std::fmt;
use std::str::FromStr;

use super::fields::FieldError;

/// A unicast Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac([u8; 6]);

impl Mac {
    /// The address that the `index`th card gets when none is given; the same at every boot.
    pub fn numbered(index: u8) -> Mac {
        Mac([0x52, 0x54, 0x00, 0xd7, 0x00, index])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Mac, FieldError> {
        let refuse = || FieldError::value("mac", text, "a unicast address such as 52:54:00:12:34:56");
        let mut bytes = [0_u8; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(refuse)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| refuse())?;
        }
        if parts.next().is_some() || bytes[0] & 1 == 1 || bytes == [0; 6] {
            return Err(refuse());
        }
        Ok(Mac(bytes))
    }
}

impl TryFrom<String> for Mac {
    type Error = FieldError;

    fn try_from(text: String) -> Result<Mac, FieldError> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> String {
        mac.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_text_and_back() {
        let mac: Mac = "52:54:00:AB:cd:01".parse().unwrap();
        assert_eq!(mac.to_string(), "52:54:00:ab:cd:01");
        assert_eq!(Mac::numbered(3).to_string(), "52:54:00:d7:00:03");
    }

    #[test]
    fn multicast_zero_short_and_long_are_refused() {
        for text in [
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "52:54:00:12:34",
            "52:54:00:12:34:56:78",
            "x",
        ] {
            assert!(
                text.parse::<Mac>().unwrap_err().0.contains("a unicast address"),
                "{text}"
            );
        }
    }
}
