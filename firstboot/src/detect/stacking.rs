//! What lies on what among block devices: from a file system down to the disks that hold its bytes.
//!
//! Partitions, device-mapper (LVM, dm-verity, dm-crypt, multipath) and md arrays all show their lower devices in
//! sysfs, so one walk serves them all, dm-verity's root on our own image included.

use super::nic::value_of;
use super::source::{ONE_VALUE, Source};
use std::collections::{BTreeMap, BTreeSet};

const BLOCK: &str = "/sys/block";
const CLASS: &str = "/sys/class/block";
/// Depth at which a stack of devices is taken for a loop.
const DEEPEST: usize = 16;

/// The disks of a host and their partitions.
#[derive(Debug, Default)]
pub(super) struct Stacking {
    /// Disks, sorted.
    pub(super) disks: Vec<String>,
    /// Partition -> its disk.
    pub(super) partitions: BTreeMap<String, String>,
}

impl Stacking {
    /// Looks at the given disks.
    pub(super) fn of(source: &dyn Source, disks: Vec<String>) -> Self {
        let mut partitions = BTreeMap::new();
        for disk in &disks {
            for entry in source.list(&format!("{BLOCK}/{disk}")).unwrap_or_default() {
                let is_partition = entry.starts_with(disk.as_str())
                    && source.exists(&format!("{BLOCK}/{disk}/{entry}/partition"));
                if is_partition {
                    partitions.insert(entry, disk.clone());
                }
            }
        }
        Self { disks, partitions }
    }

    /// The disks below a device (`sda2`, `dm-0`, `md127`).
    pub(super) fn below(&self, source: &dyn Source, device: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.collect(source, device, DEEPEST, &mut found);
        found
    }

    fn collect(&self, source: &dyn Source, device: &str, depth: usize, found: &mut BTreeSet<String>) {
        if let Some(disk) = self.partitions.get(device) {
            found.insert(disk.clone());
        } else if self.disks.iter().any(|disk| disk == device) {
            found.insert(device.to_owned());
        } else if depth > 0 {
            for slave in source
                .list(&format!("{CLASS}/{device}/slaves"))
                .unwrap_or_default()
            {
                self.collect(source, &slave, depth - 1, found);
            }
        }
    }

    /// The devices on top of a disk or one of its partitions, by the name that device-mapper knows them by.
    pub(super) fn holders(&self, source: &dyn Source, disk: &str) -> Vec<String> {
        let partitions = self
            .partitions
            .iter()
            .filter(|(_, of)| *of == disk)
            .map(|(name, _)| name.as_str());
        let holders: BTreeSet<String> = std::iter::once(disk)
            .chain(partitions)
            .flat_map(|device| {
                source
                    .list(&format!("{CLASS}/{device}/holders"))
                    .unwrap_or_default()
            })
            .collect();
        let by_name = |holder: String| {
            source
                .sign(&format!("{CLASS}/{holder}/dm/name"))
                .unwrap_or(holder)
        };
        holders.into_iter().map(by_name).collect()
    }

    /// The disks that hold a partition of our image: its name begins with `dtn-`.
    pub(super) fn ours(&self, source: &dyn Source) -> BTreeSet<String> {
        let is_ours = |partition: &String| {
            let uevent = source
                .text(&format!("{CLASS}/{partition}/uevent"), ONE_VALUE)
                .unwrap_or_default();
            value_of(&uevent, "PARTNAME").is_some_and(|name| name.starts_with("dtn-"))
        };
        let ours = self.partitions.iter().filter(|(name, _)| is_ours(name));
        ours.map(|(_, disk)| disk.clone()).collect()
    }
}

/// The kernel name of a mounted device: by its number, and where a file system has a number of its own (btrfs) by
/// the source that was mounted.
pub(super) fn device_of(source: &dyn Source, number: &str, mounted: &str) -> Option<String> {
    let by_number = |number: &str| source.link_name(&format!("/sys/dev/block/{number}"));
    if !number.starts_with("0:") {
        return by_number(number);
    }
    let path = mounted.strip_prefix("/dev/")?;
    if path.contains("..") {
        return None;
    }
    // /dev/mapper/NAME is a link to ../dm-N; /dev/sda2 is itself.
    source
        .link_name(mounted)
        .or_else(|| (!path.contains('/')).then(|| path.to_owned()))
}
