//! Which profiles of a catalog any host can get: matching, tried with one host of each kind.

use crate::catalog::Catalog;
use crate::conclude::{Conclusions, Guest, SpeedClass, StorageClass, Virtualised};
use crate::matching::select;
use crate::site::{Role, Site};
use std::collections::{BTreeMap, BTreeSet};

/// Names of profiles.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Those that nothing speaks against on some host.
    pub(super) fitting: BTreeSet<String>,
    /// Those that are chosen for some host.
    pub(super) chosen: BTreeSet<String>,
}

impl Reached {
    /// Tries every kind of host that the profiles can tell apart.
    pub(super) fn of(catalog: &Catalog, site: &Site) -> Self {
        let mut reached = Self::default();
        let roles: BTreeSet<Role> = catalog
            .profiles()
            .flat_map(|profile| profile.roles.clone())
            .collect();
        for role in roles {
            let site = Site {
                role: Some(role),
                profile: None,
                ..site.clone()
            };
            for seen in hosts(catalog) {
                let selection = select(catalog, &seen, &site);
                let fitting = selection.ranked.iter().filter(|ranked| ranked.against.is_empty());
                reached.fitting.extend(fitting.map(|ranked| ranked.name.clone()));
                reached
                    .chosen
                    .extend(selection.chosen.map(|profile| profile.name.clone()));
            }
        }
        reached
    }
}

/// One host of each kind: the edges of each speed that a profile names, each store, each driver, guest or not.
fn hosts(catalog: &Catalog) -> Vec<Conclusions> {
    let mut hosts = Vec::new();
    let named = catalog
        .profiles()
        .flat_map(|profile| profile.matching.drivers.clone());
    let drivers: BTreeSet<Option<String>> = named.map(Some).chain([None]).collect();
    for mbps in speeds(catalog) {
        for storage_class in StorageClass::ALL {
            for guest in [Guest::Yes, Guest::No, Guest::CannotTell] {
                let of_driver = |driver: &Option<String>| host(mbps, storage_class, guest, driver.clone());
                hosts.extend(drivers.iter().map(of_driver));
            }
        }
    }
    hosts
}

fn speeds(catalog: &Catalog) -> BTreeSet<u32> {
    let mut speeds = BTreeSet::from([
        1, 100, 1_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000,
    ]);
    for profile in catalog.profiles() {
        let matching = &profile.matching;
        speeds.extend(matching.min_mbps);
        speeds.extend(matching.max_mbps);
        speeds.extend(matching.max_mbps.and_then(|mbps| mbps.checked_add(1)));
    }
    speeds
}

fn host(mbps: u32, storage_class: StorageClass, guest: Guest, driver: Option<String>) -> Conclusions {
    Conclusions {
        host_mbps: None,
        limited: BTreeMap::new(),
        data_nics: vec!["data".to_owned()],
        drivers: driver.into_iter().collect(),
        speed_class: SpeedClass::of(mbps),
        link_mbps: Some(mbps),
        link_stated: false,
        storage_class,
        data_disks: Vec::new(),
        virtualised: Virtualised {
            guest,
            sign: String::new(),
        },
        numa_node: None,
        cannot_tell: Vec::new(),
        why: Vec::new(),
        findings: Vec::new(),
    }
}
