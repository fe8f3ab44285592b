//! What a network card of the guest is plugged into.

use std::str::FromStr;

use serde_json::{Value, json};

/// What the card is plugged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NicNet {
    /// QEMU's own network with DHCP, DNS and a way out; needs no privilege.
    User,
    /// Nothing: a card whose cable ends nowhere.
    None,
    /// Another QEMU, over a TCP connection of the host (`listen`, `connect`) or multicast (`mcast`).
    Socket {
        /// `listen`, `connect` or `mcast`.
        kind: SocketKind,
        /// HOST:PORT.
        address: String,
    },
    /// A tap device that exists and that the user may open; the only one with several queues.
    Tap(String),
}

/// Which end of a socket network this guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketKind {
    /// Waits for the other guest.
    Listen,
    /// Connects to the other guest.
    Connect,
    /// Shares a multicast group.
    Mcast,
}

impl SocketKind {
    fn qemu_key(self) -> &'static str {
        match self {
            SocketKind::Listen => "listen",
            SocketKind::Connect => "connect",
            SocketKind::Mcast => "mcast",
        }
    }
}

impl FromStr for NicNet {
    /// The caller names the key and says what is expected.
    type Err = ();

    fn from_str(text: &str) -> Result<NicNet, ()> {
        let socket = |kind, address: &str| {
            let (_, port) = address.rsplit_once(':').ok_or(())?;
            port.parse::<u16>().map_err(|_| ())?;
            Ok(NicNet::Socket {
                kind,
                address: address.to_owned(),
            })
        };
        match text.split_once(':') {
            None if text == "user" => Ok(NicNet::User),
            None if text == "none" => Ok(NicNet::None),
            Some(("tap", name)) if !name.is_empty() && name.len() < 16 => Ok(NicNet::Tap(name.to_owned())),
            Some(("socket", rest)) => match rest.split_once('=') {
                Some(("listen", address)) => socket(SocketKind::Listen, address),
                Some(("connect", address)) => socket(SocketKind::Connect, address),
                Some(("mcast", address)) => socket(SocketKind::Mcast, address),
                _ => Err(()),
            },
            _ => Err(()),
        }
    }
}

/// What a network looks like, for error messages.
pub(crate) const EXPECTED: &str =
    "user, none, tap:NAME, socket:listen=HOST:PORT, socket:connect=HOST:PORT or socket:mcast=GROUP:PORT";

impl NicNet {
    /// The netdev object named `id` with `queues` queue pairs, or `None` where there is nothing to plug into.
    pub fn netdev(&self, id: &str, queues: u16) -> Option<Value> {
        match self {
            NicNet::None => None,
            NicNet::User => Some(json!({ "type": "user", "id": id })),
            NicNet::Socket { kind, address } => {
                Some(json!({ "type": "socket", "id": id, kind.qemu_key(): address }))
            }
            NicNet::Tap(name) => {
                let mut tap = json!({
                    "type": "tap", "id": id, "ifname": name, "script": "no", "downscript": "no", "vhost": false,
                });
                if queues > 1 {
                    tap["queues"] = json!(queues);
                }
                Some(tap)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_guests_meet_on_a_socket_network() {
        let net: NicNet = "socket:listen=127.0.0.1:7000".parse().unwrap();
        let netdev = json!({ "type": "socket", "id": "n", "listen": "127.0.0.1:7000" });
        assert_eq!(net.netdev("n", 1), Some(netdev));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "vde",
            "tap:",
            "tap:a-name-of-sixteen",
            "socket:listen=nowhere",
            "socket:x=h:1",
        ] {
            assert_eq!(text.parse::<NicNet>(), Err(()), "{text}");
        }
    }
}
