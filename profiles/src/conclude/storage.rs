//! What holds the data: a mount that says so, else the local disks without the system disk.

use super::Reasons;
use super::classes::StorageClass;
use super::disks::{Disk, data_disks, mounted_disks};
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

/// Mounts for root, home or software decide nothing.
fn is_data_mount(mount: &Mount) -> bool {
    let role = mount.target_role.as_deref();
    role.is_some_and(|role| role.starts_with("data"))
}

/// The class of a network mount whose role is data.
fn data_mount(mount: &Mount) -> Option<StorageClass> {
    if !is_data_mount(mount) {
        return None;
    }
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

/// The disks below a local file system that is mounted for data, else those that could hold data.
fn local(facts: &Facts, reasons: &mut Reasons) -> Store {
    match mounted_disks(facts, is_data_mount) {
        disks if disks.is_empty() => of_disks(&data_disks(facts), Known::Disks, reasons),
        disks => of_disks(&disks, Known::Mount, reasons),
    }
}

/// How it is known that disks hold data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// A file system on them is mounted for data.
    Mount,
    /// They could hold data.
    Disks,
}

fn of_disks(disks: &[Disk<'_>], known: Known, reasons: &mut Reasons) -> Store {
    if disks.is_empty() {
        return unknown("there is no disk for data".to_owned(), reasons);
    }
    let classes = by_class(disks);
    let Some(class) = classes
        .iter()
        .max_by_key(|(_, bytes)| **bytes)
        .map(|(class, _)| *class)
    else {
        return unknown("the medium of no disk is known".to_owned(), reasons);
    };
    if classes.len() > 1
        && disks
            .iter()
            .any(|disk| disk.class != StorageClass::Unknown && disk.bytes.is_none())
    {
        return unknown(
            "disks of several classes, and not all sizes are known".to_owned(),
            reasons,
        );
    }
    note_doubts(disks, class, known, reasons);
    let named: Vec<&Disk<'_>> = disks.iter().filter(|disk| disk.class == class).collect();
    let how = match known {
        Known::Mount => "mounted for data",
        Known::Disks => "by disks, not by mounts",
    };
    reasons
        .why
        .push(format!("storage_class: {class}, {}, {how}", amount(&named)));
    Store {
        class,
        disks: named.iter().filter_map(|disk| disk.block.name.clone()).collect(),
    }
}

/// `12 local disks with 96000 GB`; a size that is not known is said to be so.
fn amount(disks: &[&Disk<'_>]) -> String {
    let count: u64 = disks.iter().map(|disk| disk.count()).sum();
    let what = match count {
        1 => "1 local disk".to_owned(),
        count => format!("{count} local disks"),
    };
    let known = disks.iter().filter(|disk| disk.bytes.is_some()).count();
    let bytes = disks
        .iter()
        .fold(0_u64, |sum, disk| sum.saturating_add(disk.bytes_of_all()));
    let size = match bytes {
        // A prototype card, or a test.
        bytes if bytes < 1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        bytes => format!("{} GB", bytes / 1_000_000_000),
    };
    match known {
        0 => format!("{what} of unknown size"),
        known if known < disks.len() => format!("{what} with {size} and more"),
        _ => format!("{what} with {size}"),
    }
}

/// Bytes of each class whose medium is known.
fn by_class(disks: &[Disk<'_>]) -> BTreeMap<StorageClass, u64> {
    let mut sums = BTreeMap::new();
    for disk in disks.iter().filter(|disk| disk.class != StorageClass::Unknown) {
        let sum: &mut u64 = sums.entry(disk.class).or_default();
        *sum = sum.saturating_add(disk.bytes_of_all());
    }
    sums
}

/// A RAID volume may lie about its medium, and two classes may both hold data. One small disk may be the system disk, unless
/// a mount says that it holds data.
fn note_doubts(disks: &[Disk<'_>], class: StorageClass, known: Known, reasons: &mut Reasons) {
    let raid = |disk: &Disk<'_>| disk.block.transport.as_deref() == Some("raid");
    let by_name = |disk: &Disk<'_>| disk.class != StorageClass::Nvme && disk.block.rotational.is_none();
    let small = |disk: &Disk<'_>| disk.bytes.is_none_or(|bytes| bytes <= 1_050_000_000_000);
    let few = disks.len() == 1 || (disks.len() == 2 && disks[0].bytes == disks[1].bytes);
    let only_root = disks.iter().all(|disk| disk.block.holds_root == Some(true));
    let may_be_system = known == Known::Disks && (only_root || (few && disks.iter().all(small)));
    let sums = by_class(disks);
    let most = sums.get(&class).copied().unwrap_or_default();
    let rival = sums
        .iter()
        .any(|(other, bytes)| *other != class && bytes.saturating_mul(4) >= most);
    let doubtful = rival
        || may_be_system
        || disks.iter().any(|disk| disk.class == StorageClass::Unknown)
        || disks
            .iter()
            .any(|disk| disk.class == class && (raid(disk) || by_name(disk)));
    if doubtful {
        reasons.unsure("storage_class");
    }
}
