//! The knob that is asked about, with all by which files may name its device.

use crate::door::block;
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::KnobId;

/// A knob and its device as it is at present.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) knob: KnobId,
    /// The NIC, for knobs of one that is there.
    pub(super) port: Option<Port>,
    /// The kernel's name of the disk, for knobs of one that is there.
    pub(super) disk: Option<String>,
}

/// By what a file may name a NIC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) name: String,
    /// Present MAC, lower case.
    pub(super) mac: String,
    /// MAC that the hardware came with, lower case.
    pub(super) permanent_mac: String,
    /// Bus address, for instance `0000:01:00.0`.
    pub(super) bus: String,
    /// Name of the driver.
    pub(super) driver: String,
}

impl Target {
    /// Looks the device of `knob` up.
    pub(super) fn of(host: &Host, knob: &KnobId) -> Self {
        let (port, disk) = match knob {
            KnobId::Nic(id, _) | KnobId::Qdisc(id, _) => {
                (netdev::find(host, id).map(|name| Port::of(host, &name)), None)
            }
            KnobId::Block(id, _) => (None, block::find(host, id)),
            _ => (None, None),
        };
        Self {
            knob: knob.clone(),
            port,
            disk,
        }
    }

    /// Whether a setting of `pattern` ("nic/<dev>:mtu", "sysctl:vm.swappiness") is of this knob.
    pub(super) fn is(&self, pattern: &str) -> bool {
        self.knob.pattern() == pattern
    }

    /// The present name of the device.
    pub(super) fn device(&self) -> Option<&str> {
        self.port
            .as_ref()
            .map(|port| port.name.as_str())
            .or(self.disk.as_deref())
    }
}

impl Port {
    fn of(host: &Host, name: &str) -> Self {
        let attribute = |file: &str| {
            let text = std::fs::read_to_string(host.path(&format!("/sys/class/net/{name}/{file}")));
            text.map(|text| text.trim().to_ascii_lowercase())
                .unwrap_or_default()
        };
        let driver = std::fs::read_link(host.path(&format!("/sys/class/net/{name}/device/driver")));
        Self {
            name: name.to_owned(),
            mac: attribute("address"),
            permanent_mac: netdev::permanent_mac(host, name).unwrap_or_default(),
            bus: netdev::bus_path(host, name).unwrap_or_default(),
            driver: driver
                .ok()
                .and_then(|path| Some(path.file_name()?.to_str()?.to_owned()))
                .unwrap_or_default(),
        }
    }
}
