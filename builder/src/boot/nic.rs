//! One network card of the guest: what was asked for, and the QEMU objects that make it.
//!
//! A card is a device (what the guest sees) and a netdev (what it is plugged into). Both are JSON, in the form that the
//! command line (`-device`, `-netdev`) and the control socket (`device_add`, `netdev_add`) share, so a card plugged in
//! later is built by the same code as one that was there from the start.

use std::str::FromStr;

use serde_json::{Value, json};

use super::fields::{FieldError, Fields};
use super::mac::Mac;
use super::net::{self, NicNet};

/// What the guest sees: the model of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicModel {
    /// Paravirtual; the only one with a settable speed and ring size.
    Virtio,
    /// Intel 82574, one queue pair.
    E1000e,
    /// Intel 82576, several queue pairs.
    Igb,
    /// VMware's paravirtual card.
    Vmxnet3,
}

impl NicModel {
    const NAMES: &str = "virtio, e1000e, igb or vmxnet3";

    fn qemu_driver(self) -> &'static str {
        match self {
            NicModel::Virtio => "virtio-net-pci",
            NicModel::E1000e => "e1000e",
            NicModel::Igb => "igb",
            NicModel::Vmxnet3 => "vmxnet3",
        }
    }
}

impl FromStr for NicModel {
    type Err = ();

    fn from_str(text: &str) -> Result<NicModel, ()> {
        Ok(match text {
            "virtio" => NicModel::Virtio,
            "e1000e" => NicModel::E1000e,
            "igb" => NicModel::Igb,
            "vmxnet3" => NicModel::Vmxnet3,
            _ => return Err(()),
        })
    }
}

/// A network card as asked for by `--nic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicSpec {
    /// Model that the guest sees.
    pub model: NicModel,
    /// Link speed that the guest reads, in Mb/s; virtio only.
    pub speed_mbps: Option<u32>,
    /// Hardware address; `None` gives a numbered one.
    pub mac: Option<Mac>,
    /// The cable is out.
    pub link_down: bool,
    /// Receive ring, 256, 512 or 1024 entries; virtio only.
    pub rx_queue_size: Option<u16>,
    /// Queue pairs, 1 to 64; more than one needs a tap network.
    pub queues: u16,
    /// What it is plugged into.
    pub net: NicNet,
}

impl Default for NicSpec {
    fn default() -> NicSpec {
        NicSpec {
            model: NicModel::Virtio,
            speed_mbps: None,
            mac: None,
            link_down: false,
            rx_queue_size: None,
            queues: 1,
            net: NicNet::User,
        }
    }
}

const KEYS: &[&str] = &["model", "speed", "mac", "link", "rx_queue_size", "queues", "net"];

impl FromStr for NicSpec {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<NicSpec, FieldError> {
        let mut fields = Fields::parse(text)?;
        let model_text = fields.kind.take().or_else(|| fields.take("model"));
        let model = match model_text {
            None => NicModel::Virtio,
            Some(name) => name
                .parse()
                .map_err(|()| FieldError::value("model", &name, NicModel::NAMES))?,
        };
        let spec = NicSpec {
            model,
            speed_mbps: fields.take_parsed("speed", "a whole number of Mb/s, such as 100000")?,
            mac: fields.take("mac").map(|mac| mac.parse()).transpose()?,
            link_down: match fields.take("link").as_deref() {
                None | Some("up") => false,
                Some("down") => true,
                Some(other) => return Err(FieldError::value("link", other, "up or down")),
            },
            rx_queue_size: fields.take_parsed("rx_queue_size", RING)?,
            queues: fields.take_parsed("queues", QUEUES)?.unwrap_or(1),
            net: fields.take_parsed("net", net::EXPECTED)?.unwrap_or(NicNet::User),
        };
        fields.finish(KEYS)?;
        spec.checked()
    }
}

const RING: &str = "256, 512 or 1024 (virtio)";
const QUEUES: &str = "1 to 64";

impl NicSpec {
    fn checked(self) -> Result<NicSpec, FieldError> {
        if self.model != NicModel::Virtio && self.speed_mbps.is_some() {
            return Err(FieldError(
                "speed: only a virtio card has a settable speed".into(),
            ));
        }
        if self.model != NicModel::Virtio && self.rx_queue_size.is_some() {
            return Err(FieldError(
                "rx_queue_size: only a virtio card has a settable ring".into(),
            ));
        }
        if let Some(ring) = self.rx_queue_size.filter(|ring| ![256, 512, 1024].contains(ring)) {
            return Err(FieldError::value("rx_queue_size", &ring.to_string(), RING));
        }
        if self
            .speed_mbps
            .is_some_and(|speed| i32::try_from(speed).is_err() || speed == 0)
        {
            return Err(FieldError("speed: expected 1 to 2147483647 Mb/s".into()));
        }
        if !(1..=64).contains(&self.queues) {
            return Err(FieldError::value("queues", &self.queues.to_string(), QUEUES));
        }
        let tap_backed = self.model == NicModel::Virtio && matches!(self.net, NicNet::Tap(_));
        if self.queues > 1 && !tap_backed {
            return Err(FieldError(
                "queues: several queue pairs need model=virtio and net=tap:NAME (QEMU's user network has one)".into(),
            ));
        }
        Ok(self)
    }

    /// The netdev object named `id`, or `None` for a card that is plugged into nothing.
    pub fn netdev(&self, id: &str) -> Option<Value> {
        self.net.netdev(id, self.queues)
    }

    /// The device object named `id`, plugged into `netdev` and into `bus` when one is given.
    ///
    /// `index` numbers the card when it has no address of its own. The option ROM is left out: nothing here boots from
    /// the network, and the firmware saves the time to load it.
    pub fn device(&self, id: &str, netdev: Option<&str>, index: u8, bus: Option<&str>) -> Value {
        let mut device = json!({
            "driver": self.model.qemu_driver(), "id": id, "mac": self.address(index).to_string(), "romfile": "",
        });
        if let Some(netdev) = netdev {
            device["netdev"] = json!(netdev);
        }
        if let Some(bus) = bus {
            device["bus"] = json!(bus);
        }
        if let Some(speed) = self.speed_mbps {
            device["speed"] = json!(speed);
            device["duplex"] = json!("full");
        }
        if let Some(ring) = self.rx_queue_size {
            device["rx_queue_size"] = json!(ring);
        }
        if self.queues > 1 {
            device["mq"] = json!(true);
            device["vectors"] = json!(2 * self.queues + 2);
        }
        device
    }

    /// The card's address: its own, or the numbered one.
    pub fn address(&self, index: u8) -> Mac {
        self.mac.unwrap_or_else(|| Mac::numbered(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_100g_virtio_card_reads_as_one() {
        let nic: NicSpec = "model=virtio,speed=100000,rx_queue_size=1024,link=down"
            .parse()
            .unwrap();
        assert!(nic.link_down);
        assert_eq!(
            nic.device("nic0", Some("net0"), 1, None),
            json!({ "driver": "virtio-net-pci", "id": "nic0", "netdev": "net0", "mac": "52:54:00:d7:00:01",
                    "romfile": "", "speed": 100_000, "duplex": "full", "rx_queue_size": 1024 })
        );
        assert_eq!(nic.netdev("net0"), Some(json!({ "type": "user", "id": "net0" })));
    }

    #[test]
    fn the_model_may_stand_first_without_its_key() {
        let nic: NicSpec = "vmxnet3,net=none".parse().unwrap();
        assert_eq!((nic.model, nic.net.clone()), (NicModel::Vmxnet3, NicNet::None));
        assert_eq!(nic.netdev("net0"), None);
    }

    #[test]
    fn a_tap_card_gets_as_many_vectors_as_its_queues_need() {
        let nic: NicSpec = "model=virtio,net=tap:dtn0,queues=4".parse().unwrap();
        assert_eq!(nic.netdev("n").unwrap()["queues"], 4);
        let device = nic.device("d", Some("n"), 1, Some("hp0"));
        assert_eq!(
            (&device["mq"], &device["vectors"], &device["bus"]),
            (&json!(true), &json!(10), &json!("hp0"))
        );
    }

    #[test]
    fn what_a_card_cannot_be_is_refused_with_the_reason() {
        let cases = [
            ("model=rtl8139", "expected virtio, e1000e, igb or vmxnet3"),
            ("model=igb,speed=25000", "only a virtio card has a settable speed"),
            (
                "model=e1000e,rx_queue_size=512",
                "only a virtio card has a settable ring",
            ),
            ("rx_queue_size=300", "expected 256, 512 or 1024"),
            (
                "queues=4",
                "several queue pairs need model=virtio and net=tap:NAME",
            ),
            ("queues=0,net=tap:x", "expected 1 to 64"),
            ("speed=0", "expected 1 to 2147483647"),
            ("link=sideways", "expected up or down"),
            ("net=vde", "expected user, none, tap:NAME"),
            ("net=socket:listen=nowhere", "socket:listen=HOST:PORT"),
            (
                "colour=red",
                "unknown key \"colour\", expected one of: model, speed",
            ),
        ];
        for (text, message) in cases {
            let error = text.parse::<NicSpec>().unwrap_err().0;
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
