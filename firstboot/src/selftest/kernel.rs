//! The kernel: its version, what it can do by module, and which of its doors answer.

use super::{item, yes_or_no};
use crate::door::ethtool::{Ethtool, EthtoolError, KernelEthtool};
use crate::host::Host;
use crate::{netdev, sockets, target};
use dtnforge_profiles::selftest::{Answer, Item, Need, version};
use std::fs;

/// The oldest kernel that was tried: that of EL9. The settings themselves are older.
const OLDEST: (u32, u32) = (5, 14);

/// Modules, who needs them, and what is missing without.
const MODULES: &[(&str, Need, &str)] = &[
    (
        "sch_fq",
        Need::Groups,
        "no fq under the queues: flows are not paced",
    ),
    (
        "tcp_bbr",
        Need::Groups,
        "`congestion_control = \"bbr\"` cannot be had",
    ),
    (
        "sch_netem",
        Need::Proof,
        "the local path cannot be measured: TCP groups stay unproved",
    ),
    (
        "veth",
        Need::Proof,
        "the local path cannot be measured: TCP groups stay unproved",
    ),
    (
        "erofs",
        Need::Image,
        "layers of the image cannot be mounted; installed hosts have plain directories",
    ),
    (
        "loop",
        Need::Image,
        "layers as image files cannot be mounted; installed hosts have plain directories",
    ),
];

pub(super) fn items(host: &Host) -> Vec<Item> {
    let release = fs::read_to_string(host.path("/proc/sys/kernel/osrelease")).unwrap_or_default();
    let release = release.trim();
    let mut items = vec![kernel(release)];
    let known = target::modules(host, release);
    let lists = fs::read_to_string(host.path("/proc/filesystems")).unwrap_or_default();
    for (name, need, without) in MODULES {
        let built_in = lists.split_whitespace().any(|word| word == *name)
            || host.path(&format!("/sys/module/{name}")).exists();
        let (there, found) = match &known {
            _ if built_in => (Answer::Yes, "in the running kernel".to_owned()),
            None => (
                Answer::CannotTell,
                format!("/lib/modules/{release} has no list of modules"),
            ),
            Some(names) if names.contains(*name) => (Answer::Yes, "can be loaded".to_owned()),
            Some(_) => (
                Answer::No,
                format!("kernel {release} has it neither built in nor as a module"),
            ),
        };
        items.push(item(&format!("module:{name}"), *need, there, found, without));
    }
    items.push(ethtool(host));
    items.push(socket_list(host));
    items.push(namespaces(host));
    items
}

fn kernel(release: &str) -> Item {
    let found = if release.is_empty() {
        "/proc/sys/kernel/osrelease cannot be read".to_owned()
    } else {
        release.to_owned()
    };
    let there = version(release).map_or(Answer::No, |version| yes_or_no(version >= OLDEST));
    item(
        "kernel",
        Need::Trial,
        there,
        found,
        "kernels before 5.14 were never tried",
    )
}

/// Whether the kernel answers about a port, by netlink or ioctl. A driver that has no rings answers too.
fn ethtool(host: &Host) -> Item {
    let port = netdev::names(host)
        .into_iter()
        .find(|name| netdev::bus_path(host, name).is_some());
    let (there, found) = match port {
        _ if !host.is_live() => (
            Answer::CannotTell,
            "not asked for a host in a directory".to_owned(),
        ),
        None => (Answer::CannotTell, "no port of a device to ask about".to_owned()),
        Some(port) => match KernelEthtool.rings(&port) {
            Ok(_) => (Answer::Yes, format!("{port} tells its rings")),
            Err(EthtoolError::Unsupported(_)) => (
                Answer::Yes,
                format!("the kernel answers; the driver of {port} has no rings"),
            ),
            Err(error) => (Answer::No, format!("{port}: {error}")),
        },
    };
    let without = "rings, queues, moderation and offloads stay as they are";
    item("ethtool", Need::Groups, there, found, without)
}

fn socket_list(host: &Host) -> Item {
    let (there, found) = if host.is_live() {
        match sockets::on_old_settings(host) {
            Ok(old) => (
                Answer::Yes,
                format!(
                    "{} listeners have another congestion control than the default",
                    old.len()
                ),
            ),
            Err(error) => (Answer::No, error.to_string()),
        }
    } else {
        (
            Answer::CannotTell,
            "not asked for a host in a directory".to_owned(),
        )
    };
    let without = "listeners that need a restart are not listed";
    item("sock-diag", Need::Proof, there, found, without)
}

fn namespaces(host: &Host) -> Item {
    const LIMIT: &str = "/proc/sys/user/max_net_namespaces";
    let limit = fs::read_to_string(host.path(LIMIT)).ok();
    let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
    let (there, found) = match limit {
        Some(limit) => (yes_or_no(limit >= 3), format!("{LIMIT} is {limit}")),
        None => (Answer::No, format!("{LIMIT} cannot be read")),
    };
    let without = "the local path cannot be measured: TCP groups stay unproved";
    item("net-namespaces", Need::Proof, there, found, without)
}
