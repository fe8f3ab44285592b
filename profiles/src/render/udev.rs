//! udev rules for data NICs: they run once at coldplug, before the link is up, and only for the port that the plan
//! names by PCI address and MAC. Never for a VF, a sub-function or a representor, which share the address of their port.

use super::{NativeFile, comment, header, steps_of};
use crate::device::DeviceId;
use crate::group::Group;
use crate::knob::{KnobId, Owner};
use crate::plan::{Plan, Step};

/// Groups in the order in which udev has to run them: MTU before rings, features and channels before rings.
const ORDER: [(u8, Group); 5] = [
    (10, Group::Mtu),
    (20, Group::NicOffload),
    (30, Group::NicChannels),
    (40, Group::NicRings),
    (50, Group::NicCoalesce),
];

const ETHTOOL: &str = "/usr/sbin/ethtool";

pub(super) fn files(plan: &Plan) -> Vec<NativeFile> {
    ORDER
        .into_iter()
        .filter_map(|(number, group)| file(plan, number, group))
        .collect()
}

fn file(plan: &Plan, number: u8, group: Group) -> Option<NativeFile> {
    let mut devices: Vec<&DeviceId> = steps_of(plan, Owner::Udev, group)
        .filter_map(|step| step.knob.device())
        .collect();
    devices.sort();
    devices.dedup();
    let rules: Vec<String> = devices
        .into_iter()
        .filter_map(|device| rule(plan, group, device))
        .collect();
    if rules.is_empty() {
        return None;
    }
    let end = format!("dtnforge_{}_end", group.name().replace('-', "_"));
    let guards = format!(
        "SUBSYSTEM!=\"net\", GOTO=\"{end}\"\n\
         # `change` and `move` would reset a link in the middle of a transfer.\n\
         ACTION!=\"add\", GOTO=\"{end}\"\n\
         # Representors and sub-functions share the PCI address of their port.\n\
         ATTR{{phys_port_name}}==\"*pf*\", GOTO=\"{end}\"\n\
         SUBSYSTEMS==\"auxiliary\", GOTO=\"{end}\"\n"
    );
    Some(NativeFile {
        path: format!("udev/rules.d/90-dtnforge-{number}-{group}.rules"),
        text: format!(
            "{}{guards}\n{}\nLABEL=\"{end}\"\n",
            header(plan, group.name()),
            rules.join("\n")
        ),
        group: Some(group),
    })
}

fn rule(plan: &Plan, group: Group, device: &DeviceId) -> Option<String> {
    let of_device = |step: &&Step| step.knob.device() == Some(device);
    let steps: Vec<&Step> = steps_of(plan, Owner::Udev, group).filter(of_device).collect();
    let mac = device.suffix()?;
    let comments: String = steps.iter().map(|step| named_comment(step)).collect();
    let action = action(group, &steps)?;
    Some(format!(
        "{comments}KERNELS==\"{}\", ATTR{{address}}==\"{mac}\", {action}\n",
        device.bus_path()
    ))
}

/// One call sets several values, so each comment names its own.
fn named_comment(step: &Step) -> String {
    match &step.knob {
        KnobId::Nic(_, key) => format!("# {key} = {}\n{}", step.to, comment(step)),
        _ => comment(step),
    }
}

/// What the rule does. All steps are of one group, so one call of ethtool does them together.
fn action(group: Group, steps: &[&Step]) -> Option<String> {
    let flag = match group {
        Group::NicOffload => "-K",
        Group::NicChannels => "-L",
        Group::NicRings => "-G",
        Group::NicCoalesce => "-C",
        Group::Mtu => return steps.first().map(|step| format!("ATTR{{mtu}}=\"{}\"", step.to)),
        _ => return None,
    };
    let words: Vec<String> = steps.iter().filter_map(|step| words(step)).collect();
    Some(format!("RUN+=\"{ETHTOOL} {flag} $name {}\"", words.join(" ")))
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
