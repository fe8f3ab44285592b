//! What holds the data: a mount that says so, else the local disks without the system disk.

use super::classes::StorageClass;
use super::{Reasons, medium, size};
use crate::facts::{Block, Facts, Mount};
use std::collections::BTreeMap;

/// The class of the data store, and its disks when it is local.
pub(super) struct Store {
    pub(super) class: StorageClass,
    pub(super) disks: Vec<String>,
}

impl Store {
    fn without_disks(class: StorageClass) -> Self {
        let disks = Vec::new();
        Self { class, disks }
    }
}

pub(super) fn conclude(facts: &Facts, reasons: &mut Reasons) -> Store {
    let mut classes: Vec<StorageClass> = facts.mounts.iter().filter_map(data_mount).collect();
    classes.sort();
    classes.dedup();
    match classes.as_slice() {
        [] => local(facts, reasons),
        [StorageClass::Unknown] => {
            unknown("the data is on a file system without a class".to_owned(), reasons)
        }
        [class] => {
            reasons
                .why
                .push(format!("storage_class: {class}, a mount for data"));
            Store::without_disks(*class)
        }
        several => {
            let list: Vec<_> = several.iter().map(|class| class.name()).collect();
            unknown(
                format!("several file systems are mounted for data: {}", list.join(", ")),
                reasons,
            )
        }
    }
}

fn unknown(why: String, reasons: &mut Reasons) -> Store {
    reasons.unsure("storage_class");
    reasons.why.push(format!("storage_class: unknown, {why}"));
    Store::without_disks(StorageClass::Unknown)
}

/// The class of a network mount whose role is data. Mounts for root, home or software decide nothing.
fn data_mount(mount: &Mount) -> Option<StorageClass> {
    mount
        .target_role
        .as_deref()
        .filter(|role| role.starts_with("data"))?;
    match mount.fstype.as_deref()? {
        "nfs" | "nfs4" if has_layout(mount) => Some(StorageClass::Pnfs),
        "nfs" | "nfs4" => Some(StorageClass::Nfs),
        "ceph" | "fuse.ceph" | "fuse.ceph-fuse" => Some(StorageClass::CephFs),
        "lustre" => Some(StorageClass::Lustre),
        "beegfs" => Some(StorageClass::BeeGfs),
        other if is_remote(other) => Some(StorageClass::Unknown),
        _ => None,
    }
}

/// File systems whose data is not on the disks of this host, and for which there is no class.
fn is_remote(fstype: &str) -> bool {
    const REMOTE: &[&str] = &[
        "gpfs",
        "mmfs",
        "cifs",
        "smb3",
        "glusterfs",
        "pvfs2",
        "orangefs",
        "afs",
        "9p",
        "virtiofs",
        "wekafs",
        "panfs",
        "gfs2",
        "ocfs2",
        "dfs",
        "curvefs",
    ];
    REMOTE.contains(&fstype) || fstype.starts_with("fuse")
}

/// Whether the server hands out layouts: `pnfs=LAYOUT_...` in mountstats. `pnfs=not configured` is none.
fn has_layout(mount: &Mount) -> bool {
    let stats = mount
        .mountstats
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    stats.contains("pnfs=LAYOUT_")
}

/// The smallest disk that holds data at all: a 393 MB NVMe namespace is a transcoder card.
const SMALLEST: u64 = 1_000_000_000;
/// Below this, a disk beside one that is eight times as large is a system or cache disk.
const SYSTEM_DISK: u64 = 512_000_000_000;

/// A disk with what is known of it.
struct Disk<'a> {
    block: &'a Block,
    class: StorageClass,
    bytes: Option<u64>,
}

fn local(facts: &Facts, reasons: &mut Reasons) -> Store {
    let mut disks: Vec<Disk<'_>> = facts
        .blocks
        .iter()
        .filter_map(|block| disk(block, facts))
        .collect();
    let holds_root = |disk: &Disk<'_>| disk.block.holds_root == Some(true);
    if !disks.iter().all(holds_root) {
        disks.retain(|disk| !holds_root(disk));
    }
    let largest = disks
        .iter()
        .filter_map(|disk| disk.bytes)
        .max()
        .unwrap_or_default();
    disks.retain(|disk| disk.bytes.is_none_or(|bytes| holds_data(bytes, largest)));
    if disks.is_empty() {
        return unknown("there is no disk for data".to_owned(), reasons);
    }
    let known = by_class(&disks);
    let Some((class, bytes)) = known
        .iter()
        .max_by_key(|(_, bytes)| **bytes)
        .map(|(class, bytes)| (*class, *bytes))
    else {
        return unknown("the medium of no disk is known".to_owned(), reasons);
    };
    if known.len() > 1
        && disks
            .iter()
            .any(|disk| disk.class != StorageClass::Unknown && disk.bytes.is_none())
    {
        return unknown(
            "disks of several classes, and not all sizes are known".to_owned(),
            reasons,
        );
    }
    note_doubts(&disks, class, reasons);
    let count = disks.iter().filter(|disk| disk.class == class).count();
    reasons.why.push(format!(
        "storage_class: {class}, {count} local disk(s) with {} GB",
        bytes / 1_000_000_000
    ));
    let named = disks.iter().filter(|disk| disk.class == class);
    Store {
        class,
        disks: named.filter_map(|disk| disk.block.name.clone()).collect(),
    }
}

/// Bytes of each class whose medium is known.
fn by_class(disks: &[Disk<'_>]) -> BTreeMap<StorageClass, u64> {
    let mut sums = BTreeMap::new();
    for disk in disks.iter().filter(|disk| disk.class != StorageClass::Unknown) {
        let count = u64::from(disk.block.count.unwrap_or(1));
        let bytes = disk.bytes.unwrap_or_default().saturating_mul(count);
        let sum: &mut u64 = sums.entry(disk.class).or_default();
        *sum = sum.saturating_add(bytes);
    }
    sums
}

fn holds_data(bytes: u64, largest: u64) -> bool {
    bytes >= SMALLEST && (bytes >= SYSTEM_DISK || bytes >= largest / 8)
}

/// A disk that may hold data; caches, journals and arrays whose members are listed are none.
fn disk<'a>(block: &'a Block, facts: &Facts) -> Option<Disk<'a>> {
    let mut members = block.members.iter().flatten();
    let listed = |name: &String| facts.blocks.iter().any(|other| other.name.as_ref() == Some(name));
    if members.any(listed) || is_no_disk(block) || is_cache(block) || is_bcache_of(block, facts) {
        return None;
    }
    let bytes = block.size_bytes.or_else(|| size::parse(block.size.as_deref()?));
    Some(Disk {
        class: class_of(block),
        block,
        bytes,
    })
}

/// Optical drives, RAM disks, and what a service processor plugs in over USB.
fn is_no_disk(block: &Block) -> bool {
    let name = block.name.as_deref().unwrap_or_default();
    let numbered = |prefix: &str| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    block.transport.as_deref() == Some("usb") || ["sr", "fd", "loop", "ram", "zram"].into_iter().any(numbered)
}

/// The fast half of a bcache device: a spinning disk is under the same one.
fn is_bcache_of(block: &Block, facts: &Facts) -> bool {
    let under = |block: &Block| -> Vec<String> {
        let holders = block.holders.iter().flatten();
        holders
            .filter(|holder| holder.starts_with("bcache"))
            .cloned()
            .collect()
    };
    let own = under(block);
    let slow = facts
        .blocks
        .iter()
        .filter(|other| other.rotational == Some(true) && other.name != block.name);
    block.rotational != Some(true) && slow.flat_map(under).any(|holder| own.contains(&holder))
}

fn is_cache(block: &Block) -> bool {
    let holders = block
        .holders
        .iter()
        .flatten()
        .map(|holder| holder.to_ascii_lowercase());
    let words = [
        "-db",
        "_db",
        "-wal",
        "_wal",
        "cache-set",
        "journal",
        "l2arc",
        "slog",
        "zfs log",
        "zfs cache",
    ];
    holders
        .into_iter()
        .any(|holder| words.iter().any(|word| holder.contains(word)))
}

/// The class as the kernel sees it. `rotational` of a virtio disk or a DASD is no evidence.
fn class_of(block: &Block) -> StorageClass {
    let network = block
        .nvme_transport
        .as_deref()
        .is_some_and(|transport| transport != "pcie");
    let flag = match block.rotational {
        Some(false) => StorageClass::Ssd,
        Some(true) => StorageClass::Hdd,
        // Only a spinning disk has a speed of rotation.
        None if block.rpm.is_some_and(|rpm| rpm > 1) => StorageClass::Hdd,
        None => StorageClass::Unknown,
    };
    match block.transport.as_deref() {
        Some("nvme") if network => StorageClass::Unknown,
        Some("nvme") => StorageClass::Nvme,
        Some("virtio" | "dasd") => StorageClass::Unknown,
        Some("raid") => flag,
        _ if flag == StorageClass::Unknown => likely_medium(block),
        _ => flag,
    }
}

/// Without a flag: the model number, or a cache above it, which only slow disks are given.
fn likely_medium(block: &Block) -> StorageClass {
    let mut holders = block.holders.iter().flatten();
    let cached = holders.any(|holder| holder.starts_with("bcache"));
    let by_cache = cached.then_some(StorageClass::Hdd);
    medium::by_model(block)
        .or(by_cache)
        .unwrap_or(StorageClass::Unknown)
}

/// One small disk may be the system disk, a RAID volume may lie about its medium, and two classes may both hold data.
fn note_doubts(disks: &[Disk<'_>], class: StorageClass, reasons: &mut Reasons) {
    let raid = |disk: &Disk<'_>| disk.block.transport.as_deref() == Some("raid");
    let by_name = |disk: &Disk<'_>| disk.class != StorageClass::Nvme && disk.block.rotational.is_none();
    let small = |disk: &Disk<'_>| disk.bytes.is_none_or(|bytes| bytes <= 1_050_000_000_000);
    let few = disks.len() == 1 || (disks.len() == 2 && disks[0].bytes == disks[1].bytes);
    let only_root = disks.iter().all(|disk| disk.block.holds_root == Some(true));
    let sums = by_class(disks);
    let most = sums.get(&class).copied().unwrap_or_default();
    let rival = sums
        .iter()
        .any(|(other, bytes)| *other != class && bytes.saturating_mul(4) >= most);
    let doubtful = rival
        || (few && disks.iter().all(small))
        || only_root
        || disks.iter().any(|disk| disk.class == StorageClass::Unknown)
        || disks
            .iter()
            .any(|disk| disk.class == class && (raid(disk) || by_name(disk)));
    if doubtful {
        reasons.unsure("storage_class");
    }
}
