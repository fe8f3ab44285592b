//! Addresses as a table of nodes holds them, checked once and passed on as types.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// MAC address of one port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mac(String);

/// What a MAC address must look like, for messages.
pub(super) const MAC: &str = "the MAC address of one port, such as 52:54:00:12:34:56";

impl FromStr for Mac {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.to_ascii_lowercase().replace('-', ":");
        let octets: Vec<&str> = text.split(':').collect();
        let octet = |text: &&str| {
            let hex = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            hex.then(|| u8::from_str_radix(text, 16).ok()).flatten()
        };
        let octets: Option<Vec<u8>> = octets.iter().map(octet).collect();
        match octets {
            // An odd first octet is a group of ports.
            Some(octets)
                if octets.len() == 6
                    && octets[0].is_multiple_of(2)
                    && octets.iter().any(|octet| *octet > 0) =>
            {
                Ok(Self(text))
            }
            _ => Err(()),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// An address, or a network, with its prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefixed {
    /// The address.
    pub address: IpAddr,
    /// Bits of the network: 0 to 32, or to 128.
    pub prefix: u8,
}

impl FromStr for Prefixed {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, prefix) = text.split_once('/').ok_or(())?;
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u8 = prefix.parse().map_err(|_| ())?;
        let found = Self { address, prefix };
        (digits && prefix <= found.bits()).then_some(found).ok_or(())
    }
}

impl fmt::Display for Prefixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Prefixed {
    /// The network that the address is in.
    pub fn network(self) -> Self {
        Self {
            address: masked(self.address, self.prefix),
            prefix: self.prefix,
        }
    }

    /// Whether `other` is in the same network.
    pub fn holds(self, other: IpAddr) -> bool {
        self.address.is_ipv4() == other.is_ipv4() && masked(other, self.prefix) == self.network().address
    }

    /// Whether a port can have the address: one host, neither the network nor its broadcast.
    pub fn is_host(self) -> bool {
        let address = self.address;
        let odd = address.is_unspecified() || address.is_loopback() || address.is_multicast();
        let edge = match address {
            IpAddr::V4(v4) if self.prefix < 31 => {
                let host = v4.to_bits() & (u32::MAX >> self.prefix);
                host == 0 || host == u32::MAX >> self.prefix
            }
            _ => false,
        };
        self.prefix > 0 && !odd && !edge
    }

    /// Whether it names a whole network: no bit is set behind the prefix.
    pub fn is_network(self) -> bool {
        self.network() == self
    }

    fn bits(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let behind = u32::from(prefix);
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shr(behind).map_or(u32::MAX, |rest| !rest);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shr(behind).map_or(u128::MAX, |rest| !rest);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

/// Whether `text` is a name of the DNS: labels of letters, digits and dashes.
pub(super) fn is_domain(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_address_is_of_one_port_and_is_kept_in_lower_case() {
        assert_eq!("52-54-00-AB-cd-0F".parse(), Ok(Mac("52:54:00:ab:cd:0f".into())));
        for bad in [
            "",
            "52:54:00:12:34",
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "52:54:00:12:34:+5",
            "ff:ff:ff:ff:ff:ff",
        ] {
            assert_eq!(bad.parse::<Mac>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn an_address_knows_its_network() {
        let of = |text: &str| text.parse::<Prefixed>();
        let v4 = of("192.0.2.10/24").unwrap();
        assert_eq!(v4.network().to_string(), "192.0.2.0/24");
        assert!(v4.holds("192.0.2.1".parse().unwrap()) && !v4.holds("192.0.3.1".parse().unwrap()));
        assert!(!v4.holds("2001:db8::1".parse().unwrap()));
        let v6 = of("2001:db8::a/64").unwrap();
        assert!(v6.is_host() && v6.holds("2001:db8::1".parse().unwrap()));
        assert!(of("0.0.0.0/0").unwrap().is_network() && of("::/0").unwrap().is_network());
        assert!(of("192.0.2.1/32").unwrap().is_host() && of("192.0.2.0/31").unwrap().is_host());
        for bad in [
            "192.0.2.0/24",
            "192.0.2.255/24",
            "127.0.0.1/8",
            "224.0.0.1/24",
            "::/64",
            "ff02::1/64",
            "192.0.2.1/0",
        ] {
            assert!(!of(bad).unwrap().is_host(), "{bad}");
        }
        for bad in [
            "192.0.2.1",
            "192.0.2.1/33",
            "192.0.2.1/+8",
            "192.0.2.1/",
            "x/24",
            "::1/129",
            "192.0.2.01/24",
        ] {
            assert_eq!(of(bad), Err(()), "{bad}");
        }
    }

    #[test]
    fn a_domain_is_made_of_labels() {
        assert!(is_domain("example.org") && is_domain("xn--bcher-kva.example"));
        for bad in ["", ".", "a..b", "-a.b", "a b", "a\nb", "exämple.org"] {
            assert!(!is_domain(bad), "{bad}");
        }
    }
}
