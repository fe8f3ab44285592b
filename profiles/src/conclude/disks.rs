//! The disks that may hold data, with their class as the kernel sees it.

use super::classes::StorageClass;
use super::{medium, size};
use crate::facts::{Block, Facts, Mount};

/// The smallest disk that holds data at all: a 393 MB NVMe namespace is a transcoder card.
const SMALLEST: u64 = 1_000_000_000;
/// Below this, a disk beside one that is eight times as large is a system or cache disk.
const SYSTEM_DISK: u64 = 512_000_000_000;

/// Transports of volumes that lie on another machine: their flag is the word of an array.
const ELSEWHERE: &[&str] = &["iscsi", "fc", "fcoe", "srp", "rbd"];
/// Models and vendors of emulated disks, in lower case.
const EMULATED: &[&str] = &["qemu", "vmware", "vbox", "msft"];

/// A disk with what is known of it.
pub(super) struct Disk<'a> {
    pub(super) block: &'a Block,
    pub(super) class: StorageClass,
    pub(super) bytes: Option<u64>,
}

impl Disk<'_> {
    /// How many equal disks the entry stands for.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.block.count.unwrap_or(1))
    }

    /// Bytes of all of them, as far as they are known.
    pub(super) fn bytes_of_all(&self) -> u64 {
        self.bytes.unwrap_or_default().saturating_mul(self.count())
    }
}

/// The disks below the mounts that are wanted; a disk that holds the root as well is one of them.
pub(super) fn mounted_disks(facts: &Facts, wanted: impl Fn(&Mount) -> bool) -> Vec<Disk<'_>> {
    let below: Vec<&String> = facts
        .mounts
        .iter()
        .filter(|mount| wanted(mount))
        .flat_map(|mount| mount.disks.iter().flatten())
        .collect();
    let is_below = |disk: &Disk<'_>| disk.block.name.as_ref().is_some_and(|name| below.contains(&name));
    let disks = facts.blocks.iter().filter_map(|block| disk(block, facts));
    disks.filter(is_below).collect()
}

/// The disks that may hold data: not the system disk, none that is too small.
pub(super) fn data_disks(facts: &Facts) -> Vec<Disk<'_>> {
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
    disks
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

/// The class as the kernel sees it. `rotational` of a disk whose medium is elsewhere is no evidence.
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
        Some("dasd") => StorageClass::Unknown,
        Some(transport) if ELSEWHERE.contains(&transport) => StorageClass::Unknown,
        _ if is_paravirtual(block) || is_emulated(block) => StorageClass::Unknown,
        Some("raid") => flag,
        _ if flag == StorageClass::Unknown => likely_medium(block),
        _ => flag,
    }
}

/// A disk that a hypervisor emulates: it says of its medium what the hypervisor was told to say.
pub(super) fn is_emulated(block: &Block) -> bool {
    let starts = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
        EMULATED.iter().any(|word| text.starts_with(word))
    };
    starts(&block.model) || starts(&block.vendor)
}

/// A disk of a paravirtual frontend, virtio or Xen: by its transport, or by the name that only such disks get.
pub(super) fn is_paravirtual(block: &Block) -> bool {
    let name = block.name.as_deref().unwrap_or_default();
    let lettered = |prefix: &str| {
        let letters = name.strip_prefix(prefix).unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|c| c.is_ascii_lowercase())
    };
    match block.transport.as_deref() {
        Some(transport) => matches!(transport, "virtio" | "xen"),
        None => lettered("vd") || lettered("xvd"),
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
