//! CPUs: packages, cores, logical CPUs, SMT, NUMA nodes, frequency policy.
//!
//! Counted in sysfs, one read per core and not per thread; of /proc/cpuinfo only the first processor's lines are read,
//! because the whole file interrupts each CPU for its clock rate and takes long on a large host.

use super::attributes::Attributes;
use super::source::{ONE_VALUE, ReadError, Source};
use dtnforge_profiles::facts;
use std::collections::BTreeSet;

const CPUS: &str = "/sys/devices/system/cpu";
/// Enough for one processor of /proc/cpuinfo, in byte.
const FIRST_PROCESSOR: usize = 16_384;
/// CPU numbers at or above this are not believed: no kernel is built for more (`CONFIG_NR_CPUS`).
const MOST_CPUS: u32 = 65_536;

/// Reads all about the CPUs into `machine`.
pub(super) fn read(source: &dyn Source, machine: &mut facts::Host) {
    let mut attributes = Attributes::of(source, CPUS);
    identity(source, &mut attributes, machine);
    topology(source, &mut attributes, machine);
    machine.smt = attributes.switch("smt", "smt/active");
    machine.numa_nodes =
        list(&mut attributes, "numa_nodes", "/sys/devices/system/node/online").and_then(count);
    machine.governor = attributes.text("governor", "cpu0/cpufreq/scaling_governor");
    machine.freq_driver = attributes.text("freq_driver", "cpu0/cpufreq/scaling_driver");
    machine.errors.append(&mut attributes.errors);
}

fn identity(source: &dyn Source, attributes: &mut Attributes<'_>, machine: &mut facts::Host) {
    let content = source.content("/proc/cpuinfo", FIRST_PROCESSOR);
    let Some(content) = attributes.keep("cpu_model", "/proc/cpuinfo", content) else {
        return;
    };
    let text = String::from_utf8_lossy(&content.bytes);
    let first = first_processor(&text);
    machine.cpu_model = first.model;
    machine.cpu_vendor = first.vendor;
    machine.cpu_hypervisor_flag = first.hypervisor;
}

/// What the first processor of /proc/cpuinfo says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Processor {
    model: Option<String>,
    vendor: Option<String>,
    hypervisor: Option<bool>,
}

fn first_processor(text: &str) -> Processor {
    let mut processor = Processor::default();
    for line in text.lines().take_while(|line| !line.trim().is_empty()) {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim().to_owned();
        match key.trim() {
            "model name" | "cpu" if !value.is_empty() => processor.model = Some(value),
            "vendor_id" if !value.is_empty() => processor.vendor = Some(value),
            "flags" => processor.hypervisor = Some(value.split(' ').any(|flag| flag == "hypervisor")),
            _ => {}
        }
    }
    processor
}

fn topology(source: &dyn Source, attributes: &mut Attributes<'_>, machine: &mut facts::Host) {
    let Some(online) = list(attributes, "cpus", "online") else {
        return;
    };
    let (cores, packages) = cores_and_packages(source, &online);
    machine.cpus = count(online);
    machine.cores = u32::try_from(cores).ok().filter(|number| *number > 0);
    machine.sockets = u32::try_from(packages).ok().filter(|number| *number > 0);
}

fn list(attributes: &mut Attributes<'_>, fact: &str, file: &str) -> Option<BTreeSet<u32>> {
    let text = attributes.text(fact, file)?;
    let list = parse_list(&text).ok_or_else(|| ReadError::odd(&text, "a list such as 0-7,16"));
    attributes.keep(fact, file, list)
}

fn count(list: BTreeSet<u32>) -> Option<u32> {
    u32::try_from(list.len()).ok()
}

/// Distinct cores and packages. A CPU that another one has named as its sibling is not read again.
fn cores_and_packages(source: &dyn Source, online: &BTreeSet<u32>) -> (usize, usize) {
    let mut known = BTreeSet::new();
    let mut packages = BTreeSet::new();
    let mut cores = 0;
    for cpu in online {
        if known.contains(cpu) {
            continue;
        }
        let topology = |file: &str| source.text(&format!("{CPUS}/cpu{cpu}/topology/{file}"), ONE_VALUE);
        let Some(siblings) = topology("thread_siblings_list")
            .ok()
            .and_then(|list| parse_list(&list))
        else {
            continue;
        };
        known.extend(siblings);
        cores += 1;
        if let Ok(package) = topology("physical_package_id") {
            packages.insert(package.trim().to_owned());
        }
    }
    (cores, packages.len())
}

/// The numbers of a kernel list such as `0-3,8`; `None` when it is no such list. The empty list is empty.
pub(super) fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_expanded_and_odd_ones_refused() {
        let list = |text| parse_list(text).map(|set| set.into_iter().collect::<Vec<_>>());
        assert_eq!(list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(list(""), Some(vec![]));
        for odd in ["3-1", "a", "0-4294967295", "1-", "-1", "99999"] {
            assert_eq!(list(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn only_the_first_processor_speaks() {
        let text = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor sse\n\n\
                    processor\t: 1\nmodel name\t: other\nflags : fpu\n";
        let expected = Processor {
            model: Some("Xeon".into()),
            vendor: Some("GenuineIntel".into()),
            hypervisor: Some(true),
        };
        assert_eq!(first_processor(text), expected);
    }

    #[test]
    fn without_a_flags_line_there_is_no_bit_to_speak_of() {
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n";
        assert_eq!(first_processor(arm), Processor::default());
    }
}
