//! Which profile is made for a host: each profile with what speaks for it and against it.
//!
//! A profile is chosen only when nothing speaks against it. Where several fit, the one that asks for most wins. A host
//! without a role, without a data port that has link, or without a known speed gets none, and the reason says so.

use crate::catalog::{Catalog, Profile, STOCK, Wanted};
use crate::conclude::{Conclusions, Guest, SpeedClass, StorageClass};
use crate::site::{Role, Site};
use serde::Serialize;

/// The outcome of matching.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection<'a> {
    /// The profile; `None` keeps the host stock.
    pub chosen: Option<&'a Profile>,
    /// All profiles that tune, the best match first.
    pub ranked: Vec<Ranked>,
    /// Why this one, or why none; one sentence.
    pub why: String,
}

/// A profile held against a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ranked {
    /// Catalog name.
    pub name: String,
    /// What fits.
    #[serde(rename = "for")]
    pub for_: Vec<String>,
    /// What does not fit; empty for a profile that may be chosen.
    pub against: Vec<String>,
}

/// Chooses a profile. A profile that the site names goes before all others, and still needs a data port with a speed.
pub fn select<'a>(catalog: &'a Catalog, seen: &Conclusions, site: &Site) -> Selection<'a> {
    let ranked = rank(catalog, seen, site);
    let none = |why: String| (None, why);
    let (chosen, why) = match (&site.profile, site.role) {
        (Some(name), _) if name == STOCK => none("the site chose stock".to_owned()),
        (None, None) => none("role not set (key `role` in site.toml)".to_owned()),
        _ => match obstacle(seen) {
            Some(why) => none(why),
            None => choose(catalog, &ranked, site),
        },
    };
    Selection { chosen, ranked, why }
}

/// What no profile can do without.
fn obstacle(seen: &Conclusions) -> Option<String> {
    let reason = |key: &str| {
        let line = seen.why.iter().find_map(|why| why.strip_prefix(key));
        line.unwrap_or("no reason was recorded").to_owned()
    };
    if seen.data_nics.is_empty() {
        return Some(format!("no data port: {}", reason("data_nics: ")));
    }
    if seen.link_mbps.is_none() {
        let reason = reason("speed_class: ");
        return Some(format!(
            "link speed {reason} (state it: key `link_mbps` in site.toml)"
        ));
    }
    None
}

fn choose<'a>(catalog: &'a Catalog, ranked: &[Ranked], site: &Site) -> (Option<&'a Profile>, String) {
    if let Some(name) = &site.profile {
        return match catalog.get(name) {
            Some(profile) => (Some(profile), format!("{name}: the site chose it")),
            None => {
                let names: Vec<_> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
                let known = names.join(", ");
                (
                    None,
                    format!("the site chose profile {name:?}, which is not in the catalog ({known})"),
                )
            }
        };
    }
    let best = ranked.first();
    match best.filter(|best| best.against.is_empty()) {
        Some(best) => (
            catalog.get(&best.name),
            format!("{}: {}", best.name, best.for_.join(", ")),
        ),
        None => (None, nothing_fits(best)),
    }
}

fn nothing_fits(nearest: Option<&Ranked>) -> String {
    match nearest {
        Some(nearest) => format!(
            "no profile fits; the nearest is {}: {}",
            nearest.name,
            nearest.against.join(", ")
        ),
        None => "no profile fits: the catalog has none that tunes".to_owned(),
    }
}

fn rank(catalog: &Catalog, seen: &Conclusions, site: &Site) -> Vec<Ranked> {
    let tuning = catalog.profiles().filter(|profile| !profile.is_stock());
    let mut ranked: Vec<Ranked> = tuning
        .map(|profile| hold_against(profile, seen, site.role))
        .collect();
    ranked.sort_by(|a, b| {
        let key = |ranked: &Ranked| (ranked.against.len(), usize::MAX - ranked.for_.len());
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    ranked
}

fn hold_against(profile: &Profile, seen: &Conclusions, role: Option<Role>) -> Ranked {
    let mut ranked = Ranked {
        name: profile.name.clone(),
        for_: Vec::new(),
        against: Vec::new(),
    };
    ranked.look_at_role(profile, role);
    ranked.look_at_link(profile, seen);
    ranked.look_at_store(&profile.matching.storage, seen.storage_class);
    ranked.look_at_guest(profile.matching.virtualised, seen);
    ranked.look_at_drivers(&profile.matching.drivers, &seen.drivers);
    ranked
}

impl Ranked {
    fn note(&mut self, fits: bool, yes: String, no: String) {
        if fits {
            self.for_.push(yes);
        } else {
            self.against.push(no);
        }
    }

    fn look_at_role(&mut self, profile: &Profile, role: Option<Role>) {
        let roles: Vec<_> = profile.roles.iter().map(|role| role.name()).collect();
        let wanted = roles.join(" or ");
        match role {
            Some(role) => {
                let no = format!("role {role}, and it is for {wanted}");
                self.note(profile.roles.contains(&role), format!("role {role}"), no);
            }
            None => self.against.push(format!("no role, and it is for {wanted}")),
        }
    }

    fn look_at_link(&mut self, profile: &Profile, seen: &Conclusions) {
        let matching = &profile.matching;
        if !matching.speed_classes.is_empty() {
            let classes: Vec<_> = matching.speed_classes.iter().map(|class| class.name()).collect();
            let (class, wanted) = (seen.speed_class, classes.join(" or "));
            let fits = class != SpeedClass::Unknown && matching.speed_classes.contains(&class);
            self.note(
                fits,
                format!("{class} link{}", stated(seen)),
                format!("{class} link, and it is for {wanted}"),
            );
        }
        if matching.min_mbps.is_some() || matching.max_mbps.is_some() {
            let (min, max) = (
                matching.min_mbps.unwrap_or(1),
                matching.max_mbps.unwrap_or(u32::MAX),
            );
            let link = seen
                .link_mbps
                .map_or("unknown speed".to_owned(), |mbps| format!("{mbps} Mb/s"));
            let fits = seen.link_mbps.is_some_and(|mbps| (min..=max).contains(&mbps));
            self.note(
                fits,
                format!("{link}{}", stated(seen)),
                format!(
                    "{link}, and it is for {}",
                    speeds(matching.min_mbps, matching.max_mbps)
                ),
            );
        }
    }

    fn look_at_store(&mut self, wanted: &[StorageClass], class: StorageClass) {
        if !wanted.is_empty() {
            let names: Vec<_> = wanted.iter().map(|class| class.name()).collect();
            let no = format!("{class} storage, and it is for {}", names.join(" or "));
            self.note(wanted.contains(&class), format!("{class} storage"), no);
        }
    }

    fn look_at_drivers(&mut self, wanted: &[String], drivers: &[String]) {
        if !wanted.is_empty() {
            let is = match drivers {
                [] => "driver not known".to_owned(),
                drivers => format!("driver {}", drivers.join(" and ")),
            };
            let fits = !drivers.is_empty() && drivers.iter().all(|driver| wanted.contains(driver));
            let no = format!("{is}, and it is for {}", wanted.join(" or "));
            self.note(fits, is, no);
        }
    }

    fn look_at_guest(&mut self, wanted: Wanted, seen: &Conclusions) {
        let sign = &seen.virtualised.sign;
        let is = match seen.virtualised.guest {
            Guest::Yes => format!("a guest ({sign})"),
            Guest::No => format!("not a guest ({sign})"),
            Guest::CannotTell => format!("guest or not cannot be told ({sign})"),
        };
        match wanted {
            Wanted::Any => {}
            Wanted::Yes => {
                let fits = seen.virtualised.guest == Guest::Yes;
                self.note(fits, is.clone(), format!("{is}, and it is for guests"));
            }
            Wanted::No => {
                let fits = seen.virtualised.guest == Guest::No;
                self.note(fits, is.clone(), format!("{is}, and it is not for guests"));
            }
        }
    }
}

/// The speeds that a profile is for, in words.
fn speeds(min: Option<u32>, max: Option<u32>) -> String {
    match (min.filter(|min| *min > 1), max) {
        (None, None) => "any known speed".to_owned(),
        (Some(min), None) => format!("{min} Mb/s and more"),
        (None, Some(max)) => format!("{max} Mb/s and less"),
        (Some(min), Some(max)) => format!("{min} to {max} Mb/s"),
    }
}

/// Marks a speed that the kernel does not know.
fn stated(seen: &Conclusions) -> &'static str {
    if seen.link_stated {
        " (stated by the site)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::conclude;
    use crate::site::SiteFile;

    const SERVER: &str = "[host]\ncpu_hypervisor_flag = false\ndmi_vendor = 'Supermicro'\n\
        [[nic]]\nname = 'eth0'\nkind = 'physical'\ncarrier = true\nspeed_mbps = 100000\n\
        [[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize_bytes = 4000000000000\n";

    fn site(toml: &str) -> Site {
        toml::from_str::<SiteFile>(toml).unwrap().check().unwrap()
    }

    fn selected(facts: &str, toml: &str) -> (Option<String>, String) {
        let (catalog, site) = (Catalog::embedded().unwrap(), site(toml));
        let seen = conclude(&toml::from_str(facts).unwrap(), &site);
        let selection = select(&catalog, &seen, &site);
        (
            selection.chosen.map(|profile| profile.name.clone()),
            selection.why,
        )
    }

    #[test]
    fn each_class_of_hosts_gets_its_profile() {
        for (facts, expected) in [
            (SERVER.to_owned(), "dtn-100g-nvme"),
            (SERVER.replace("100000", "25000"), "dtn-25g-nvme"),
            (SERVER.replace("100000", "40000"), "dtn-40g-nvme"),
            (SERVER.replace("100000", "1000"), "dtn-1g"),
            (
                SERVER.replace("'nvme'", "'sas'\nrotational = true"),
                "dtn-100g-disks",
            ),
            (SERVER.replace("'nvme'", "'raid'"), "dtn-anystore"),
            (
                SERVER.replace(
                    "= false\ndmi_vendor = 'Supermicro'",
                    "= true\ndmi_vendor = 'QEMU'",
                ),
                "dtn-vm",
            ),
            (
                SERVER
                    .replace(
                        "= false\ndmi_vendor = 'Supermicro'",
                        "= true\ndmi_vendor = 'Amazon EC2'",
                    )
                    .replace("'physical'", "'physical'\ndriver = 'ena'"),
                "dtn-vm-vf",
            ),
            (
                format!("{SERVER}[[mount]]\nfstype = 'lustre'\ntarget_role = 'data'\n"),
                "dtn-100g-netstore",
            ),
        ] {
            let (chosen, why) = selected(&facts, "role = 'dtn'");
            assert_eq!(chosen.as_deref(), Some(expected), "{why}");
        }
        let (_, why) = selected(SERVER, "role = 'dtn'");
        let sign = "no hypervisor bit in the CPU";
        assert!(
            why.starts_with("dtn-100g-nvme: role dtn, 100G link, nvme storage, not a guest"),
            "{why} {sign}"
        );
    }

    #[test]
    fn each_role_has_a_profile_for_machines_and_one_for_guests() {
        let guest = SERVER.replace(
            "= false\ndmi_vendor = 'Supermicro'",
            "= true\ndmi_vendor = 'QEMU'",
        );
        for role in ["perfsonar", "xrootd-frontend", "remote-processing"] {
            for mbps in ["1000", "10000", "25000", "40000", "100000", "200000", "400000"] {
                let site = format!("role = '{role}'");
                let (chosen, why) = selected(&SERVER.replace("100000", mbps), &site);
                assert_eq!(chosen.as_deref(), Some(role), "{why}");
                let (chosen, why) = selected(&guest.replace("100000", mbps), &site);
                assert_eq!(chosen, Some(format!("{role}-vm")), "{why}");
            }
        }
    }

    #[test]
    fn a_host_that_lacks_what_a_profile_needs_stays_stock_and_says_why() {
        for (facts, site, expected) in [
            (SERVER.to_owned(), "", "role not set"),
            (
                SERVER.to_owned(),
                "role = 'dtn'\nprofile = 'stock'",
                "the site chose stock",
            ),
            (
                SERVER.replace("carrier = true", "carrier = false"),
                "role = 'dtn'",
                "no carrier on eth0",
            ),
            (
                SERVER.replace("100000", "-1"),
                "role = 'dtn'",
                "link speed unknown, eth0 reports -1 (state it: key `link_mbps`",
            ),
            (
                SERVER.replace("100000", "100"),
                "role = 'dtn'",
                "no profile fits; the nearest is dtn-100g-nvme: 100M link, and it is for 100G",
            ),
            (
                SERVER.replace("cpu_hypervisor_flag = false\ndmi_vendor = 'Supermicro'", ""),
                "role = 'perfsonar'",
                "the nearest is perfsonar: guest or not cannot be told (nothing names the machine), and it is not for guests",
            ),
            (
                SERVER.to_owned(),
                "profile = 'fish'",
                "profile \"fish\", which is not in the catalog (dtn-100g-disks,",
            ),
        ] {
            let (chosen, why) = selected(&facts, site);
            assert_eq!(chosen, None, "{why}");
            assert!(why.contains(expected), "{why:?} does not say {expected:?}");
        }
    }

    #[test]
    fn the_site_may_state_the_speed_and_name_the_profile() {
        let unknown = SERVER.replace("100000", "-1");
        let (chosen, _) = selected(&unknown, "role = 'dtn'\nlink_mbps = 25000");
        assert_eq!(chosen.as_deref(), Some("dtn-25g-nvme"));
        let (chosen, why) = selected(SERVER, "profile = 'dtn-vm'");
        assert_eq!(
            (chosen.as_deref(), why.as_str()),
            (Some("dtn-vm"), "dtn-vm: the site chose it")
        );
    }
}
