//! The files of a plan parse, and say what the plan says.

use crate::readers::{modules, sysctl, tuned, udev};
use crate::{host, plan_of, profile, read};
use dtnforge_profiles::knob::{KnobId, Owner};
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::render::{NativeFile, files};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A plan of a profile that the catalog took, on a made-up host.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let made_up = (profile::text(), host::facts(), host::site());
    let accepted = made_up.prop_filter_map("the catalog refuses it", |(text, facts, site)| {
        read(&text).map(|profile| (profile, facts, site))
    });
    accepted.prop_flat_map(|(profile, facts, site)| {
        let target = host::target(&profile, &facts, &site);
        target.prop_map(move |target| plan_of(&profile, &facts, &site, &target))
    })
}

fn texts<'a>(files: &'a [NativeFile], below: &'a str) -> impl Iterator<Item = &'a str> {
    let of = files.iter().filter(move |file| file.path.starts_with(below));
    of.map(|file| file.text.as_str())
}

fn check_sysctls(plan: &Plan, files: &[NativeFile]) {
    let mut written = BTreeMap::new();
    for text in texts(files, "sysctl.d/") {
        written.extend(sysctl::read(text));
    }
    let planned: BTreeMap<String, String> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.knob {
            KnobId::Sysctl(key) => Some((key.clone(), step.to.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(written, planned);
}

fn check_rules(plan: &Plan, files: &[NativeFile]) {
    let mut words = Vec::new();
    for rule in texts(files, "udev/").flat_map(udev::read) {
        for token in &rule {
            let known = [
                "KERNELS",
                "ATTR{address}",
                "GOTO",
                "LABEL",
                "ACTION",
                "SUBSYSTEM",
                "SUBSYSTEMS",
            ];
            match token.key.as_str() {
                "RUN" => words.extend(settings_of(&token.value)),
                "ATTR{mtu}" => words.extend([format!("mtu {}", token.value)]),
                "ATTR{phys_port_name}" => assert_eq!(token.operator, "=="),
                key => assert!(known.contains(&key), "odd key in {rule:?}"),
            }
        }
    }
    let mut planned: Vec<String> = plan
        .steps
        .iter()
        .filter(|step| step.owner == Owner::Udev)
        .map(|step| {
            let (KnobId::Nic(_, key) | KnobId::Qdisc(_, key)) = &step.knob else {
                panic!("{} is no setting of a port", step.knob)
            };
            format!(
                "{} {}",
                key.split_once('.').map_or(key.as_str(), |(_, name)| name),
                step.to
            )
        })
        .collect();
    words.sort();
    planned.sort();
    assert_eq!(words, planned);
}

/// `rx 2048` and `tx 2048` of `/usr/sbin/ethtool -G $name rx 2048 tx 2048`; `maxrate 2000` of the script for pacing, whose
/// text is always the same.
fn settings_of(command: &str) -> Vec<String> {
    if let Some(script) = command.strip_prefix("/bin/sh -c '") {
        let (text, rate) = script.split_once("' pacing $name ").unwrap();
        assert!(text.starts_with("set -f; ") && !text.contains('\''), "{text}");
        assert!(rate.bytes().all(|byte| byte.is_ascii_digit()), "{rate}");
        return vec![format!("maxrate {rate}")];
    }
    let words: Vec<&str> = command.split(' ').collect();
    let ["/usr/sbin/ethtool", flag, "$name", settings @ ..] = words.as_slice() else {
        panic!("an odd command: {command:?}");
    };
    assert!(["-G", "-L", "-K", "-C", "-A"].contains(flag), "{command:?}");
    let plain = |word: &&str| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    assert!(settings.iter().all(plain), "{command:?}");
    let (pairs, []) = settings.as_chunks::<2>() else {
        panic!("half a setting: {command:?}")
    };
    pairs
        .iter()
        .map(|[name, value]| format!("{name} {value}"))
        .collect()
}

fn check_tuned(plan: &Plan, files: &[NativeFile]) {
    let ours = format!("dtnforge-{}", plan.profile);
    let place = format!("dtnforge/tuned/profiles/{ours}/tuned.conf");
    let conf = files.iter().find(|file| file.path == place);
    assert_eq!(conf.is_some(), plan.tuned_conf.is_some());
    let Some(conf) = conf else { return };
    assert_eq!(
        texts(files, "dtnforge/tuned/active_profile").collect::<String>(),
        format!("{ours}\n")
    );
    let sections = tuned::read(&conf.text);
    let (mut owned, mut repeated) = (BTreeMap::new(), BTreeMap::new());
    for (section, options) in &sections {
        for (option, value) in options {
            match (section.as_str(), option.as_str()) {
                ("main", "summary") | ("vm", "drop") => {}
                ("main", "include") => assert!(
                    ["throughput-performance", "virtual-guest", "latency-performance"]
                        .contains(&value.as_str())
                ),
                ("sysctl", key) => drop(repeated.insert(format!("sysctl:{key}"), value.clone())),
                ("cpu", "governor") => drop(owned.insert("cpu:governor".to_owned(), value.clone())),
                (disk, "type") if disk.starts_with("disk") => assert_eq!(value, "disk"),
                (disk, "devices") if disk.starts_with("disk") => {}
                (disk, key) if disk.starts_with("disk") => owned.extend(of_each_disk(options, key, value)),
                _ => panic!("[{section}] {option}: an option that we never write"),
            }
        }
    }
    let values_of = |owner: Owner| -> BTreeMap<String, String> {
        let steps = plan.steps.iter().filter(|step| step.owner == owner);
        steps
            .map(|step| (step.knob.to_string(), step.to.to_string()))
            .collect()
    };
    let mut planned = values_of(Owner::Tuned);
    planned.remove("tuned:profile");
    assert_eq!(owned, planned);
    let live = values_of(Owner::SysctlD);
    for (knob, value) in repeated {
        // A value that is right already is no step, and is repeated all the same.
        assert!(
            live.get(&knob).is_none_or(|ours| *ours == value),
            "{knob} has two values"
        );
    }
}

/// `nvme0n1,nvme1n1` and a readahead as one knob for each disk.
fn of_each_disk(options: &BTreeMap<String, String>, option: &str, value: &str) -> Vec<(String, String)> {
    let key = match option {
        "elevator" => "scheduler",
        "readahead" => "read_ahead_kb",
        _ => panic!("{option} is no option of a disk that we write"),
    };
    let knob = |disk: &str| (format!("block/{disk}:{key}"), value.to_owned());
    options["devices"].split(',').map(knob).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn the_files_of_every_plan_parse_and_say_what_the_plan_says(plan in plan()) {
        let files = files(&plan).unwrap();
        let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        prop_assert_eq!(paths.len(), files.len());
        for path in paths {
            prop_assert!(path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) && !path.contains(".."), "{}", path);
        }
        check_sysctls(&plan, &files);
        check_rules(&plan, &files);
        check_tuned(&plan, &files);
        let loaded: Vec<String> = texts(&files, "modules-load.d/").flat_map(modules::read).collect();
        prop_assert_eq!(loaded, plan.modules.clone());
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes(plan in plan()) {
        prop_assert_eq!(files(&plan).unwrap(), files(&plan.clone()).unwrap());
    }
}
