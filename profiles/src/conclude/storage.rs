//! What holds the data: a mount that says so, else the local disks without the system disk.

use super::Reasons;
use super::classes::StorageClass;
use super::disks::{Disk, data_disks};
use crate::facts::{Facts, Mount};
use crate::site::Site;
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

/// What the site states goes first, then a mount that says that it holds data, then the disks.
pub(super) fn conclude(facts: &Facts, site: &Site, reasons: &mut Reasons) -> Store {
    match site.storage_class {
        Some(class) => stated(class, facts, reasons),
        None => seen(facts, reasons),
    }
}

fn stated(class: StorageClass, facts: &Facts, reasons: &mut Reasons) -> Store {
    let mounted = mounted(facts);
    if !mounted.is_empty() && !mounted.contains(&class) {
        let list: Vec<_> = mounted.iter().map(|class| class.name()).collect();
        reasons.findings.push(format!(
            "the data store is {class} by the site's word, and {} is mounted for data",
            list.join(", ")
        ));
    }
    reasons
        .why
        .push(format!("storage_class: {class}, stated by the site"));
    let disks = data_disks(facts).into_iter().filter(|disk| disk.class == class);
    Store {
        class,
        disks: disks.filter_map(|disk| disk.block.name.clone()).collect(),
    }
}

/// The classes of the file systems that are mounted for data, each once.
fn mounted(facts: &Facts) -> Vec<StorageClass> {
    let mut classes: Vec<StorageClass> = facts.mounts.iter().filter_map(data_mount).collect();
    classes.sort();
    classes.dedup();
    classes
}

fn seen(facts: &Facts, reasons: &mut Reasons) -> Store {
    match mounted(facts).as_slice() {
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

fn local(facts: &Facts, reasons: &mut Reasons) -> Store {
    let disks = data_disks(facts);
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
        "storage_class: {class}, {count} local disk(s) with {} GB, by disks, not by mounts",
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
