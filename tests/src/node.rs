//! A node as the tests of the agent boot it, and what is asked of it.

use crate::{Answers, Image, Probes, Vm};
use dtnforge_profiles::status::Status;

/// Until the agent's unit has ended, for at most 15 minutes.
const WAIT: &str = include_str!("../scripts/wait-for-agent.sh");

/// A guest with a NIC of `mbps` and an NVMe drive. Its looks (server or guest) are up to the caller.
pub fn node(image: &Image, name: &str, mbps: u32) -> Vm {
    Vm::of(image, name)
        .option("--ram", "4096")
        .option("--timeout", "900")
        .option("--run-timeout", "1000")
        .nic(&format!("virtio,speed={mbps},rx_queue_size=1024"))
        .disk("nvme,size=8G")
}

/// Waits for the agent's verdict, then asks the node and its kernel for everything that a status speaks of.
pub fn verdict() -> Probes {
    live(Probes::new().ask("wait", WAIT))
}

/// What is live now, by the agent's word and by the tools that an admin would use.
pub fn live(probes: Probes) -> Probes {
    probes
        .status()
        .ask("text", "dtn-firstboot status")
        .ask("rmem", "sysctl -n net.ipv4.tcp_rmem")
        .ask("default qdisc", "sysctl -n net.core.default_qdisc")
        .ask("qdisc", "tc qdisc show dev $(ls /sys/class/net | grep -v lo)")
        .ask("ring", "ethtool -g $(ls /sys/class/net | grep -v lo)")
        .ask("tuned", "tuned-adm active")
        .ask("tuned unit", "systemctl is-active tuned")
        .ask("ssh", "ss -Hltn 'sport = :22'")
        .ask("address", "ip -o -4 addr show scope global")
        .ask("unit", "systemctl show -p Result,ExecMainStatus dtn-firstboot")
        .ask(
            "journal",
            "journalctl -b --no-pager -o cat -u dtn-firstboot -u dtn-firstboot-early",
        )
        .ask(
            "fields",
            "journalctl -b --no-pager -o json MESSAGE_ID=5f2b6d3c0c5d4f6c9d1e7a4b8c2f3e10 | tail -n 1",
        )
        .ask("detect", "dtn-firstboot detect --json")
        .ask("leftovers", "ip netns list; ls /run/dtnforge")
        .ask("failed", "systemctl --failed --no-legend --plain")
}

/// Whether each knob that the status lists as active has its committed value, and the tools say the same.
///
/// # Errors
/// What does not agree.
pub fn tools_agree(status: &Status, answers: &Answers) -> Result<(), String> {
    if status.active.is_empty() {
        return Err("the status lists nothing as active".to_owned());
    }
    for knob in &status.active {
        if !knob.ok {
            return Err(format!(
                "{} is {:?}, committed {}",
                knob.knob, knob.now, knob.committed
            ));
        }
    }
    let committed = |name: &str| {
        status
            .active
            .iter()
            .find(|knob| knob.knob.to_string().ends_with(name))
    };
    let fields = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let compare = |name: &str, seen: String| match committed(name) {
        Some(knob) if knob.committed.as_str() != seen => Err(format!(
            "{name}: status says {}, the tool says {seen}",
            knob.committed
        )),
        _ => Ok(()),
    };
    compare("tcp_rmem", fields(&answers.text("rmem")))?;
    compare("default_qdisc", answers.text("default qdisc"))?;
    if let Some(leaf) = committed(":leaf")
        && !answers
            .text("qdisc")
            .lines()
            .any(|line| line.starts_with(&format!("qdisc {} ", leaf.committed)))
    {
        return Err(format!(
            "no qdisc {} in {}",
            leaf.committed,
            answers.text("qdisc")
        ));
    }
    if committed("ring.rx").is_some() {
        compare("ring.rx", current_ring(&answers.text("ring")))?;
    }
    if let Some(profile) = committed("tuned:profile") {
        let expected = format!("Current active profile: {}", profile.committed);
        if answers.text("tuned") != expected {
            return Err(format!(
                "tuned-adm says {:?}, expected {expected:?}",
                answers.text("tuned")
            ));
        }
    }
    Ok(())
}

/// The receive ring in use, out of `ethtool -g`.
pub fn current_ring(text: &str) -> String {
    let current = text.split("Current hardware settings").nth(1).unwrap_or_default();
    let line = current.lines().find_map(|line| line.strip_prefix("RX:"));
    line.unwrap_or_default().trim().to_owned()
}
