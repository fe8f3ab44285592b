//! The address of an iperf3 server, as a site writes it.

use std::fmt;
use std::str::FromStr;

/// Port of iperf3 where none is written.
const DEFAULT_PORT: u16 = 5201;

/// A server: a host name or an address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    host: String,
    port: u16,
}

/// The text is no address of a server.
#[derive(Debug, thiserror::Error)]
#[error("peer {0:?}: expected HOST, HOST:PORT or [IPV6]:PORT")]
pub struct BadPeer(String);

impl Peer {
    /// Host name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Peer {
    type Err = BadPeer;

    fn from_str(text: &str) -> Result<Self, BadPeer> {
        let bad = || BadPeer(text.chars().take(80).collect());
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
            (
                host,
                rest.strip_prefix(':')
                    .or(rest.is_empty().then_some(""))
                    .ok_or_else(bad)?,
            )
        } else if text.matches(':').count() == 1 {
            text.split_once(':').ok_or_else(bad)?
        } else {
            (text, "")
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
        // A name that begins with a dash would be an option of iperf3.
        let is_host = (1..=253).contains(&host.len()) && host.chars().all(allowed) && !host.starts_with('-');
        let port = if port.is_empty() {
            Ok(DEFAULT_PORT)
        } else {
            port.parse()
        };
        match port {
            Ok(port) if is_host && port > 0 => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_an_address_and_a_port_are_read() {
        for (text, shown) in [
            ("dtn.example.org", "dtn.example.org:5201"),
            ("192.0.2.1:5202", "192.0.2.1:5202"),
            ("2001:db8::1", "[2001:db8::1]:5201"),
            ("[2001:db8::1]:5203", "[2001:db8::1]:5203"),
            ("[2001:db8::1]", "[2001:db8::1]:5201"),
        ] {
            assert_eq!(text.parse::<Peer>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_could_be_an_option_or_a_command_is_refused() {
        for text in [
            "", "--help", "a b", "a;b", "$(id)", "a:0", "a:70000", "a:x", "[::1", "[::1]x", "[]:1", "a/b",
        ] {
            let error = text.parse::<Peer>().unwrap_err().to_string();
            assert!(
                error.starts_with("peer ") && error.contains("expected HOST"),
                "{error}"
            );
        }
    }
}
