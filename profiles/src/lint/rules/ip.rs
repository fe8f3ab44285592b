//! What IP does on interfaces.

use crate::facts::Nic;
use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::key::SysctlKey;
use crate::lint::setting::What;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "mtu-beside-manager",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Files,
        what: "The MTU is set beside the manager of the link",
        reason: "NetworkManager and cloud-init set the MTU when they bring the link up: from their own profile, from \
                 DHCP option 26 or from the metadata of a cloud. A udev rule or a script that set 9000 before is undone, \
                 one that does it later takes the link down again on many drivers. And 9000 belongs only where the \
                 whole layer 2 network carries it.",
        source: "NetworkManager, merge request 859; RHEL 10, Network troubleshooting and performance tuning; ESnet \
                 fasterdata, host-tuning/linux",
        bad: Example::files(&[("/etc/rc.local", "/sbin/ip link set dev eth0 mtu 9000\n")]),
        good: Example::files(&[("/etc/rc.local", "/sbin/ip link set dev eth0 up\n")]),
        check: mtu,
    },
    Lint {
        id: "rp-filter-strict",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Host,
        what: "Strict reverse-path filtering on a host with several ports in use",
        reason: "1 drops a packet that came in by another port than its answer would leave by. With two ports and policy \
                 routing that is every packet of the second one. The effective value is the larger of `all` and the \
                 interface's. 2 only asks for any route back.",
        source: "RFC 3704; kernel Documentation/networking/ip-sysctl.rst (rp_filter); osg-htc/networking, \
                 perfSONAR-and-rp_filter-EL9",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.conf.all.rp_filter = 1\n")])
            .on("[[nic]]\nname = 'eth0'\ncarrier = true\n[[nic]]\nname = 'eth1'\ncarrier = true\n"),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.conf.all.rp_filter = 2\n")])
            .on("[[nic]]\nname = 'eth0'\ncarrier = true\n[[nic]]\nname = 'eth1'\ncarrier = true\n"),
        check: rp_filter,
    },
    Lint {
        id: "arp-on-one-port",
        severity: Severity::Warning,
        theme: Theme::Nic,
        needs: Needs::Host,
        what: "ARP settings for several ports in one subnet, on a host with one",
        reason: "arp_ignore, arp_announce and arp_filter keep ports of one subnet from answering for each other. With \
                 one port they do nothing, or hide a mistake in addresses.",
        source: "kernel Documentation/networking/ip-sysctl.rst (arp_filter); perfsonar/toolkit, configure_sysctl",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.conf.all.arp_ignore = 1\n")])
            .on("[[nic]]\nname = 'eth0'\ncarrier = true\n"),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.conf.all.arp_ignore = 1\n")])
            .on("[[nic]]\nname = 'eth0'\ncarrier = true\n[[nic]]\nname = 'eth1'\ncarrier = true\n"),
        check: arp,
    },
];

fn mtu(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.foreign() {
        if matches!(&setting.what, What::Nic(_, key) if key == "mtu") {
            found.at(
                &setting.place,
                format!("{}: the manager of the link sets it again", setting.shown()),
                "set it where the link is configured: NetworkManager, networkd's .network or .link, cloud-init",
            );
        }
    }
    Ok(())
}

/// Ports with link, as far as the facts say it.
fn ports_in_use(context: &Context<'_>) -> Result<usize, Missing> {
    let physical = |nic: &&Nic| matches!(nic.kind.as_deref(), None | Some("physical" | "vf"));
    let up = |nic: &&Nic| nic.carrier == Some(true) || nic.operstate.as_deref() == Some("up");
    Ok(context.facts()?.nics.iter().filter(physical).filter(up).count())
}

fn rp_filter(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.foreign() {
        let strict =
            setting.key().is_some_and(|key| key.leaf() == "rp_filter") && setting.integer() == Some(1);
        if strict && ports_in_use(context)? > 1 {
            let ports = ports_in_use(context)?;
            let message = format!(
                "{} with {ports} ports in use: packets of the others are dropped",
                setting.shown()
            );
            found.at(&setting.place, message, "set it to 2");
        }
    }
    Ok(())
}

fn arp(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.foreign() {
        let leaf = setting.key().map(SysctlKey::leaf).unwrap_or_default();
        let set =
            ["arp_ignore", "arp_announce", "arp_filter"].contains(&leaf) && setting.integer() != Some(0);
        if set && ports_in_use(context)? == 1 {
            let message = format!(
                "{}: the host has one port in use, and this is for several in one subnet",
                setting.shown()
            );
            found.at(&setting.place, message, "remove the line");
        }
    }
    Ok(())
}
