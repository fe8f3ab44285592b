//! The host as a plan needs it: present values and limits of the knobs that a profile names, modules, memory.

use crate::door::Door;
use crate::host::Host;
use dtnforge_profiles::catalog::Profile;
use dtnforge_profiles::conclude::Conclusions;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::plan::{self, Reading, Target};
use dtnforge_profiles::site::Site;
use std::collections::BTreeSet;
use std::fs;

/// Reads all that [`plan::make`] needs. Changes nothing.
pub fn read<D: Door>(
    host: &Host,
    doors: &D,
    profile: &Profile,
    facts: &Facts,
    conclusions: &Conclusions,
    site: &Site,
) -> Target {
    let kernel = facts.host.kernel.clone().unwrap_or_default();
    let mut target = Target {
        modules: modules(host, &kernel),
        memory_bytes: memory_bytes(host),
        kernel,
        ..Target::default()
    };
    for knob in plan::knobs_of(profile, facts, conclusions, site) {
        let reading = doors
            .read(&knob)
            .unwrap_or_else(|error| Reading::Unsupported(error.to_string()));
        if let Some(limit) = doors.limit(&knob) {
            target.limits.insert(knob.clone(), limit);
        }
        target.readings.insert(knob, reading);
    }
    target
}

/// MemTotal, in byte.
fn memory_bytes(host: &Host) -> Option<u64> {
    let text = fs::read_to_string(host.path("/proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Names of all modules that this kernel has: loadable, built in or loaded. `None` when its lists cannot be read.
pub fn modules(host: &Host, kernel: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let list = |name: &str| fs::read_to_string(host.path(&format!("/lib/modules/{kernel}/{name}"))).ok();
    for path in list("modules.dep")?
        .lines()
        .filter_map(|line| line.split(':').next())
    {
        names.extend(module_name(path));
    }
    for path in list("modules.builtin").unwrap_or_default().lines() {
        names.extend(module_name(path));
    }
    let loaded = fs::read_to_string(host.path("/proc/modules")).unwrap_or_default();
    names.extend(
        loaded
            .lines()
            .filter_map(|line| line.split(' ').next())
            .map(str::to_owned),
    );
    Some(names)
}

/// `kernel/net/sched/sch_fq.ko.xz` is `sch_fq`; dashes count as underscores, as modprobe has it.
fn module_name(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let name = file.split(".ko").next().filter(|name| !name.is_empty())?;
    Some(name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_names_lose_path_and_compression() {
        assert_eq!(
            module_name("kernel/net/sched/sch_fq.ko.xz").as_deref(),
            Some("sch_fq")
        );
        assert_eq!(
            module_name("kernel/net/ipv4/tcp-bbr.ko").as_deref(),
            Some("tcp_bbr")
        );
        assert_eq!(module_name(""), None);
    }
}
