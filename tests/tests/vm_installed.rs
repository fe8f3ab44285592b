//! A host that runs already, of another make: Debian 12. A layer is installed, tried, committed, put in place by a reboot,
//! taken back and removed; then the same by the package. Nothing of ours may be left, and every value has to be the
//! site's own again.

use dtnforge_profiles::status::Activation;
use dtnforge_tests::node::tools_agree;
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Answers, Probes, Trouble, Vm, debian12};

const SCRIPT: &str = include_str!("../scripts/installed-host.sh");
const PROFILE: &str = "dtn-100g-nvme";

/// A question that is asked in one boot only.
fn only(boot: u8, command: &str) -> String {
    format!("[ \"$(cat /root/boot)\" = {boot} ] || exit 0\n{command}")
}

fn knobs(name: &'static str, boot: u8, probes: Probes) -> Probes {
    probes.ask(name, &only(boot, "sh /payload/host.sh knobs"))
}

/// The first boot: from a host that has never seen us to a commit.
fn first(probes: Probes) -> Probes {
    let probes = knobs("before", 1, probes)
        .ask("ours before", &only(1, "sh /payload/host.sh ours"))
        .ask(
            "install",
            &only(
                1,
                "install -m 755 /payload/dtn-firstboot /usr/local/bin/ && dtn-firstboot install-layer /payload/layers",
            ),
        )
        .ask("site", &only(1, "echo 'role = \"dtn\"' >/etc/dtnforge/site.toml"))
        .ask("verify", &only(1, "systemd-analyze verify --man=no --recursive-errors=no /etc/systemd/system/dtn* 2>&1"))
        .ask("run", &only(1, "dtn-firstboot run"));
    knobs("untouched", 1, probes)
        .ask("try", &only(1, "dtn-firstboot try"))
        .ask("own choice", &only(1, "cat /etc/tuned/active_profile"))
        .ask("tuned with it", &only(1, "tuned-adm active"))
        .ask("refused", &only(1, "dtn-firstboot remove-layer"))
        .ask("commit", &only(1, "dtn-firstboot commit"))
}

/// The second boot: the commit is in place, goes, and so does all of ours.
fn second(probes: Probes) -> Probes {
    let probes = probes
        .ask("wait", &only(2, include_str!("../scripts/wait-for-agent.sh")))
        .status()
        .ask("rmem", "sysctl -n net.ipv4.tcp_rmem")
        .ask("default qdisc", "sysctl -n net.core.default_qdisc")
        .ask("qdisc", "tc qdisc show dev $(ls /sys/class/net | grep -v lo)")
        .ask("ring", "ethtool -g $(ls /sys/class/net | grep -v lo)")
        .ask("tuned", "tuned-adm active")
        .ask(
            "journal",
            &only(
                2,
                "journalctl -b --no-pager -o short-monotonic | grep -i -e dtn -e 'ordering cycle' -e tuned",
            ),
        )
        .ask("rollback", &only(2, "dtn-firstboot rollback"));
    let probes = knobs("after rollback", 2, probes)
        .ask(
            "remove",
            &only(2, "rm -f /etc/dtnforge/site.toml; dtn-firstboot remove-layer"),
        )
        .ask("ours after removal", &only(2, "sh /payload/host.sh ours"));
    let probes = probes
        .ask("dpkg -i", &only(2, "rm /usr/local/bin/dtn-firstboot; dpkg -i /payload/*.deb 2>&1"))
        .ask("units", &only(2, "systemctl list-unit-files --no-legend 'dtn*'"))
        .ask(
            "package try",
            &only(2, "mkdir -p /etc/dtnforge; echo 'role = \"dtn\"' >/etc/dtnforge/site.toml; dtn-firstboot try --group tcp-buffers"),
        )
        .ask("dpkg -r", &only(2, "rm -f /etc/dtnforge/site.toml; dpkg -r dtnforge-agent 2>&1"))
        .ask("ours after dpkg -r", &only(2, "dpkg -P dtnforge-agent >/dev/null 2>&1; sh /payload/host.sh ours | grep -v /var/lib/dpkg"));
    knobs("after dpkg -r", 2, probes).ask("failed", &only(2, "systemctl --failed --no-legend --plain"))
}

fn done(answers: &Answers, name: &str) {
    assert_eq!(answers.get(name).code, 0, "{name}\n{}", answers.all());
}

#[test]
fn a_layer_on_debian_12_is_tried_committed_rebooted_rolled_back_and_removed_without_a_trace()
-> Result<(), Trouble> {
    const NAME: &str =
        "a_layer_on_debian_12_is_tried_committed_rebooted_rolled_back_and_removed_without_a_trace";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = debian12::image()?;
    let payload = debian12::payload(NAME, &[PROFILE], SCRIPT)?;
    let mount =
        "mkdir -p /payload; mount -o ro /dev/disk/by-label/payload /payload; sh /payload/host.sh boot";
    let probes = second(first(Probes::new().ask("boot", mount)));
    let vm = Vm::of(&image, NAME)
        .bare_metal()
        .option("--ram", "4096")
        .option("--timeout", "900")
        .option("--run-timeout", "900")
        .nic("virtio,speed=100000,rx_queue_size=1024")
        .disk("nvme,size=8G")
        .disk(&format!("virtio,readonly=on,file={}", payload.display()))
        .option("--again", "reboot");
    let (report, boots) = vm.ask_each(&probes)?;
    say(&format!("{NAME}: {:.0} s", report.data.seconds));
    assert_eq!(boots.len(), 2, "{}", report.stderr);
    tried_and_committed(&boots[0]);
    in_place_after_the_reboot(&boots[1])?;
    gone_again(&boots[0], &boots[1]);
    Ok(())
}

fn tried_and_committed(first: &Answers) {
    let all = first.all();
    assert_eq!(first.text("boot"), "1", "{all}");
    assert!(
        first
            .text("before")
            .contains("net.ipv4.tcp_rmem = 4096\t131072\t8388608"),
        "{all}"
    );
    assert_eq!(first.text("ours before"), "", "{all}");
    done(first, "install");
    assert_eq!(first.text("verify"), "", "{all}");
    // Nothing is tried by itself, whoever calls it.
    assert!(first.text("run").contains("nothing is tried by itself"), "{all}");
    assert_eq!(first.text("untouched"), first.text("before"), "{all}");
    done(first, "try");
    // tuned has ours, and the file of the site is as the site wrote it.
    assert_eq!(first.text("own choice"), "balanced", "{all}");
    assert_eq!(
        first.text("tuned with it"),
        format!("Current active profile: dtnforge-{PROFILE}"),
        "{all}"
    );
    assert_eq!(first.get("refused").code, 1, "{all}");
    assert!(
        first.text("refused").contains("hint: take it back first"),
        "{all}"
    );
    done(first, "commit");
}

fn in_place_after_the_reboot(second: &Answers) -> Result<(), Trouble> {
    let (status, all) = (second.status()?, second.all());
    assert_eq!(second.text("boot"), "2", "{all}");
    assert_eq!(status.state, "committed", "{all}");
    assert_eq!(status.activation, Activation::Early, "{all}");
    assert_eq!(tools_agree(&status, second), Ok(()), "{all}");
    assert!(!second.text("journal").contains("ordering cycle"), "{all}");
    Ok(())
}

fn gone_again(first: &Answers, second: &Answers) {
    let all = second.all();
    let before = first.text("before");
    done(second, "rollback");
    assert_eq!(second.text("after rollback"), before, "{all}");
    done(second, "remove");
    assert_eq!(second.text("ours after removal"), "", "{all}");
    done(second, "dpkg -i");
    assert!(second.text("units").contains("dtn-firstboot.service"), "{all}");
    done(second, "package try");
    done(second, "dpkg -r");
    assert_eq!(second.text("ours after dpkg -r"), "", "{all}");
    assert_eq!(second.text("after dpkg -r"), before, "{all}");
    assert_eq!(second.text("failed"), "", "{all}");
}
