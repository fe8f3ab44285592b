//! Block devices: the disks themselves, without what the kernel builds on top of them.

use super::attributes::Attributes;
use super::source::Source;
use super::stacking::Stacking;
use super::transport::{self, Signs};
use dtnforge_profiles::facts;
use std::collections::{BTreeMap, BTreeSet};

const BLOCK: &str = "/sys/block";
/// Names of devices that are no disks: made of memory, files or other devices, or with a medium that comes and goes.
const NO_DISKS: [&str; 11] = [
    "loop", "ram", "zram", "dm-", "md", "bcache", "nbd", "drbd", "zd", "sr", "fd",
];

/// The names of the disks, sorted. A device without a size has no medium; a hidden one is a path of another.
pub(super) fn names(source: &dyn Source, errors: &mut BTreeMap<String, String>) -> Vec<String> {
    let names = source.list(BLOCK).unwrap_or_else(|error| {
        errors.insert("block".to_owned(), format!("{BLOCK}: {error}"));
        Vec::new()
    });
    let is = |name: &str, file: &str, value: &str| {
        source.sign(&format!("{BLOCK}/{name}/{file}")).as_deref() == Some(value)
    };
    names
        .into_iter()
        .filter(|name| !NO_DISKS.iter().any(|prefix| name.starts_with(prefix)))
        .filter(|name| !is(name, "size", "0") && !is(name, "hidden", "1"))
        .collect()
}

/// Reads one disk. `root` are the disks that hold the root file system, `None` when that is not known.
pub(super) fn read(
    source: &dyn Source,
    name: &str,
    stacking: &Stacking,
    root: Option<&BTreeSet<String>>,
) -> facts::Block {
    let mut disk = Attributes::of(source, &format!("{BLOCK}/{name}"));
    let mut block = facts::Block {
        name: Some(name.to_owned()),
        size_bytes: disk
            .number::<u64>("size_bytes", "size")
            .map(|sectors| sectors.saturating_mul(512)),
        rotational: disk.switch("rotational", "queue/rotational"),
        scheduler: disk
            .text("scheduler", "queue/scheduler")
            .map(|text| active(&text)),
        model: disk.text("model", "device/model"),
        vendor: disk
            .text("vendor", "device/vendor")
            .filter(|text| !text.starts_with("0x")),
        holders: Some(stacking.holders(source, name)).filter(|holders| !holders.is_empty()),
        holds_root: root.map(|root| root.contains(name)),
        ..facts::Block::default()
    };
    let signs = signs(source, name, &block);
    block.transport = Some(transport::of(&signs).to_owned());
    if block.transport.as_deref() == Some("nvme") {
        block.nvme_transport = nvme_transport(source, &mut disk);
    }
    if block.transport.as_deref() == Some("raid") {
        block.driver = signs.scsi_host;
    }
    block.errors.append(&mut disk.errors);
    block
}

fn signs(source: &dyn Source, name: &str, block: &facts::Block) -> Signs {
    let directory = source.resolved(&format!("{BLOCK}/{name}")).unwrap_or_default();
    let host = transport::scsi_host(&directory);
    Signs {
        name: name.to_owned(),
        scsi_host: host.and_then(|host| source.sign(&format!("/sys/class/scsi_host/host{host}/proc_name"))),
        vendor: block.vendor.clone(),
        model: block.model.clone(),
        directory,
    }
}

/// The scheduler in brackets; a queue with a single choice has none.
fn active(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(name, _)| name).to_owned()
}

/// The transport of the controller. With native multipath the disk belongs to a subsystem with several controllers,
/// of which the first one tells.
fn nvme_transport(source: &dyn Source, disk: &mut Attributes<'_>) -> Option<String> {
    let controllers = source.list(&disk.path("device")).unwrap_or_default();
    let controllers = controllers.into_iter().filter(|name| {
        let rest = name.strip_prefix("nvme").unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    });
    disk.text("nvme_transport", "device/transport").or_else(|| {
        let mut files = controllers.map(|name| format!("device/{name}/transport"));
        files.find_map(|file| disk.text("nvme_transport", &file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_brackets_is_the_active_one() {
        assert_eq!(active("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(active("[none]"), "none");
        assert_eq!(active("none"), "none");
    }
}
