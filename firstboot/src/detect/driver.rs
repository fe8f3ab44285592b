//! What the driver of a NIC says by ethtool: rings, channels, moderation, pause frames, offloads.
//!
//! Only ports are asked; a bond or bridge has none of these of its own. What a driver does not offer is absent.

use crate::door::ethtool::{Ethtool, EthtoolError};
use dtnforge_profiles::facts::{Nic, Numbers};

/// The offloads that a report shows, by their kernel names.
const FEATURES: [&str; 4] = ["rx-lro", "rx-gro", "rx-gro-hw", "tx-tcp-segmentation"];

/// Asks the driver of one interface.
pub(super) fn read(ethtool: &dyn Ethtool, nic: &mut Nic) {
    let is_port =
        matches!(nic.kind.as_deref(), Some("physical" | "vf")) || nic.driver.as_deref() == Some("hv_netvsc");
    let Some(name) = nic.name.clone().filter(|_| is_port) else {
        return;
    };
    let rings = ethtool.rings(&name).map(|rings| {
        numbers([
            ("rx", rings.rx),
            ("tx", rings.tx),
            ("rx_max", rings.rx_max),
            ("tx_max", rings.tx_max),
        ])
    });
    nic.rings = keep(nic, "rings", rings);
    let channels = ethtool.channels(&name).map(|channels| {
        numbers([
            ("rx", channels.rx),
            ("tx", channels.tx),
            ("combined", channels.combined),
            ("rx_max", channels.rx_max),
            ("tx_max", channels.tx_max),
            ("combined_max", channels.combined_max),
        ])
    });
    nic.channels = keep(nic, "channels", channels);
    let coalesce = ethtool.coalesce(&name).map(|coalesce| {
        numbers([
            ("adaptive_rx", coalesce.adaptive_rx),
            ("adaptive_tx", coalesce.adaptive_tx),
        ])
    });
    nic.coalesce = keep(nic, "coalesce", coalesce);
    let pause = ethtool
        .pause(&name)
        .map(|pause| numbers([("rx", Some(pause.rx)), ("tx", Some(pause.tx))]));
    nic.pause = keep(nic, "pause", pause);
    nic.features = features(ethtool, &name, nic);
}

fn features(ethtool: &dyn Ethtool, name: &str, nic: &mut Nic) -> Option<Numbers> {
    let mut all = Numbers::new();
    for feature in FEATURES {
        match ethtool.feature(name, feature) {
            Ok(state) => {
                all.insert(feature.to_owned(), state.active.into());
            }
            Err(EthtoolError::Unsupported(_)) => {}
            Err(error) => {
                nic.errors
                    .insert("features".to_owned(), format!("ethtool -k: {error}"));
                break;
            }
        }
    }
    (!all.is_empty()).then_some(all)
}

/// The numbers that there are.
fn numbers<const N: usize, T: Into<serde_json::Value>>(all: [(&str, Option<T>); N]) -> Numbers {
    let there = all
        .into_iter()
        .filter_map(|(key, number)| Some((key.to_owned(), number?.into())));
    there.collect()
}

/// Keeps what was read; what the driver does not offer is absent, any other refusal is noted.
fn keep(nic: &mut Nic, fact: &str, result: Result<Numbers, EthtoolError>) -> Option<Numbers> {
    match result {
        Ok(numbers) => Some(numbers).filter(|numbers| !numbers.is_empty()),
        Err(EthtoolError::Unsupported(_)) => None,
        Err(error) => {
            nic.errors
                .insert(fact.to_owned(), format!("ethtool, {fact}: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::ethtool::{Channels, Coalesce, Feature, Pause, Rings, Side};

    /// A driver with rings, without channels, that fails on moderation.
    #[derive(Debug)]
    struct Driver;

    fn unsupported<T>() -> Result<T, EthtoolError> {
        Err(EthtoolError::Unsupported("no such command".to_owned()))
    }

    impl Ethtool for Driver {
        fn rings(&self, _: &str) -> Result<Rings, EthtoolError> {
            Ok(Rings {
                rx: Some(512),
                rx_max: Some(4096),
                ..Rings::default()
            })
        }
        fn channels(&self, _: &str) -> Result<Channels, EthtoolError> {
            unsupported()
        }
        fn coalesce(&self, _: &str) -> Result<Coalesce, EthtoolError> {
            Err(EthtoolError::NoDevice)
        }
        fn pause(&self, _: &str) -> Result<Pause, EthtoolError> {
            Ok(Pause { rx: true, tx: false })
        }
        fn feature(&self, _: &str, name: &str) -> Result<Feature, EthtoolError> {
            if name == "rx-lro" {
                Ok(Feature {
                    active: true,
                    fixed: false,
                })
            } else {
                unsupported()
            }
        }
        fn set_rings(&self, _: &str, _: Option<u32>, _: Option<u32>) -> Result<(), EthtoolError> {
            panic!("detection only looks")
        }
        fn set_combined(&self, _: &str, _: u32) -> Result<(), EthtoolError> {
            panic!("detection only looks")
        }
        fn set_adaptive(&self, _: &str, _: Side, _: bool) -> Result<(), EthtoolError> {
            panic!("detection only looks")
        }
        fn set_pause(&self, _: &str, _: Pause) -> Result<(), EthtoolError> {
            panic!("detection only looks")
        }
        fn set_feature(&self, _: &str, _: &str, _: bool) -> Result<(), EthtoolError> {
            panic!("detection only looks")
        }
    }

    fn asked(kind: &str) -> Nic {
        let mut nic = Nic {
            name: Some("eth0".into()),
            kind: Some(kind.into()),
            ..Nic::default()
        };
        read(&Driver, &mut nic);
        nic
    }

    #[test]
    fn what_the_driver_offers_is_kept_and_a_failure_is_named() {
        let nic = asked("physical");
        let text = toml::to_string(&nic).unwrap();
        assert_eq!(
            text,
            "name = \"eth0\"\nkind = \"physical\"\n\n[rings]\nrx = 512\nrx_max = 4096\n\n[pause]\nrx = true\ntx = false\n\n[features]\nrx-lro = true\n\n\
             [errors]\ncoalesce = \"ethtool, coalesce: no such device\"\n"
        );
    }

    #[test]
    fn what_is_no_port_is_not_asked() {
        for kind in ["bond", "vlan", "bridge", "representor", "virtual"] {
            let nic = asked(kind);
            assert_eq!((nic.rings, nic.errors.len()), (None, 0), "{kind}");
        }
    }
}
