//! Settings of interfaces: rings, offloads, interrupts, and what IP does on them.

use crate::facts::Nic;
use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::{Found, Place};
use crate::lint::read::{Command, Token, settings_of};
use crate::lint::setting::{Device, Origin, Setting, What};
use crate::lint::text::size;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "lro-on-forwarder",
        severity: Severity::Error,
        theme: Theme::Nic,
        needs: Needs::Files,
        what: "LRO is switched on, on a host that forwards or bridges",
        reason: "LRO merges packets in a way that cannot be undone: a router or bridge then sends packets larger than \
                 the MTU, and loses them. The kernel switches it off when forwarding begins; a later `ethtool -K lro \
                 on` switches it on again. GRO, and hardware GRO, are safe. Seen from ip_forward or a bridge in the \
                 same files, or from a bridge in the facts of the host.",
        source: "kernel Documentation/networking/netdev-features.rst (NETIF_F_LRO); Linux 6.12, net/core/dev.c \
                 (dev_disable_lro)",
        bad: Example::files(&[
            ("/etc/rc.local", "/usr/sbin/ethtool -K eth0 lro on\n"),
            ("/etc/sysctl.d/90-site.conf", "net.ipv4.ip_forward = 1\n"),
        ]),
        good: Example::files(&[("/etc/rc.local", "/usr/sbin/ethtool -K eth0 lro off\n")]),
        check: lro,
    },
    Lint {
        id: "ring-at-maximum",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Files,
        what: "A receive ring of 8192 descriptors or more",
        reason: "Queues x descriptors x buffer is what the card writes to. Beyond the share of the cache that DMA reaches \
                 each packet goes through memory, and throughput per core falls; a full ring of 8192 \
                 is also 10 ms of delay at 10 Gb/s. Guides say 8192, \"max\" and \"only when drops are seen\": the last \
                 one is measured.",
        source: "\"Disentangling the Dual Role of NIC Receive Rings\", OSDI 2025; ESnet fasterdata, linux/100g-tuning \
                 (for 8192); RHEL 9, Monitoring and managing system status and performance",
        bad: Example::files(&[("/etc/rc.local", "/usr/sbin/ethtool -G eth0 rx 8192 tx 1024\n")]),
        good: Example::files(&[("/etc/rc.local", "/usr/sbin/ethtool -G eth0 rx 2048 tx 1024\n")]),
        check: ring_at_maximum,
    },
    Lint {
        id: "ring-above-device",
        severity: Severity::Error,
        theme: Theme::Nic,
        needs: Needs::Host,
        what: "A ring or channel count above what the device has",
        reason: "ethtool refuses it (EINVAL), and a unit or script that goes on to the next command stops there.",
        source: "ethtool(8); kernel Documentation/networking/ethtool-netlink.rst (RINGS_SET, CHANNELS_SET)",
        bad: Example::files(&[("/etc/rc.local", "/usr/sbin/ethtool -G eth0 rx 4096\n")])
            .on("[[nic]]\nname = 'eth0'\nrings = { rx = 511, rx_max = 2047 }\n"),
        good: Example::files(&[("/etc/rc.local", "/usr/sbin/ethtool -G eth0 rx 2047\n")])
            .on("[[nic]]\nname = 'eth0'\nrings = { rx = 511, rx_max = 2047 }\n"),
        check: ring_above_device,
    },
    Lint {
        id: "interrupt-storm",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Files,
        what: "Interrupt moderation is switched off",
        reason: "Adaptive moderation off and no fixed time is one interrupt for each packet: at 100 Gb/s that is all the \
                 CPU does. For latency a fixed time of 8 to 20 us is the usual start.",
        source: "Intel 700 and 800 Series Linux Performance Tuning Guides; ESnet fasterdata, linux/100g-tuning",
        bad: Example::files(&[(
            "/etc/rc.local",
            "/usr/sbin/ethtool -C eth0 adaptive-rx off rx-usecs 0\n",
        )]),
        good: Example::files(&[("/etc/rc.local", "/usr/sbin/ethtool -C eth0 adaptive-rx on\n")]),
        check: interrupt_storm,
    },
    Lint {
        id: "rule-resets-link",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Files,
        what: "A udev rule changes rings or channels on every event, not only when the device appears",
        reason: "`change` and `move` events come at any time, also from `udevadm trigger`. Most drivers stop their \
                 queues for a new ring, and some drop the link for seconds, in the middle of a transfer.",
        source: "udev(7); systemd/systemd#33619; Linux 6.12, drivers/net/ethernet/intel/ixgbe/ixgbe_ethtool.c",
        bad: Example::files(&[(
            "/etc/udev/rules.d/90-site.rules",
            "SUBSYSTEM==\"net\", KERNEL==\"eth0\", RUN+=\"/usr/sbin/ethtool -G $name rx 2048\"\n",
        )]),
        good: Example::files(&[(
            "/etc/udev/rules.d/90-site.rules",
            "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"eth0\", RUN+=\"/usr/sbin/ethtool -G $name rx 2048\"\n",
        )]),
        check: rule_resets_link,
    },
    Lint {
        id: "unit-stops-at-first",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Files,
        what: "A unit stops at its first setting that fails",
        reason: "Several `ExecStart=` run one after another, and the first that fails ends the unit: a ring that the \
                 driver does not know, or a feature that is fixed, and the ones below are never set. `ethtool -G` with \
                 the values that are already there has failed too.",
        source: "systemd.service(5); osg-htc/networking, fasterdata-tuning.sh (ethtool-persist.service)",
        bad: Example::files(&[(
            "/etc/systemd/system/nic.service",
            "[Service]\nType=oneshot\nExecStart=/sbin/ethtool -G eth0 rx 2048\nExecStart=/sbin/ethtool -K eth0 lro off\n",
        )]),
        good: Example::files(&[(
            "/etc/systemd/system/nic.service",
            "[Service]\nType=oneshot\nExecStart=-/sbin/ethtool -G eth0 rx 2048\nExecStart=-/sbin/ethtool -K eth0 lro off\n",
        )]),
        check: unit_stops,
    },
];

/// Live settings of NICs with their device, key and value.
fn nic_settings<'b>(context: &'b Context<'_>) -> impl Iterator<Item = (&'b Setting, &'b Device, &'b str)> {
    context.live().filter_map(|setting| match &setting.what {
        What::Nic(device, key) => Some((setting, device, key.as_str())),
        _ => None,
    })
}

fn lro(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, _, key) in nic_settings(context) {
        if key != "feature.lro" || setting.value != "on" {
            continue;
        }
        if let Some(why) = forwards(context) {
            found.at(
                &setting.place,
                format!("{} on a host that forwards: {why}", setting.shown()),
                "switch it off",
            );
        }
    }
    Ok(())
}

/// The sign that a host forwards or bridges.
fn forwards(context: &Context<'_>) -> Option<String> {
    for name in [
        "net.ipv4.ip_forward",
        "net.ipv4.conf.all.forwarding",
        "net.ipv6.conf.all.forwarding",
    ] {
        let on = context
            .sysctl(name)
            .find(|setting| setting.integer().is_some_and(|value| value != 0));
        if let Some(setting) = on {
            return Some(format!("{name} at {}", setting.place));
        }
    }
    let bridge = context
        .facts()
        .ok()?
        .nics
        .iter()
        .find(|nic| nic.kind.as_deref() == Some("bridge"))?;
    Some(format!(
        "the bridge {}",
        bridge.name.as_deref().unwrap_or("without a name")
    ))
}

fn ring_at_maximum(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, device, key) in nic_settings(context) {
        let Some(descriptors) = setting.integer().filter(|size| key == "ring.rx" && *size >= 8192) else {
            continue;
        };
        let queues = nic_of(context, device).and_then(|nic| number(nic.channels.as_ref(), "combined"));
        let sum = queues.map(|queues| {
            let bytes = i128::from(queues)
                .saturating_mul(descriptors)
                .saturating_mul(2048);
            format!("{queues} queues of 2 KiB buffers are {}", size(bytes))
        });
        found.at(
            &setting.place,
            format!(
                "{}: {}",
                setting.shown(),
                sum.unwrap_or_else(|| "with many queues that is more than the cache share of DMA".to_owned())
            ),
            "start at 2048, and raise it only where the drop counters of the card move",
        );
    }
    Ok(())
}

/// The NIC of the facts that a device is; a variable is the only NIC there is, or none.
fn nic_of<'b>(context: &'b Context<'_>, device: &Device) -> Option<&'b Nic> {
    let nics = &context.facts().ok()?.nics;
    match device {
        Device::Named(name) => nics.iter().find(|nic| nic.name.as_ref() == Some(name)),
        _ => nics.first().filter(|_| nics.len() == 1),
    }
}

fn number(numbers: Option<&crate::facts::Numbers>, key: &str) -> Option<i64> {
    numbers?.get(key)?.as_i64()
}

fn ring_above_device(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, device, key) in nic_settings(context) {
        // The catalog's values are lowered to the device by the plan.
        let Some((group, name)) = key
            .split_once('.')
            .filter(|_| !matches!(setting.origin, Origin::Catalog(_)))
        else {
            continue;
        };
        if !["ring", "channels"].contains(&group) {
            continue;
        }
        context.facts()?;
        let Some(nic) = nic_of(context, device) else {
            continue;
        };
        let numbers = if group == "ring" {
            &nic.rings
        } else {
            &nic.channels
        };
        let most = number(numbers.as_ref(), &format!("{name}_max"));
        if let (Some(most), Some(asked)) = (most, setting.integer())
            && asked > i128::from(most)
        {
            let nic = nic.name.as_deref().unwrap_or("the port");
            found.at(
                &setting.place,
                format!("{}: {nic} has at most {most}", setting.shown()),
                format!("at most {most}"),
            );
        }
    }
    Ok(())
}

fn interrupt_storm(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, device, key) in nic_settings(context) {
        if key != "coalesce.adaptive-rx" || setting.value != "off" {
            continue;
        }
        let zero = nic_settings(context).any(|(other, of, key)| {
            key == "coalesce.rx-usecs"
                && other.integer() == Some(0)
                && of.may_be(device)
                && other.origin == setting.origin
        });
        if zero {
            found.at(
                &setting.place,
                format!(
                    "{}, and rx-usecs 0: one interrupt for each packet",
                    setting.shown()
                ),
                "adaptive-rx on; or for latency rx-usecs 8 to 20",
            );
        }
    }
    Ok(())
}

fn rule_resets_link(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for rule in &context.udev {
        let resets = |setting: &&Setting| matches!(&setting.what, What::Nic(_, key) if key.starts_with("ring.") || key.starts_with("channels."));
        let Some(setting) = rule.settings.iter().find(resets) else {
            continue;
        };
        if rule.rule.matched("ACTION") != Some("add") && !after_guard(context, &rule.place) {
            found.at(
                &setting.place,
                format!(
                    "{} on every event of the device: the link stops, or drops, each time",
                    setting.what
                ),
                "begin the rule with ACTION==\"add\"",
            );
        }
    }
    Ok(())
}

/// Whether an earlier rule of the file leaves everything that is not `add` (`ACTION!="add", GOTO=...`).
fn after_guard(context: &Context<'_>, place: &Place) -> bool {
    let before = context
        .udev
        .iter()
        .filter(|rule| rule.place.file == place.file && rule.place.line < place.line);
    before.into_iter().any(|rule| {
        let leaves = rule.rule.tokens.iter().any(|token| token.key == "GOTO");
        let unless_add =
            |token: &Token| token.key == "ACTION" && token.operator == "!=" && token.value == "add";
        leaves && rule.rule.tokens.iter().any(unless_add)
    })
}

fn unit_stops(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for script in &context.scripts {
        let sets = |command: &&Command| command.stops_unit && !settings_of(command).is_empty();
        let strict: Vec<_> = script.commands.iter().filter(sets).collect();
        if let [first, .., last] = strict[..] {
            found.at(
                &Place::new(&script.path, first.line),
                format!(
                    "when it fails, the settings down to line {} are not made",
                    last.line
                ),
                "write `ExecStart=-` for settings that a device may refuse",
            );
        }
    }
    Ok(())
}
