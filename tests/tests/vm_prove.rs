//! The main job on real boots: a node detects its hardware, picks its profile, tries, proves, and keeps it or not.

use dtnforge_profiles::status::{Activation, ActiveKnob, Status};
use dtnforge_tests::node::{current_ring, node, tools_agree, verdict};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::vm::fresh_path;
use dtnforge_tests::{Answers, Image, Probes, Trouble, Vm};

/// Boots a node to its verdict and holds its words against the kernel's.
fn committed(vm: Vm, name: &str, profile: &str) -> Result<(Status, Answers), Trouble> {
    let (report, answers) = vm.ask(&verdict())?;
    let status = answers.status()?;
    let all = answers.all();
    assert_eq!(status.state, "committed", "{}\n{all}", status.reason);
    assert_eq!(status.profile.as_deref(), Some(profile), "{all}");
    let seen = status
        .throughput
        .clone()
        .ok_or_else(|| report.trouble("no throughput in its status"))?;
    say(&format!(
        "{name}: {profile} after {:.0} s: {:.0} -> {:.0} {}, {:.2}x; {}",
        report.data.seconds, seen.stock, seen.tuned, seen.unit, seen.ratio, status.reason
    ));
    assert!(seen.stock > 0.0 && seen.tuned > 0.0, "{all}");
    assert_eq!(status.activation, Activation::LiveFromTrial, "{all}");
    for name in ["sysctl:net.ipv4.tcp_rmem", ":leaf", "tuned:profile"] {
        let has = |knob: &ActiveKnob| knob.knob.to_string().ends_with(name);
        assert!(status.active.iter().any(has), "{name} is not active\n{all}");
    }
    assert_eq!(tools_agree(&status, &answers), Ok(()), "{all}");
    assert_eq!(answers.text("failed"), "", "{all}");
    // The same verdict for collectors (journal fields) and for whoever sits at the serial console.
    for field in [
        format!("\"DTNFORGE_PROFILE\":\"{profile}\""),
        "\"DTNFORGE_STATE\":\"committed\"".to_owned(),
        format!("\"DTNFORGE_BOOT_ID\":\"{}\"", status.boot.boot_id),
        "\"DTNFORGE_REASON\":\"kept: ".to_owned(),
    ] {
        assert!(answers.text("fields").contains(&field), "{field}\n{all}");
    }
    let console = report.console()?;
    assert!(
        console.contains(&format!("dtn-firstboot: committed {profile}: kept: ")),
        "{console}"
    );
    assert!(
        answers.text("detect").contains("\"driver\": \"virtio_net\""),
        "{all}"
    );
    // Nothing of the measurement is left.
    assert!(!answers.text("leftovers").contains("dtnf-"), "{all}");
    assert!(!answers.text("leftovers").contains("trial.journal"), "{all}");
    Ok((status, answers))
}

#[test]
fn a_100g_server_commits_dtn_100g_nvme() -> Result<(), Trouble> {
    const NAME: &str = "a_100g_server_commits_dtn_100g_nvme";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = node(&Image::of_spec("lean.toml")?, NAME, 100_000).bare_metal();
    let (status, answers) = committed(vm, NAME, "dtn-100g-nvme")?;
    assert_eq!(status.boot.virtualised, "no", "{}", answers.all());
    assert_eq!(status.boot.mode.as_deref(), Some("tuned"));
    Ok(())
}

#[test]
fn the_same_machine_as_a_guest_commits_dtn_vm() -> Result<(), Trouble> {
    const NAME: &str = "the_same_machine_as_a_guest_commits_dtn_vm";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let (status, answers) = committed(node(&Image::of_spec("lean.toml")?, NAME, 100_000), NAME, "dtn-vm")?;
    assert!(status.boot.virtualised.starts_with("yes"), "{}", answers.all());
    Ok(())
}

#[test]
fn a_25g_server_commits_dtn_25g_nvme() -> Result<(), Trouble> {
    const NAME: &str = "a_25g_server_commits_dtn_25g_nvme";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    committed(
        node(&Image::of_spec("lean.toml")?, NAME, 25_000).bare_metal(),
        NAME,
        "dtn-25g-nvme",
    )?;
    Ok(())
}

/// Everything that a trial could have touched, without what changes by itself.
const DUMP: &str = r"
sysctl -a 2>/dev/null | grep -vE '^(fs\.(dentry-state|file-nr|inode-|quota|aio-nr)|kernel\.(random|ns_last_pid|pty\.nr|tainted)|net\.netfilter|net\.ipv4\.tcp_(available|allowed)|net\.ipv[46]\.(conf|neigh)\.|net\.ipv4\.tcp_fastopen_key|net\.mptcp|dev\.)'
tc qdisc show dev $(ls /sys/class/net | grep -v lo) | sed 's/qdisc \([a-z_]*\) [0-9a-f]*:/qdisc \1/'
ethtool -g $(ls /sys/class/net | grep -v lo)
for queue in /sys/block/*/queue; do echo $queue $(cat $queue/read_ahead_kb $queue/scheduler); done
cat /etc/tuned/active_profile /etc/tuned/profile_mode
systemctl is-active tuned
ls /run/sysctl.d /run/udev/rules.d /run/modules-load.d";

#[test]
fn a_harmful_profile_is_rejected_and_every_knob_is_as_before() -> Result<(), Trouble> {
    const NAME: &str = "a_harmful_profile_is_rejected_and_every_knob_is_as_before";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    // The agent's unit is masked, so that the node can be looked at before the run that this test starts itself.
    let vm = node(&Image::of_spec("harmful.toml")?, NAME, 100_000)
        .bare_metal()
        .option("--cmdline", "systemd.mask=dtn-firstboot.service");
    let probes = Probes::new()
        .wait_until_up()
        .ask("before", DUMP)
        .ask("run", "dtn-firstboot run")
        .ask("after", DUMP)
        .ask("again", "dtn-firstboot run")
        .status();
    let (_, answers) = vm.ask(&probes)?;
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(status.state, "rejected", "{}\n{all}", status.reason);
    assert_eq!(answers.get("run").code, 4, "{all}");
    assert!(
        status.reason.starts_with("reverted: throughput"),
        "{}",
        status.reason
    );
    say(&format!("{NAME}: {}", status.reason));
    let seen = status
        .throughput
        .unwrap_or_else(|| panic!("no throughput\n{all}"));
    assert!(seen.ratio < 0.9, "{} is no harm\n{all}", seen.ratio);
    assert_eq!(answers.text("before"), answers.text("after"), "{all}");
    // A second run does not try again.
    assert_eq!(answers.get("again").code, 4, "{all}");
    assert_eq!(status.attempts.begun, 1, "{all}");
    Ok(())
}

#[test]
fn a_committed_node_is_tuned_again_before_its_link_is_up() -> Result<(), Trouble> {
    const NAME: &str = "a_committed_node_is_tuned_again_before_its_link_is_up";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("rings.toml")?;
    let overlay = fresh_path(NAME, "qcow2")?;
    let first = node(&image, NAME, 100_000)
        .bare_metal()
        .option("--keep-overlay", &overlay)
        .flag("--power-off");
    let (_, answers) = committed(first, NAME, "dtn-100g-nvme")?;
    assert_eq!(current_ring(&answers.text("ring")), "512", "{}", answers.all());

    let first_time = |name, unit: &str, pattern: &str| {
        let command = format!(
            "journalctl -b -o json --no-pager {unit} | grep -m1 -e '{pattern}' | \
             sed 's/.*\"__MONOTONIC_TIMESTAMP\":\"\\([0-9]*\\)\".*/\\1/'"
        );
        move |probes: Probes| probes.ask(name, &command)
    };
    let probes = first_time(
        "early",
        "SYSLOG_IDENTIFIER=dtn-firstboot",
        "in place: committed profile",
    )(verdict());
    let probes = first_time("link", "-u systemd-networkd", "Gained carrier")(probes);
    let second = node(&image, &format!("{NAME}-2"), 100_000)
        .bare_metal()
        .option("--overlay", &overlay);
    let (report, answers) = second.ask(&probes)?;
    let (status, all) = (answers.status()?, answers.all());
    say(&format!(
        "{NAME}: second boot after {:.0} s: {}",
        report.data.seconds,
        answers.text("journal")
    ));
    assert_eq!(
        (status.state.as_str(), &status.activation),
        ("committed", &Activation::Early),
        "{all}"
    );
    assert_eq!(tools_agree(&status, &answers), Ok(()), "{all}");
    assert_eq!(current_ring(&answers.text("ring")), "512", "{all}");
    assert_eq!(
        status
            .history
            .iter()
            .filter(|entry| entry.entered == "trial")
            .count(),
        1,
        "{all}"
    );
    assert!(answers.text("journal").contains("knobs verified"), "{all}");
    let micros = |name: &str| {
        answers
            .text(name)
            .parse::<u64>()
            .unwrap_or_else(|_| panic!("{name}\n{all}"))
    };
    assert!(micros("early") < micros("link"), "{all}");
    Ok(())
}

#[test]
fn a_power_cut_in_a_trial_ends_in_stock_that_says_interrupted() -> Result<(), Trouble> {
    const NAME: &str = "a_power_cut_in_a_trial_ends_in_stock_that_says_interrupted";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("lean.toml")?;
    let overlay = fresh_path(NAME, "qcow2")?;
    let cut = node(&image, NAME, 100_000)
        .bare_metal()
        .option("--keep-overlay", &overlay)
        .option("--kill-when", "trial of dtn-100g-nvme is live")
        .boot()?;
    assert_eq!(cut.data.reason, "power-cut", "{}", cut.data.console_tail);

    let after = node(&image, &format!("{NAME}-2"), 100_000)
        .bare_metal()
        .option("--overlay", &overlay);
    let (_, answers) = after.ask(&verdict())?;
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(status.state, "stock", "{all}");
    assert!(
        status.reason.starts_with("interrupted: the trial begun in boot"),
        "{}",
        status.reason
    );
    assert_eq!((status.attempts.begun, status.attempts.left), (1, 1), "{all}");
    assert_eq!(
        answers.text("rmem").split_whitespace().last(),
        Some("6291456"),
        "{all}"
    );
    assert_eq!(answers.text("default qdisc"), "fq_codel", "{all}");
    assert_eq!(answers.text("tuned unit"), "inactive", "{all}");
    assert!(
        answers.text("tuned").contains("No current active profile"),
        "{all}"
    );
    assert!(answers.text("ssh").contains("LISTEN"), "{all}");
    Ok(())
}
