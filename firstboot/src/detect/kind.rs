//! What kind of interface is this? A wire, or something that repeats or hides the wire of another one.
//!
//! Decided from signs alone, in the order from the surest to the weakest. Names are never a sign: they are chosen by
//! firmware, rules and people.

use crate::netdev;

/// ARP hardware type of InfiniBand (`ARPHRD_INFINIBAND`), Omni-Path included.
const INFINIBAND: u32 = 32;

/// What sysfs says that bears on the kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// ARP hardware type.
    pub(super) hardware_type: Option<u32>,
    /// `DEVTYPE=` of its uevent: `bond`, `bridge`, `vlan`, `vxlan`, ...
    pub(super) devtype: Option<String>,
    /// Whether it has a `bonding` directory.
    pub(super) bonding: bool,
    /// Whether it has a `bridge` directory.
    pub(super) bridge: bool,
    /// Whether 802.1Q lists it.
    pub(super) vlan: bool,
    /// Whether teamd runs it.
    pub(super) team: bool,
    /// Whether it has a device of its own.
    pub(super) device: bool,
    /// The bus of that device.
    pub(super) bus: Option<String>,
    /// The driver of that device.
    pub(super) driver: Option<String>,
    /// PCI `vendor:device`.
    pub(super) pci_id: Option<String>,
    /// Whether its device is a function of another one.
    pub(super) physfn: bool,
    /// Port name in the card's switch.
    pub(super) phys_port_name: Option<String>,
    /// Identity of the card's switch.
    pub(super) phys_switch_id: Option<String>,
}

/// The kind, in the words of a hardware report.
pub(super) fn of(signs: &Signs) -> &'static str {
    let devtype = |name: &str| signs.devtype.as_deref() == Some(name);
    if signs.bonding || devtype("bond") {
        "bond"
    } else if signs.bridge || devtype("bridge") {
        "bridge"
    } else if signs.vlan || devtype("vlan") {
        "vlan"
    } else if signs.team {
        "team"
    } else if signs.hardware_type == Some(INFINIBAND) {
        "ipoib"
    } else if !signs.device {
        "virtual"
    } else if is_representor(signs) {
        "representor"
    } else if signs.bus.as_deref() == Some("auxiliary") {
        "subfunction"
    } else if signs.physfn || is_virtual_function(signs) {
        "vf"
    } else if matches!(signs.bus.as_deref(), Some("vmbus" | "xen")) {
        // Made by the host's software; a VF that speeds it up hangs below it.
        "virtual"
    } else {
        "physical"
    }
}

/// A port of the card's switch that stands for a function. Before kernel 5.1 mlx5 gave bare numbers; on other cards a
/// bare number without a switch is a plain port.
fn is_representor(signs: &Signs) -> bool {
    let Some(port) = signs.phys_port_name.as_deref() else {
        return false;
    };
    let bare = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    netdev::is_representor_port(port) || (bare && signs.phys_switch_id.is_some())
}

/// Inside a guest a VF has no `physfn`; its driver or its device number still tells.
fn is_virtual_function(signs: &Signs) -> bool {
    let drivers = [
        "iavf",
        "i40evf",
        "igbvf",
        "ixgbevf",
        "cxgb4vf",
        "fm10k_vf",
        "hclgevf",
        "enic_vf",
        "nicvf",
        "octeon_ep_vf",
        "rvu_nicvf",
        "thunder-nicvf",
    ];
    // Virtual functions of ConnectX-2, -3, Connect-IB, ConnectX-4 to -6, all later ones, and BlueField.
    let devices = [
        "15b3:1002",
        "15b3:1004",
        "15b3:1012",
        "15b3:1014",
        "15b3:1016",
        "15b3:1018",
        "15b3:101a",
        "15b3:101c",
        "15b3:101e",
        "15b3:a2d3",
    ];
    signs
        .driver
        .as_deref()
        .is_some_and(|driver| drivers.contains(&driver))
        || signs.pci_id.as_deref().is_some_and(|id| devices.contains(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> Signs {
        Signs {
            hardware_type: Some(1),
            device: true,
            bus: Some("pci".into()),
            driver: Some("mlx5_core".into()),
            pci_id: Some("15b3:101d".into()),
            ..Signs::default()
        }
    }

    #[test]
    fn a_wire_is_physical_whatever_its_port_is_called() {
        for name in [None, Some("p0"), Some("1"), Some("")] {
            let signs = Signs {
                phys_port_name: name.map(str::to_owned),
                ..port()
            };
            assert_eq!(of(&signs), "physical", "{name:?}");
        }
    }

    #[test]
    fn ports_inside_the_card_are_representors() {
        for (name, switch) in [
            ("pf0vf3", false),
            ("c1pf0sf88", false),
            ("pf0hpf", false),
            ("3", true),
        ] {
            let signs = Signs {
                phys_port_name: Some(name.into()),
                phys_switch_id: switch.then(|| "aabbcc".to_owned()),
                ..port()
            };
            assert_eq!(of(&signs), "representor", "{name:?}");
        }
    }

    #[test]
    fn each_sign_leads_to_its_kind() {
        let base = Signs::default;
        let text = |text: &str| Some(text.to_owned());
        let table = [
            (
                Signs {
                    bonding: true,
                    ..base()
                },
                "bond",
            ),
            (
                Signs {
                    bridge: true,
                    ..base()
                },
                "bridge",
            ),
            (
                Signs {
                    devtype: text("vlan"),
                    ..base()
                },
                "vlan",
            ),
            (Signs { vlan: true, ..base() }, "vlan"),
            (Signs { team: true, ..base() }, "team"),
            (
                Signs {
                    hardware_type: Some(32),
                    ..port()
                },
                "ipoib",
            ),
            (
                Signs {
                    devtype: text("vxlan"),
                    ..base()
                },
                "virtual",
            ),
            (base(), "virtual"),
            (
                Signs {
                    bus: text("auxiliary"),
                    ..port()
                },
                "subfunction",
            ),
            (
                Signs {
                    physfn: true,
                    ..port()
                },
                "vf",
            ),
            (
                Signs {
                    pci_id: text("15b3:101e"),
                    ..port()
                },
                "vf",
            ),
            (
                Signs {
                    driver: text("iavf"),
                    ..port()
                },
                "vf",
            ),
            (
                Signs {
                    bus: text("vmbus"),
                    driver: text("hv_netvsc"),
                    ..port()
                },
                "virtual",
            ),
            (
                Signs {
                    bus: text("usb"),
                    driver: text("cdc_ether"),
                    ..port()
                },
                "physical",
            ),
            (
                Signs {
                    bus: text("virtio"),
                    driver: text("virtio_net"),
                    ..port()
                },
                "physical",
            ),
        ];
        for (signs, kind) in table {
            assert_eq!(of(&signs), kind, "{signs:?}");
        }
    }
}
