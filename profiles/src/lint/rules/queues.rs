//! Queue disciplines, pacing, and queues of packets.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::read::{Rate, ends_in_bytes};
use crate::lint::setting::{Device, Qdisc, Setting, What};

/// The queue disciplines that read the length of the transmit queue (net/sched/sch_generic.c and others).
const READ_TXQUEUELEN: &[&str] = &[
    "pfifo_fast",
    "pfifo",
    "bfifo",
    "htb",
    "sfb",
    "tbf",
    "hfsc",
    "plug",
    "teql",
];

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "backlog-huge",
        severity: Severity::Warning,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "netdev_max_backlog is above 10000",
        reason: "It is the length of a queue of each CPU for packets that do not come by NAPI: RPS, veth and other \
                 software devices. Drivers of data NICs use NAPI and pass it by, so it gains nothing for them. Where it \
                 is used, a million packets of 9 kB are 9 GB and seconds of delay. One published study saw 2000 help \
                 and 2500 harm.",
        source: "Linux 6.12, net/core/dev.c (enqueue_to_backlog); kernel Documentation/admin-guide/sysctl/net.rst",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.netdev_max_backlog = 1000000\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.netdev_max_backlog = 2000\n",
        )]),
        check: backlog,
    },
    Lint {
        id: "txqueuelen",
        severity: Severity::Warning,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "The transmit queue length is raised above 1000",
        reason: "Only pfifo_fast and a few others read it. Under fq and fq_codel it has no effect at all; under \
                 pfifo_fast, or a tbf, 10000 packets of 9 kB are 90 MB of standing queue, which is delay.",
        source: "Linux 6.12, net/sched/sch_generic.c, sch_fifo.c; ESnet fasterdata, host-tuning/linux",
        bad: Example::files(&[("/etc/rc.local", "/sbin/ip link set dev eth0 txqueuelen 10000\n")]),
        good: Example::files(&[("/etc/rc.local", "/sbin/ip link set dev eth0 txqueuelen 1000\n")]),
        check: txqueuelen,
    },
    Lint {
        id: "root-qdisc-replaces-mq",
        severity: Severity::Error,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "A queue discipline with one queue is made the root of a NIC",
        reason: "A NIC with several queues has `mq` as its root and one qdisc under each transmit queue. \
                 `tc qdisc replace dev X root fq` removes mq: one lock and one queue for all CPUs. At 25 Gb/s and more \
                 that is the first thing to look for in a host that got slower. The interface has to be up with its \
                 queues when default_qdisc is set, or the leaves are replaced one by one.",
        source: "Linux 6.12, net/sched/sch_generic.c, sch_mq.c; cilium/cilium#45283",
        bad: Example::files(&[("/etc/rc.local", "/sbin/tc qdisc replace dev eth0 root fq\n")]),
        good: Example::files(&[("/etc/rc.local", "/sbin/tc qdisc replace dev eth0 parent 1:1 fq\n")]),
        check: replaces_mq,
    },
    Lint {
        id: "qdisc-on-virtual-device",
        severity: Severity::Warning,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "A queue discipline is put on a bond, bridge, VLAN, veth or the loopback",
        reason: "These have no queue of their own (`noqueue`) and hand packets on at once. A qdisc there queues them a \
                 second time, and on a bond it sends all through transmit queue 0. The ports below do the work.",
        source: "cilium/cilium#45283, #43298, #45370; flatcar/Flatcar#1458",
        bad: Example::files(&[("/etc/rc.local", "tc qdisc replace dev bond0 root fq\n")]),
        good: Example::files(&[("/etc/rc.local", "tc qdisc replace dev eth0 parent 1:1 fq\n")]),
        check: on_virtual,
    },
    Lint {
        id: "tbf-cap",
        severity: Severity::Warning,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "The rate of a NIC is capped by tbf",
        reason: "tbf is one queue under one lock in place of mq. A segment larger than its burst is cut up in software, \
                 or dropped. To pace flows, fq with a maxrate does it under each queue; to cap a host, the switch does \
                 it without cost.",
        source: "Linux 6.12, net/sched/sch_tbf.c; tc-tbf(8)",
        bad: Example::files(&[(
            "/etc/rc.local",
            "tc qdisc replace dev eth0 root tbf rate 9gbit burst 1mb latency 100ms\n",
        )]),
        good: Example::files(&[(
            "/etc/rc.local",
            "tc qdisc replace dev eth0 parent 1:1 fq maxrate 2gbit\n",
        )]),
        check: tbf,
    },
    Lint {
        id: "rate-in-bytes",
        severity: Severity::Error,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "A rate is written in bytes where bits are meant",
        reason: "In tc, `mbit` is a million bits and `mbps` a million BYTES per second. `rate 9000mbps` on a 10G port is \
                 72 Gbit/s, which caps nothing, and a burst that was computed from it is eight times too small.",
        source: "tc(8), UNITS",
        bad: Example::files(&[(
            "/etc/rc.local",
            "tc qdisc replace dev eth0 parent 1:1 fq maxrate 2000mbps\n",
        )]),
        good: Example::files(&[(
            "/etc/rc.local",
            "tc qdisc replace dev eth0 parent 1:1 fq maxrate 2000mbit\n",
        )]),
        check: in_bytes,
    },
    Lint {
        id: "fq-maxrate-too-large",
        severity: Severity::Error,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "The maxrate of fq is above 34.36 Gbit/s",
        reason: "It is kept in 32 bits of bytes per second. tc refuses more, and the old qdisc stays. It is the rate of \
                 each flow, not of the interface; above 30 Gbit/s a flow needs none.",
        source: "Linux 6.12, net/sched/sch_fq.c (TCA_FQ_FLOW_MAX_RATE); tc-fq(8); tried with iproute2 6.1",
        bad: Example::files(&[(
            "/etc/rc.local",
            "tc qdisc replace dev eth0 parent 1:1 fq maxrate 50gbit\n",
        )]),
        good: Example::files(&[(
            "/etc/rc.local",
            "tc qdisc replace dev eth0 parent 1:1 fq maxrate 12gbit\n",
        )]),
        check: maxrate,
    },
];

fn backlog(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("net.core.netdev_max_backlog") {
        if setting.integer().is_some_and(|packets| packets > 10_000) {
            found.at(
                &setting.place,
                format!(
                    "{} packets for each CPU: drivers with NAPI pass it by, others only gain delay",
                    setting.shown()
                ),
                "remove the line; raise it to 2000 only where column 2 of /proc/net/softnet_stat grows",
            );
        }
    }
    Ok(())
}

fn txqueuelen(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.live() {
        let What::Nic(device, key) = &setting.what else {
            continue;
        };
        if key != "txqueuelen" || setting.integer().is_none_or(|packets| packets <= 1000) {
            continue;
        }
        let effect = match qdisc_of(context, device) {
            Some(kind) if READ_TXQUEUELEN.contains(&kind) => {
                format!("under {kind} it is a standing queue, so delay")
            }
            Some(kind) => format!("under {kind} it has no effect"),
            None => "under fq and fq_codel it has no effect, under pfifo_fast it is delay".to_owned(),
        };
        found.at(
            &setting.place,
            format!("{}: {effect}", setting.shown()),
            "leave it at 1000",
        );
    }
    Ok(())
}

/// The queue discipline that a device will have, as far as the files say it.
fn qdisc_of<'b>(context: &'b Context<'_>, device: &Device) -> Option<&'b str> {
    let of_device =
        |setting: &&Setting| matches!(&setting.what, What::Qdisc(other, _) if other.may_be(device));
    let own = context.live().filter(of_device).last();
    let default = || context.effective("net.core.default_qdisc");
    own.or_else(default).map(|setting| setting.value.as_str())
}

/// All calls of tc.
fn qdiscs<'b>(context: &'b Context<'_>) -> impl Iterator<Item = (&'b Setting, &'b Device, &'b Qdisc)> {
    context.live().filter_map(|setting| match &setting.what {
        What::Qdisc(device, qdisc) => Some((setting, device, qdisc)),
        _ => None,
    })
}

/// Why a device has no queues of its own; `None` for one that may be a NIC.
fn virtual_kind(context: &Context<'_>, device: &Device) -> Option<&'static str> {
    let Device::Named(name) = device else { return None };
    let facts = context.facts().ok();
    let nic = facts.and_then(|facts| facts.nics.iter().find(|nic| nic.name.as_ref() == Some(name)));
    if let Some(kind) = nic.and_then(|nic| nic.kind.as_deref()) {
        let kinds = ["bond", "team", "bridge", "vlan", "virtual"];
        return kinds.into_iter().find(|known| *known == kind);
    }
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
    };
    match name.as_str() {
        "lo" => Some("loopback"),
        _ if numbered("bond") => Some("bond"),
        _ if numbered("team") => Some("team"),
        _ if numbered("br") || numbered("virbr") || numbered("docker") => Some("bridge"),
        _ if name.starts_with("veth") => Some("veth"),
        _ if name.contains('.') => Some("VLAN"),
        _ => None,
    }
}

fn replaces_mq(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, device, _) in qdiscs(context).filter(|(_, _, qdisc)| qdisc.root) {
        // tbf has a lint of its own, and so have devices without queues. mq and mqprio keep the queues.
        let keeps = ["mq", "mqprio", "taprio", "noqueue", "tbf"].contains(&setting.value.as_str());
        if keeps || virtual_kind(context, device).is_some() {
            continue;
        }
        found.at(
            &setting.place,
            format!("{} as the root of {device} removes mq: one lock and one queue for all CPUs", setting.value),
            format!(
                "set net.core.default_qdisc = {kind} before the link is up, or replace each leaf: tc qdisc replace dev \
                 {device} parent HANDLE:N {kind}",
                kind = setting.value
            ),
        );
    }
    Ok(())
}

fn on_virtual(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, device, _) in qdiscs(context) {
        if let Some(kind) = virtual_kind(context, device) {
            found.at(
                &setting.place,
                format!(
                    "{} on {device}, a {kind}: packets are queued twice",
                    setting.value
                ),
                "leave it without one, and set the qdisc of the ports below",
            );
        }
    }
    Ok(())
}

fn tbf(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, device, _) in qdiscs(context).filter(|(setting, ..)| setting.value == "tbf") {
        found.at(
            &setting.place,
            format!(
                "tbf on {device}: one lock for all CPUs, and segments above its burst are cut up or dropped"
            ),
            "pace flows by fq with maxrate, or cap the port at the switch",
        );
    }
    Ok(())
}

/// The words of a qdisc that are rates, with what they are the rate of.
fn rates(qdisc: &Qdisc) -> impl Iterator<Item = (&str, &str)> {
    let names = [
        "rate",
        "maxrate",
        "peakrate",
        "ceil",
        "bandwidth",
        "low_rate_threshold",
    ];
    let pairs = qdisc.options.windows(2);
    pairs
        .map(|pair| (pair[0].as_str(), pair[1].as_str()))
        .filter(move |(name, _)| names.contains(name))
}

fn in_bytes(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, _, qdisc) in qdiscs(context) {
        for (name, text) in rates(qdisc) {
            let is = match Rate::parse(text) {
                Some(rate) if rate.in_bytes => rate.gbit(),
                // The number is a variable; its unit is not.
                None if ends_in_bytes(text) => "eight times the number in bits".to_owned(),
                _ => continue,
            };
            found.at(
                &setting.place,
                format!("{name} {text} is {is}: `bps` and its multiples are bytes"),
                "write `bit` for bits: kbit, mbit, gbit",
            );
        }
    }
    Ok(())
}

fn maxrate(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let most = f64::from(u32::MAX) * 8.0;
    for (setting, _, qdisc) in qdiscs(context).filter(|(setting, ..)| setting.value == "fq") {
        for (name, text) in rates(qdisc).filter(|(name, _)| *name == "maxrate") {
            if let Some(rate) = Rate::parse(text).filter(|rate| rate.bits > most) {
                found.at(
                    &setting.place,
                    format!(
                        "{name} {text} is {} for each flow, and fq takes at most 34.36 Gbit/s",
                        rate.gbit()
                    ),
                    "leave maxrate out",
                );
            }
        }
    }
    Ok(())
}
