//! udev rules for data NICs: they run once at coldplug, before the link is up, and only for the port that the plan
//! names by PCI address and MAC. Never for a VF, a sub-function or a representor, which share the address of their port.

use super::{NativeFile, comment, header, steps_of};
use crate::device::DeviceId;
use crate::group::Group;
use crate::knob::{KnobId, Owner};
use crate::plan::{Plan, Step};

/// Settings that go into one file.
struct Kind {
    /// udev runs files in the order of their names.
    number: u8,
    name: &'static str,
    group: Group,
    /// What the keys begin with.
    prefix: &'static str,
    how: How,
}

/// How a rule sets a value.
enum How {
    /// As an attribute of the device.
    Attribute,
    /// By this option of ethtool.
    Ethtool(&'static str),
    /// By tc, for each transmit queue.
    Tc,
}

const fn kind(number: u8, name: &'static str, group: Group, prefix: &'static str, how: How) -> Kind {
    Kind {
        number,
        name,
        group,
        prefix,
        how,
    }
}

/// MTU before rings, features and channels before rings, pause frames and moderation after them. Pacing comes last: it
/// needs the queues as they are going to be.
const KINDS: [Kind; 7] = [
    kind(10, "mtu", Group::Mtu, "mtu", How::Attribute),
    kind(
        20,
        "nic-offload",
        Group::NicOffload,
        "feature.",
        How::Ethtool("-K"),
    ),
    kind(
        30,
        "nic-channels",
        Group::NicChannels,
        "channels.",
        How::Ethtool("-L"),
    ),
    kind(40, "nic-rings", Group::NicRings, "ring.", How::Ethtool("-G")),
    kind(45, "nic-pause", Group::NicOffload, "pause.", How::Ethtool("-A")),
    kind(
        50,
        "nic-coalesce",
        Group::NicCoalesce,
        "coalesce.",
        How::Ethtool("-C"),
    ),
    kind(60, "pacing", Group::Qdisc, "maxrate", How::Tc),
];

const ETHTOOL: &str = "/usr/sbin/ethtool";

/// Gives each transmit queue of the interface `$1` an `fq` that holds a flow to `$2` Mb/s: below a root `mq` with a handle
/// of ours, as nothing can be put below the kernel's own; as the root where there is one queue. Number N in sysfs is
/// N+1 to tc, in hexadecimal. A name of an interface has no white space, and `set -f` makes the rest of it plain. udev
/// gives a program no PATH. `$` and `%` are doubled for udev.
const PACE: &str = "set -f; PATH=/usr/sbin:/usr/bin:/sbin:/bin; queues=/sys/class/net/$$1/queues; n=0; \
                    if [ -e $$queues/tx-1 ]; then \
                    tc qdisc replace dev $$1 root handle d7: mq; \
                    while [ -e $$queues/tx-$$n ]; do n=$$((n + 1)); \
                    tc qdisc replace dev $$1 parent d7:$$(printf %%x $$n) fq maxrate $${2}mbit; done; \
                    else tc qdisc replace dev $$1 root handle d7: fq maxrate $${2}mbit; fi";

pub(super) fn files(plan: &Plan) -> Vec<NativeFile> {
    KINDS.iter().filter_map(|kind| file(plan, kind)).collect()
}

fn file(plan: &Plan, kind: &Kind) -> Option<NativeFile> {
    let mut devices: Vec<&DeviceId> = kind.steps(plan).filter_map(|step| step.knob.device()).collect();
    devices.sort();
    devices.dedup();
    let rules: Vec<String> = devices
        .into_iter()
        .filter_map(|device| rule(plan, kind, device))
        .collect();
    if rules.is_empty() {
        return None;
    }
    let end = format!("dtnforge_{}_end", kind.name.replace('-', "_"));
    let guards = format!(
        "SUBSYSTEM!=\"net\", GOTO=\"{end}\"\n\
         # `change` and `move` would reset a link in the middle of a transfer.\n\
         ACTION!=\"add\", GOTO=\"{end}\"\n\
         # Representors and sub-functions share the PCI address of their port.\n\
         ATTR{{phys_port_name}}==\"*pf*\", GOTO=\"{end}\"\n\
         SUBSYSTEMS==\"auxiliary\", GOTO=\"{end}\"\n"
    );
    Some(NativeFile {
        path: format!("udev/rules.d/90-dtnforge-{}-{}.rules", kind.number, kind.name),
        text: format!(
            "{}{guards}\n{}\nLABEL=\"{end}\"\n",
            header(plan, kind.name),
            rules.join("\n")
        ),
        group: Some(kind.group),
    })
}

impl Kind {
    fn steps<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Step> {
        let is_ours = |step: &&Step| match &step.knob {
            KnobId::Nic(_, key) | KnobId::Qdisc(_, key) => key.starts_with(self.prefix),
            _ => false,
        };
        steps_of(plan, Owner::Udev, self.group).filter(is_ours)
    }
}

fn rule(plan: &Plan, kind: &Kind, device: &DeviceId) -> Option<String> {
    let of_device = |step: &&Step| step.knob.device() == Some(device);
    let steps: Vec<&Step> = kind.steps(plan).filter(of_device).collect();
    let mac = device.suffix()?;
    let comments: String = steps.iter().map(|step| named_comment(step)).collect();
    let action = action(kind, &steps)?;
    Some(format!(
        "{comments}KERNELS==\"{}\", ATTR{{address}}==\"{mac}\", {action}\n",
        device.bus_path()
    ))
}

/// One call sets several values, so each comment names its own.
fn named_comment(step: &Step) -> String {
    match &step.knob {
        KnobId::Nic(_, key) | KnobId::Qdisc(_, key) => format!("# {key} = {}\n{}", step.to, comment(step)),
        _ => comment(step),
    }
}

/// What the rule does: one call of ethtool for all settings of a kind.
fn action(kind: &Kind, steps: &[&Step]) -> Option<String> {
    let first = steps.first()?;
    Some(match kind.how {
        How::Attribute => format!("ATTR{{{}}}=\"{}\"", kind.prefix, first.to),
        How::Ethtool(flag) => {
            let words: Vec<String> = steps.iter().filter_map(|step| words(step)).collect();
            format!("RUN+=\"{ETHTOOL} {flag} $name {}\"", words.join(" "))
        }
        How::Tc => format!("RUN+=\"/bin/sh -c '{PACE}' pacing $name {}\"", first.to),
    })
}

/// `ring.rx` is `rx` to ethtool.
fn words(step: &Step) -> Option<String> {
    match &step.knob {
        KnobId::Nic(_, key) => {
            let (_, name) = key.split_once('.')?;
            Some(format!("{name} {}", step.to))
        }
        _ => None,
    }
}
