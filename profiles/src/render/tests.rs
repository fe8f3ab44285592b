//! Whole files, and a property: whatever a plan says, no line holds more than one setting.

use super::*;
use crate::catalog::Catalog;
use crate::conclude::conclude;
use crate::digest::Digest;
use crate::facts::Facts;
use crate::plan::{Lowered, Target, make};
use crate::site::SiteFile;
use crate::value::Value;
use proptest::prelude::*;
use std::sync::LazyLock;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());

const SERVER: &str = "[host]\ncpu_hypervisor_flag = false\ndmi_vendor = 'Supermicro'\nmemory_gib = 256.0\n\
    [[nic]]\nname = 'enp1s0f0np0'\nkind = 'physical'\ncarrier = true\nspeed_mbps = 100000\n\
    pci_slot = '0000:01:00.0'\nmac = '52:54:00:AA:BB:01'\n\
    [[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize_bytes = 4000000000000\n";

fn plan_of(profile: &str) -> Plan {
    let facts: Facts = toml::from_str(SERVER).unwrap();
    let site = SiteFile::default().check().unwrap();
    let seen = conclude(&facts, &site);
    let target = Target {
        offline: true,
        ..Target::default()
    };
    make(
        CATALOG.get(profile).unwrap(),
        &Digest::of(b"layer"),
        &facts,
        &seen,
        &site,
        &target,
    )
}

fn text_of(plan: &Plan, path: &str) -> String {
    let files = files(plan).unwrap();
    let found = files.iter().find(|file| file.path == path);
    found
        .unwrap_or_else(|| {
            panic!(
                "no {path} among {:?}",
                files.iter().map(|file| &file.path).collect::<Vec<_>>()
            )
        })
        .text
        .clone()
}

#[test]
fn a_plan_becomes_one_file_for_each_group_and_owner() {
    let paths: Vec<_> = files(&plan_of("dtn-100g-nvme"))
        .unwrap()
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(
        paths,
        [
            "dtnforge/kernel-command-line",
            "dtnforge/tuned/active_profile",
            "dtnforge/tuned/profile_mode",
            "dtnforge/tuned/profiles/dtnforge-dtn-100g-nvme/tuned.conf",
            "modules-load.d/dtnforge.conf",
            "sysctl.d/90-dtnforge-congestion.conf",
            "sysctl.d/90-dtnforge-qdisc.conf",
            "sysctl.d/90-dtnforge-tcp-buffers.conf",
            "sysctl.d/90-dtnforge-vm.conf",
            "udev/rules.d/90-dtnforge-40-nic-rings.rules",
            "udev/rules.d/90-dtnforge-50-nic-coalesce.rules",
        ]
    );
}

#[test]
fn a_rule_names_one_port_by_address_and_mac_and_runs_once_at_coldplug() {
    let text = text_of(
        &plan_of("dtn-100g-nvme"),
        "udev/rules.d/90-dtnforge-40-nic-rings.rules",
    );
    assert!(
        text.contains(
            "\nKERNELS==\"0000:01:00.0\", ATTR{address}==\"52:54:00:aa:bb:01\", \
             RUN+=\"/usr/sbin/ethtool -G $name rx 2048 tx 2048\"\n"
        ),
        "{text}"
    );
    for guard in [
        "ACTION!=\"add\", GOTO=",
        "ATTR{phys_port_name}==\"*pf*\", GOTO=",
        "SUBSYSTEMS==\"auxiliary\", GOTO=",
    ] {
        assert!(text.contains(guard), "{guard} not in {text}");
    }
    assert!(text.ends_with("LABEL=\"dtnforge_nic_rings_end\"\n"));
}

#[test]
fn each_file_names_who_wrote_it_from_which_layer() {
    let plan = plan_of("dtn-100g-nvme");
    for file in files(&plan).unwrap() {
        // tuned reads these two as they are.
        if file.path.ends_with("active_profile") || file.path.ends_with("profile_mode") {
            continue;
        }
        let expected = format!(
            "# Written by dtnforge {}, profile dtn-100g-nvme, layer {}: ",
            env!("CARGO_PKG_VERSION"),
            plan.layer.short()
        );
        assert!(file.text.starts_with(&expected), "{}: {}", file.path, file.text);
    }
}

#[test]
fn options_of_tuned_modules_and_boot_words_stand_under_their_reason() {
    let plan = plan_of("dtn-100g-nvme");
    let tuned = text_of(&plan, "dtnforge/tuned/profiles/dtnforge-dtn-100g-nvme/tuned.conf");
    for expected in [
        "\n# page cache gives way before a transfer service is swapped out\n\
         # Source: tuned 2.25.1, profiles/throughput-performance\nvm.swappiness=10\n",
        "\n[disk]\ntype=disk\ndevices=nvme0n1\n# a drive with a queue for each CPU orders its requests itself\n",
    ] {
        assert!(tuned.contains(expected), "{tuned}");
    }
    let modules = text_of(&plan, "modules-load.d/dtnforge.conf");
    assert!(
        modules.contains("\n# sysctl:net.core.default_qdisc = fq, qdisc/0000:01:00.0+52:54:00:aa:bb:01:leaf = fq needs it.\nsch_fq\n"),
        "{modules}"
    );
    let words = text_of(&plan, COMMAND_LINE);
    assert!(
        words.contains("\n# no mapping and unmapping of an IOMMU page for each packet\n# Source: ")
            && words.ends_with("\niommu=pt\n"),
        "{words}"
    );
}

#[test]
fn pause_frames_and_mtu_have_files_of_their_own() {
    let mut plan = plan_of("dtn-100g-nvme");
    for (key, value, group) in [
        ("mtu", "9000", Group::Mtu),
        ("feature.lro", "off", Group::NicOffload),
        ("pause.rx", "on", Group::NicOffload),
        ("pause.tx", "on", Group::NicOffload),
    ] {
        let mut step = plan.steps[0].clone();
        step.knob = format!("nic/0000:01:00.0+52:54:00:aa:bb:01:{key}")
            .parse()
            .unwrap();
        (step.to, step.group, step.owner) = (value.into(), group, Owner::Udev);
        plan.steps.push(step);
    }
    for (file, expected) in [
        (
            "10-mtu",
            "ATTR{address}==\"52:54:00:aa:bb:01\", ATTR{mtu}=\"9000\"\n",
        ),
        ("20-nic-offload", "RUN+=\"/usr/sbin/ethtool -K $name lro off\"\n"),
        (
            "45-nic-pause",
            "RUN+=\"/usr/sbin/ethtool -A $name rx on tx on\"\n",
        ),
    ] {
        let text = text_of(&plan, &format!("udev/rules.d/90-dtnforge-{file}.rules"));
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_rate_of_a_flow_is_set_below_each_queue_by_a_script_that_takes_name_and_rate_as_arguments() {
    let mut plan = plan_of("dtn-100g-nvme");
    let mut step = plan.steps[0].clone();
    step.knob = "qdisc/0000:01:00.0+52:54:00:aa:bb:01:maxrate".parse().unwrap();
    (step.to, step.group, step.owner) = ("10000".into(), Group::Qdisc, Owner::Udev);
    plan.steps.push(step);
    let text = text_of(&plan, "udev/rules.d/90-dtnforge-60-pacing.rules");
    let rule = text.lines().find(|line| line.contains("RUN+=")).unwrap();
    assert!(
        rule.starts_with(
            "KERNELS==\"0000:01:00.0\", ATTR{address}==\"52:54:00:aa:bb:01\", RUN+=\"/bin/sh -c 'set -f; "
        ) && rule.ends_with(" fi' pacing $name 10000\""),
        "{rule}"
    );
    // The shell as udev starts it, with `tc` and the queues of a NIC in a directory.
    let script = rule
        .split('\'')
        .nth(1)
        .unwrap()
        .replace("$$", "$")
        .replace("%%", "%");
    for (queues, expected) in [
        (
            11,
            "qdisc replace dev eth0 root handle d7: mq\nqdisc replace dev eth0 parent d7:1 fq maxrate 10000mbit\n",
        ),
        (1, "qdisc replace dev eth0 root handle d7: fq maxrate 10000mbit\n"),
    ] {
        let calls = calls_of(&script, queues);
        assert!(calls.starts_with(expected), "{calls}");
        assert_eq!(calls.lines().count(), if queues == 1 { 1 } else { queues + 1 });
        assert!(
            queues == 1 || calls.ends_with(" parent d7:b fq maxrate 10000mbit\n"),
            "{calls}"
        );
    }
}

/// What the script calls `tc` with, for a NIC with so many transmit queues.
fn calls_of(script: &str, queues: usize) -> String {
    let dir = tempfile::tempdir().unwrap();
    let sys = dir.path().join("sys");
    for queue in 0..queues {
        std::fs::create_dir_all(sys.join(format!("eth0/queues/tx-{queue}"))).unwrap();
    }
    let script = script.replace("/sys/class/net", sys.to_str().unwrap());
    let script = format!("tc() {{ echo \"$@\"; }}; {script}");
    let arguments = ["-c", &script, "pacing", "eth0", "10000"];
    let output = std::process::Command::new("/bin/sh")
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_sysctl_line_stands_under_its_reason_and_source() {
    let text = text_of(&plan_of("dtn-100g-nvme"), "sysctl.d/90-dtnforge-tcp-buffers.conf");
    let expected = "# autotuning may open the window to the bandwidth-delay product of one stream \
        (2 x 100000 Mb/s x 100 ms / 8 / 8 streams = 298 MiB, rounded up to 384 MiB)\n";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("\nnet.ipv4.tcp_rmem = 4096 131072 402653184\n"),
        "{text}"
    );
}

#[test]
fn tuned_repeats_what_it_would_reset_and_nothing_else() {
    let text = text_of(
        &plan_of("dtn-100g-nvme"),
        "dtnforge/tuned/profiles/dtnforge-dtn-100g-nvme/tuned.conf",
    );
    for line in [
        "drop=dirty_background_ratio,dirty_ratio",
        "vm.dirty_bytes=4294967296",
        "vm.swappiness=10",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} not in {text}");
    }
    assert!(!text.contains("tcp_rmem"), "{text}");
}

#[test]
fn a_plan_that_was_tampered_with_is_refused() {
    let mut plan = plan_of("dtn-100g-nvme");
    let step = plan
        .steps
        .iter_mut()
        .find(|step| step.knob.to_string().contains("ring.rx"))
        .unwrap();
    step.to = Value::new("2048\", RUN+=\"/bin/sh");
    let said = files(&plan).unwrap_err().to_string();
    assert!(
        said.contains("ring.rx: ") && said.contains("expected an integer from 1 to 65536"),
        "{said}"
    );

    let mut plan = plan_of("dtn-100g-nvme");
    plan.profile = "../../etc".to_owned();
    assert!(
        files(&plan)
            .unwrap_err()
            .to_string()
            .contains("profile \"../../etc\" has characters")
    );

    let mut plan = plan_of("dtn-100g-nvme");
    plan.tuned_conf = Some("[main]\n[script]\nscript=/tmp/x\n".to_owned());
    assert!(
        files(&plan)
            .unwrap_err()
            .to_string()
            .contains("not in our own form")
    );
}

/// Lines that are no comment and not empty.
fn settings(files: &[NativeFile]) -> Vec<String> {
    let lines = files.iter().flat_map(|file| file.text.lines());
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

proptest! {
    #[test]
    fn nothing_that_a_plan_says_breaks_out_of_its_line(why in "\\PC*|(.|\n|\r)*", source in "(.|\n)*", asked in "(.|\n)*") {
        let clean = plan_of("dtn-100g-nvme");
        let mut plan = clean.clone();
        for step in &mut plan.steps {
            step.why.clone_from(&why);
            step.source.clone_from(&source);
            step.lowered = Some(Lowered { asked: Value::new(&asked), why: why.clone() });
        }
        prop_assert_eq!(settings(&files(&plan).unwrap()), settings(&files(&clean).unwrap()));
    }

    #[test]
    fn a_value_is_written_as_it_is_or_the_plan_is_refused(index in 0_usize..18, value in "(.|\n)*|[0-9 ]*|[a-z]*") {
        let mut plan = plan_of("dtn-100g-nvme");
        let before = settings(&files(&plan).unwrap()).len();
        let index = index % plan.steps.len();
        plan.steps[index].to = Value::new(&value);
        if let Ok(files) = files(&plan) {
            prop_assert_eq!(settings(&files).len(), before);
            for file in files.iter().filter(|file| file.path.ends_with(".rules")) {
                prop_assert_eq!(file.text.matches("RUN").count(), 1);
            }
        }
    }
}
