//! Mounts: what is mounted where, and what it is for. Read from the kernel's table only: nothing here touches a
//! mounted file system, because a network file system without its server would never answer.
//!
//! What a mount is for (`target_role`) follows from its place, by one short list:
//!
//! | place | role |
//! |---|---|
//! | `/` | `root` |
//! | `/boot`, `/efi` | `boot` |
//! | `/home`, `/root` | `home` |
//! | `/opt`, `/usr/local`, `/cvmfs`, `/sw`, `/software` | `software` |
//! | `/scratch` | `scratch` |
//! | `/data`, `/data01`, `/srv/data`, ... (a component that begins with `data`) | `data` |
//! | `/srv`, `/mnt/...`, `/storage`, `/export`, `/xrootd`, unless on the disk of the root | `data` |
//!
//! All others have no role.

use super::source::{ONE_TABLE, ReadError, Source};
use super::stacking::{self, Stacking};
use dtnforge_profiles::facts;
use std::collections::{BTreeMap, BTreeSet};

/// Types that hold no files of a site: views of the kernel, of memory, or of other mounts.
const NO_STORAGE: [&str; 25] = [
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "tmpfs",
    "ramfs",
    "cgroup",
    "cgroup2",
    "pstore",
    "efivarfs",
    "bpf",
    "securityfs",
    "debugfs",
    "tracefs",
    "configfs",
    "fusectl",
    "mqueue",
    "hugetlbfs",
    "autofs",
    "binfmt_misc",
    "rpc_pipefs",
    "nsfs",
    "selinuxfs",
    "overlay",
    "squashfs",
];

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounted {
    /// `major:minor`.
    pub(super) number: String,
    /// Mount point.
    pub(super) target: String,
    /// File system type.
    pub(super) fstype: String,
    /// What was mounted.
    pub(super) source: String,
    /// Options of the mount and of the file system.
    pub(super) options: String,
}

/// All mounts of this process, in order; a later one hides an earlier one at the same place.
///
/// # Errors
/// When the table cannot be read.
pub(super) fn table(source: &dyn Source) -> Result<Vec<Mounted>, ReadError> {
    source
        .text("/proc/self/mountinfo", ONE_TABLE)
        .map(|text| parse(&text))
}

/// `id parent major:minor root target options [optional...] - fstype source superoptions`; other lines are left out.
fn parse(mountinfo: &str) -> Vec<Mounted> {
    mountinfo.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mounted> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let number = mount.next()?;
    let target = mount.nth(1)?;
    let options = mount.next()?;
    let mut filesystem = filesystem.split(' ');
    let fstype = filesystem.next()?;
    let source = filesystem.next()?;
    Some(Mounted {
        number: number.to_owned(),
        target: unescaped(target),
        fstype: fstype.to_owned(),
        source: unescaped(source),
        options: joined(options, filesystem.next().unwrap_or_default()),
    })
}

/// Both lists of options, each word once.
fn joined(mount: &str, superblock: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in mount.split(',').chain(superblock.split(',')) {
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(",")
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescaped(text: &str) -> String {
    let mut out = text.to_owned();
    for (code, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        out = out.replace(code, plain);
    }
    out
}

/// The disks that hold the root file system, or our image. `None` when there is no root in the table.
pub(super) fn root_disks(
    source: &dyn Source,
    table: &[Mounted],
    stacking: &Stacking,
) -> Option<BTreeSet<String>> {
    let root = table.iter().rev().find(|mounted| mounted.target == "/")?;
    let mut disks = disks_of(source, root, stacking);
    disks.extend(stacking.ours(source));
    Some(disks)
}

fn disks_of(source: &dyn Source, mounted: &Mounted, stacking: &Stacking) -> BTreeSet<String> {
    stacking::device_of(source, &mounted.number, &mounted.source)
        .map(|device| stacking.below(source, &device))
        .unwrap_or_default()
}

/// The mounts that hold files, with their roles; the root always.
pub(super) fn read(
    source: &dyn Source,
    table: &[Mounted],
    stacking: &Stacking,
    root: &BTreeSet<String>,
) -> Vec<facts::Mount> {
    let statistics = statistics(source, table);
    let mut seen = BTreeSet::new();
    let mut mounts: Vec<facts::Mount> = table
        .iter()
        .rev()
        .filter(|mounted| holds_files(mounted))
        .filter(|mounted| seen.insert(mounted.target.clone()))
        .map(|mounted| {
            let disks = disks_of(source, mounted, stacking);
            let system = disks.iter().any(|disk| root.contains(disk));
            facts::Mount {
                fstype: Some(mounted.fstype.clone()),
                source_kind: Some(source_kind(&mounted.fstype, &disks).to_owned()),
                target_role: role(&mounted.target, system).map(str::to_owned),
                target: Some(mounted.target.clone()),
                options: Some(mounted.options.clone().into()),
                mountstats: statistics.get(&mounted.target).map(|text| text.as_str().into()),
                disks: Some(disks)
                    .filter(|disks| !disks.is_empty())
                    .map(|disks| disks.into_iter().collect()),
                ..facts::Mount::default()
            }
        })
        .collect();
    mounts.reverse();
    mounts
}

/// Whether a site could keep files there. What is below /run is the system's own, or gone at the next boot.
fn holds_files(mounted: &Mounted) -> bool {
    let of_a_site = !NO_STORAGE.contains(&mounted.fstype.as_str()) && !mounted.target.starts_with("/run/");
    of_a_site || mounted.target == "/"
}

fn source_kind(fstype: &str, disks: &BTreeSet<String>) -> &'static str {
    match fstype {
        "nfs" | "nfs4" => "nfs-server",
        "cifs" | "smb3" => "smb-server",
        "ceph" => "ceph",
        "lustre" => "lustre",
        "beegfs" => "beegfs",
        "gpfs" => "gpfs",
        _ if !disks.is_empty() => "local",
        "zfs" | "btrfs" => "local",
        "tmpfs" | "ramfs" | "rootfs" => "memory",
        _ => "other",
    }
}

/// What a mount is for; see the table of this module. `system`: it lies on the disk of the root.
fn role(target: &str, system: bool) -> Option<&'static str> {
    if target == "/" {
        return Some("root");
    }
    let parts: Vec<&str> = target.split('/').filter(|part| !part.is_empty()).collect();
    let first = *parts.first()?;
    match first {
        "boot" | "efi" => Some("boot"),
        "home" | "root" => Some("home"),
        "opt" | "cvmfs" | "sw" | "software" => Some("software"),
        "usr" if parts.get(1) == Some(&"local") => Some("software"),
        "scratch" => Some("scratch"),
        "var" | "usr" | "etc" | "run" => None,
        _ if parts.iter().any(|part| part.starts_with("data")) => Some("data"),
        "srv" | "mnt" | "storage" | "export" | "xrootd" if !system => Some("data"),
        _ => None,
    }
}

/// What /proc/self/mountstats says of each NFS mount, as `statvers=1.1; pnfs=not configured`.
fn statistics(source: &dyn Source, table: &[Mounted]) -> BTreeMap<String, String> {
    if !table.iter().any(|mounted| mounted.fstype.starts_with("nfs")) {
        return BTreeMap::new();
    }
    let text = source
        .text("/proc/self/mountstats", ONE_TABLE)
        .unwrap_or_default();
    parse_statistics(&text)
}

fn parse_statistics(mountstats: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut target = None;
    for line in mountstats.lines() {
        if let Some(rest) = line.strip_prefix("device ") {
            target = rest
                .split_once(" mounted on ")
                .and_then(|(_, rest)| rest.split_once(" with fstype nfs"))
                .map(|(target, rest)| (unescaped(target), rest));
            if let Some((target, rest)) = &target {
                let version = rest.split_whitespace().find(|word| word.starts_with("statvers="));
                all.insert(target.clone(), version.unwrap_or_default().to_owned());
            }
        } else if let Some((target, _)) = &target
            && let Some(layout) = pnfs(line)
            && let Some(entry) = all.get_mut(target)
        {
            entry.push_str("; ");
            entry.push_str(layout);
        }
    }
    all
}

/// `pnfs=...` of a line `nfsv4: bm0=...,pnfs=not configured`.
fn pnfs(line: &str) -> Option<&str> {
    let fields = line.trim().strip_prefix("nfsv4:")?;
    fields.split(',').find(|field| field.starts_with("pnfs="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo_are_read_with_their_escapes() {
        let text = "36 35 98:0 /sub /mnt/my\\040data rw,noatime shared:1 master:2 - ext3 /dev/sda\\0401 rw,errors=continue\n\
                    40 1 0:21 / /proc rw - proc proc rw\n\
                    cut line\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].target, "/mnt/my data");
        assert_eq!(mounts[0].source, "/dev/sda 1");
        assert_eq!(mounts[0].options, "rw,noatime,errors=continue");
        assert_eq!(mounts[0].number, "98:0");
        assert_eq!(mounts[1].fstype, "proc");
    }

    #[test]
    fn the_place_of_a_mount_says_what_it_is_for() {
        for (target, system, expected) in [
            ("/", true, Some("root")),
            ("/data", false, Some("data")),
            ("/data01", true, Some("data")),
            ("/srv/data/pool", true, Some("data")),
            ("/srv", true, None),
            ("/srv", false, Some("data")),
            ("/mnt/matrix", false, Some("data")),
            ("/home/data", false, Some("home")),
            ("/usr/local", true, Some("software")),
            ("/boot/efi", true, Some("boot")),
            ("/var/lib/database", true, None),
            ("/var", true, None),
            ("/scratch", false, Some("scratch")),
        ] {
            assert_eq!(role(target, system), expected, "{target} {system}");
        }
    }

    #[test]
    fn the_layout_of_each_nfs_mount_is_kept_and_no_other_line() {
        let text = "device rootfs mounted on / with fstype rootfs\n\
                    device server:/a mounted on /data with fstype nfs4 statvers=1.1\n\
                    \topts:\trw,vers=4.1\n\
                    \tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,acl=0x3,sessions,pnfs=LAYOUT_FLEX_FILES\n\
                    device server:/b mounted on /home with fstype nfs statvers=1.1\n\
                    \tnfsv4:\tbm0=0x1,pnfs=not configured\n";
        let all = parse_statistics(text);
        assert_eq!(all["/data"], "statvers=1.1; pnfs=LAYOUT_FLEX_FILES");
        assert_eq!(all["/home"], "statvers=1.1; pnfs=not configured");
        assert_eq!(all.len(), 2);
    }
}
