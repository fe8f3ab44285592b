//! The files of every profile in a real guest: the system's own tools read them, every value is live, tuned agrees, and
//! nothing changes back when those who own the values start again.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use dtnforge_profiles::catalog::{Catalog, Profile};
use dtnforge_profiles::site::Role;
use dtnforge_tests::programs::{Programs, run};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::vm::log_path;
use dtnforge_tests::{Image, Probes, Trouble, Vm, project};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// What a guest of QEMU cannot have: it has no frequency driver.
const ABSENT: [&str; 1] = ["cpu:governor"];

/// What `tuned-adm verify` may miss: options of the profiles that ours include, and our governor, for hardware that this
/// guest has not.
const INHERITED: [&str; 1] = ["governor"];

/// Exit code and output of each step.
type Steps = BTreeMap<String, (i32, String)>;

/// The disk that brings `dtnforge` and the script into the guest: a tar, written to it raw.
fn payload(name: &str) -> Result<PathBuf, Trouble> {
    let tar = log_path(name, "tar")?;
    let programs = Programs::get()?;
    let place = |command: &mut Command, file: &PathBuf| {
        command.arg("-C").args(
            [file.parent(), file.file_name().map(AsRef::as_ref)]
                .into_iter()
                .flatten(),
        );
    };
    let mut command = Command::new("tar");
    command.arg("--create").arg("--file").arg(&tar);
    place(&mut command, &programs.dtnforge);
    place(&mut command, &project().join("tests/scripts/check-profiles.sh"));
    run(&mut command)?;
    Ok(tar)
}

/// Boots a node that does nothing by itself, and runs the script on `profiles`.
fn check(name: &'static str, profiles: &[&Profile]) -> Result<(), Trouble> {
    let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let disk = format!(
        "virtio,serial=payload,readonly=on,file={}",
        payload(name)?.display()
    );
    let vm = Vm::of(&Image::of_spec("lean.toml")?, name)
        .option("--ram", "4096")
        .option("--timeout", "900")
        .nic("virtio,speed=100000,rx_queue_size=1024")
        .disk("nvme,size=8G")
        .option("--cmdline", "dtn-firstboot.hold")
        .option("--run-timeout", "3000")
        .disk(&disk);
    let unpack = "mkdir /run/payload && tar -C /run/payload -xf /dev/disk/by-id/virtio-payload";
    let script = format!(
        "/run/payload/check-profiles.sh /run/payload/dtnforge {}",
        names.join(" ")
    );
    let probes = Probes::new()
        .wait_until_up()
        .ask("unpack", unpack)
        .ask("catalog", &script);
    let (report, answers) = vm.ask(&probes)?;
    let seconds = report.data.seconds - report.data.seconds_shell.unwrap_or_default();
    say(&format!("{name}: {} profiles in {seconds:.0} s", profiles.len()));
    assert_eq!(answers.get("unpack").code, 0, "{}", answers.text("unpack"));
    let checked = steps(&answers.text("catalog"));
    assert_eq!(
        checked.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        names.into_iter().collect()
    );
    for profile in profiles {
        check_steps(profile, &checked[&profile.name]);
    }
    Ok(())
}

/// What the script printed, by profile and step.
fn steps(output: &str) -> BTreeMap<String, Steps> {
    let mut profiles: BTreeMap<String, Steps> = BTreeMap::new();
    for part in format!("\n{output}").split("\n##").skip(1) {
        let (head, text) = part.split_once('\n').unwrap_or((part, ""));
        let words: Vec<&str> = head.split(' ').collect();
        let [profile, step, code] = words.as_slice() else {
            panic!("an odd line of the script: {head:?}");
        };
        let code = code
            .parse()
            .unwrap_or_else(|_| panic!("an odd exit code: {head:?}"));
        profiles
            .entry((*profile).to_owned())
            .or_default()
            .insert((*step).to_owned(), (code, text.trim().to_owned()));
    }
    profiles
}

fn check_steps(profile: &Profile, steps: &Steps) {
    let name = profile.name.as_str();
    let of_tuned = ["tuned-start", "tuned-profile"];
    let of_all = [
        "render",
        "place",
        "cat-config",
        "udevadm-verify",
        "udev-apply",
        "modules-load",
        "sysctl",
        "start-again",
    ];
    let of_tuned = profile.tuned.as_ref().map(|_| of_tuned).into_iter().flatten();
    for step in of_all.into_iter().chain(of_tuned) {
        let (code, text) = &steps[step];
        assert_eq!(*code, 0, "{name}, {step}: {text}");
    }
    let (_, text) = &steps["sysctl"];
    assert!(!text.contains("Couldn't write"), "{name}: {text}");
    assert_eq!(
        steps.contains_key("tuned-profile"),
        profile.tuned.is_some(),
        "{name}"
    );
    if let Some((_, text)) = steps.get("tuned-profile") {
        assert!(
            text.contains(&format!("Current active profile: dtnforge-{name}")),
            "{name}: {text}"
        );
        check_verify(name, &steps["tuned-verify"]);
    }
    let live = check_values(name, &steps["live"].1);
    assert_eq!(
        check_values(name, &steps["live-again"].1),
        live,
        "{name}: changed by a start of tuned or systemd-sysctl"
    );
}

/// Every value that the profile sets is live, but for what this guest cannot have.
fn check_values(profile: &str, text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [knob, wanted, live] = fields.as_slice() else {
            panic!("{profile}: an odd line of the script: {line:?}");
        };
        let absent = *live == "ABSENT" && ABSENT.contains(knob);
        assert!(
            absent || wanted == live,
            "{profile}: {knob} is {live}, and {wanted} was wanted"
        );
        values.insert((*knob).to_owned(), (*live).to_owned());
    }
    assert!(
        values.contains_key("sysctl:net.ipv4.tcp_rmem"),
        "{profile}: {text}"
    );
    values
}

/// tuned agrees, or misses only what this guest has no hardware for.
fn check_verify(profile: &str, (code, text): &(i32, String)) {
    let failed: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("verify: failed"))
        .collect();
    assert_eq!(*code == 0, failed.is_empty(), "{profile}: {text}");
    for line in failed {
        let known = INHERITED
            .iter()
            .any(|option| line.contains(&format!("'{option}'")) && line.contains("= 'None'"));
        assert!(known, "{profile}: {line}");
    }
}

fn tuning(catalog: &Catalog) -> Vec<&Profile> {
    catalog.profiles().filter(|profile| !profile.is_stock()).collect()
}

/// One of each kind: profiles that differ only in the speed of the link have the same settings.
#[test]
fn a_profile_of_each_kind_is_read_live_and_stays() -> Result<(), Trouble> {
    const NAME: &str = "a_profile_of_each_kind_is_read_live_and_stays";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let catalog = Catalog::embedded().unwrap();
    let mut kinds: BTreeMap<String, &Profile> = BTreeMap::new();
    for profile in tuning(&catalog) {
        let settings: BTreeSet<String> = profile
            .knobs
            .iter()
            .map(|line| format!("{} {}", line.id, line.value.as_str()))
            .collect();
        let tuned = profile.tuned.as_ref().map(|tuned| tuned.include);
        kinds.insert(format!("{settings:?} {tuned:?}"), profile);
    }
    check(NAME, &kinds.into_values().collect::<Vec<_>>())
}

#[test]
fn every_profile_for_transfer_is_read_live_and_stays() -> Result<(), Trouble> {
    const NAME: &str = "every_profile_for_transfer_is_read_live_and_stays";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let catalog = Catalog::embedded().unwrap();
    check(NAME, &of_role(&catalog, |role| role == Role::Dtn))
}

#[test]
fn every_profile_of_the_other_roles_is_read_live_and_stays() -> Result<(), Trouble> {
    const NAME: &str = "every_profile_of_the_other_roles_is_read_live_and_stays";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let catalog = Catalog::embedded().unwrap();
    check(NAME, &of_role(&catalog, |role| role != Role::Dtn))
}

fn of_role(catalog: &Catalog, wanted: impl Fn(Role) -> bool) -> Vec<&Profile> {
    let mut profiles = tuning(catalog);
    profiles.retain(|profile| profile.roles.iter().any(|role| wanted(*role)));
    profiles
}
