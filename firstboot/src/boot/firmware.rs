//! The firmware's own boot entries for this disk.
//!
//! A disk image is started by its default path, and a firmware goes on to its next entry when that one fails: usually
//! to nothing, or to its shell. So two entries are added behind the one that started this boot: the boot loader under
//! its own name, and behind it the stock UKI itself. A boot loader that is gone, or an entry that it cannot load, then
//! ends in stock at once. `efibootmgr` reads and writes them; what it did is read back.

use crate::boot::efi;
use crate::host::{CommandError, Host};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Name and program of each entry that a node has, in their order.
const WANTED: [(&str, &str); 2] = [
    ("dtnforge", r"\EFI\systemd\systemd-bootx64.efi"),
    ("dtnforge stock", r"\EFI\Linux\stock.efi"),
];
/// A firmware that writes to flash takes its time.
const LIMIT: Duration = Duration::from_secs(30);
const VARIABLES: &str = "/sys/firmware/efi/efivars";

/// Why the entries are not there.
#[derive(Debug, Error)]
pub enum FirmwareError {
    /// No EFI variables, or the boot did not come from a partition.
    #[error("this boot came from no partition of an EFI firmware")]
    NotFromDisk,
    /// The partition is not among the disks.
    #[error("the partition {uuid} that this boot came from: {source}")]
    NoPartition {
        /// Its unique id.
        uuid: String,
        /// What the system said.
        source: io::Error,
    },
    /// `efibootmgr` failed.
    #[error(
        "{0}\nhint: the node boots without them, by the disk's default path; `efibootmgr -v` lists what there is"
    )]
    Command(#[from] CommandError),
    /// The firmware took an entry and does not have it.
    #[error(
        "the firmware took the entry {0:?} and does not list it\nhint: are its variables kept? see `efibootmgr -v`"
    )]
    NotKept(&'static str),
    /// The order did not read back.
    #[error("the boot order reads {found} after {wanted} was written")]
    Order {
        /// As written.
        wanted: String,
        /// As read.
        found: String,
    },
}

/// One entry as `efibootmgr -v` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Four hexadecimal digits.
    number: String,
    label: String,
    /// The device path as text.
    path: String,
}

/// What the firmware has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Listed {
    current: Option<String>,
    order: Vec<String>,
    entries: Vec<Entry>,
}

impl Listed {
    fn parse(text: &str) -> Self {
        let mut listed = Self::default();
        for line in text.lines() {
            if let Some(current) = line.strip_prefix("BootCurrent: ") {
                listed.current = Some(current.trim().to_owned());
            } else if let Some(order) = line.strip_prefix("BootOrder: ") {
                listed.order = order.split(',').map(|number| number.trim().to_owned()).collect();
            } else {
                listed.entries.extend(entry_of(line));
            }
        }
        listed
    }

    /// The number of the entry that starts `program` of the partition `uuid` under this name.
    fn number(&self, label: &str, program: &str, uuid: &str) -> Option<&str> {
        let (uuid, program) = (uuid.to_ascii_lowercase(), program.to_ascii_lowercase());
        let is_it = |entry: &&Entry| {
            let path = entry.path.to_ascii_lowercase();
            entry.label == label && path.contains(&uuid) && path.contains(&program)
        };
        self.entries.iter().find(is_it).map(|entry| entry.number.as_str())
    }

    /// The order with `numbers`, those that are not in it, right behind the entry that started this boot, so that what
    /// the administrator put before it, such as the network, stays before it; at the end when that entry is not known.
    fn order_with(&self, numbers: &[&str]) -> Vec<String> {
        let missing: Vec<String> = numbers
            .iter()
            .filter(|number| !self.order.iter().any(|known| known == *number))
            .map(|number| (*number).to_owned())
            .collect();
        let behind = self
            .current
            .as_ref()
            .and_then(|current| self.order.iter().position(|known| known == current));
        let at = behind.map_or(self.order.len(), |place| place + 1);
        let mut order = self.order.clone();
        order.splice(at..at, missing);
        order
    }
}

/// `Boot0003* name<TAB>path`; the asterisk is a space where an entry is inactive.
fn entry_of(line: &str) -> Option<Entry> {
    let rest = line.strip_prefix("Boot")?;
    let (number, rest) = (rest.get(..4)?, rest.get(4..)?);
    if !number.chars().all(|digit| digit.is_ascii_hexdigit()) || !rest.starts_with(['*', ' ']) {
        return None;
    }
    let (label, path) = rest[1..].split_once('\t')?;
    Some(Entry {
        number: number.to_owned(),
        label: label.trim().to_owned(),
        path: path.to_owned(),
    })
}

/// Adds what is missing and reads it back. Returns what was done, in words; nothing is written where all is there.
///
/// # Errors
/// When this boot came from no partition, or the firmware does not take or keep an entry.
pub fn add_entries(host: &Host) -> Result<String, FirmwareError> {
    let uuid = efi::loader(host, "LoaderDevicePartUUID")
        .filter(|_| host.path(VARIABLES).is_dir())
        .ok_or(FirmwareError::NotFromDisk)?
        .to_ascii_lowercase();
    let mut listed = list(host)?;
    let mut made = Vec::new();
    for (label, program) in WANTED {
        if listed.number(label, program, &uuid).is_none() {
            create(host, &uuid, label, program)?;
            listed = list(host)?;
            made.push(label);
        }
    }
    let numbers = WANTED
        .into_iter()
        .map(|(label, program)| {
            listed
                .number(label, program, &uuid)
                .ok_or(FirmwareError::NotKept(label))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let order = listed.order_with(&numbers);
    if order == listed.order {
        return Ok(format!(
            "the firmware has its entries for this disk, Boot{}",
            numbers.join(" and Boot")
        ));
    }
    let wanted = order.join(",");
    host.run("efibootmgr", &["--quiet", "--bootorder", &wanted], LIMIT)?;
    let found = list(host)?.order.join(",");
    if found != wanted {
        return Err(FirmwareError::Order { wanted, found });
    }
    Ok(format!(
        "added boot entries to the firmware for this disk: Boot{} (made now: {}), boot order {wanted}; \
         `firmware_entries = \"leave\"` in site.toml keeps from it, `efibootmgr -B -b NUMBER` removes one",
        numbers.join(" and Boot"),
        if made.is_empty() {
            "none".to_owned()
        } else {
            made.join(", ")
        },
    ))
}

fn list(host: &Host) -> Result<Listed, FirmwareError> {
    Ok(Listed::parse(&host.run("efibootmgr", &["-v"], LIMIT)?))
}

fn create(host: &Host, uuid: &str, label: &str, program: &str) -> Result<(), FirmwareError> {
    let (disk, number) = place(host, uuid).map_err(|source| FirmwareError::NoPartition {
        uuid: uuid.to_owned(),
        source,
    })?;
    let disk = format!("/dev/{disk}");
    let args = [
        "--quiet",
        "--create-only",
        "--disk",
        &disk,
        "--part",
        &number,
        "--label",
        label,
        "--loader",
        program,
    ];
    host.run("efibootmgr", &args, LIMIT)?;
    Ok(())
}

/// The disk of the partition with this id, by the kernel's name, and the partition's number on it.
fn place(host: &Host, uuid: &str) -> io::Result<(String, String)> {
    let link = fs::read_link(host.path(&format!("/dev/disk/by-partuuid/{uuid}")))?;
    let partition = name_of(&link)?;
    let sys = host.path("/sys/class/block").join(&partition);
    let number = fs::read_to_string(sys.join("partition"))?;
    let in_disk: PathBuf = fs::read_link(&sys)?;
    let disk = in_disk
        .parent()
        .ok_or_else(|| io::Error::other(format!("{partition} is part of no disk")))?;
    Ok((name_of(disk)?, number.trim().to_owned()))
}

fn name_of(path: &Path) -> io::Result<String> {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .ok_or_else(|| io::Error::other(format!("{} has no name", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3c0f3e0a-0d2b-4f4f-8b1c-f0a1d2e3c4b5";
    const FRESH: &str = "BootCurrent: 0001\nTimeout: 0 seconds\nBootOrder: 0002,0001,0000\n\
        Boot0000* UiApp\tFvVol(7cb8)/FvFile(462c)\n\
        Boot0001* UEFI Misc Device\tPciRoot(0x0)/Pci(0x3,0x0){auto_created_boot_option}\n      dp: 02 01 / 7f\n\
        Boot0002* UEFI PXEv4\tPciRoot(0x0)/Pci(0x2,0x0)/MAC(525400123456,1)\n";

    fn with_ours() -> String {
        let upper = UUID.to_ascii_uppercase();
        format!(
            "{FRESH}Boot0003* dtnforge\tHD(1,GPT,{upper},0x800,0x84000)/\\EFI\\systemd\\systemd-bootx64.efi\n\
             Boot0004  dtnforge stock\tHD(1,GPT,{UUID},0x800,0x84000)/File(\\EFI\\Linux\\stock.efi)\n"
        )
    }

    fn number(listed: &Listed, at: usize) -> Option<&str> {
        let (label, program) = WANTED[at];
        listed.number(label, program, UUID)
    }

    #[test]
    fn a_list_is_read_with_its_order_and_the_entry_that_started_this_boot() {
        let listed = Listed::parse(FRESH);
        assert_eq!(listed.current.as_deref(), Some("0001"));
        assert_eq!(listed.order, ["0002", "0001", "0000"]);
        let labels: Vec<&str> = listed.entries.iter().map(|entry| entry.label.as_str()).collect();
        assert_eq!(labels, ["UiApp", "UEFI Misc Device", "UEFI PXEv4"]);
        assert_eq!(number(&listed, 0), None);
        assert_eq!(Listed::parse("no EFI here\nBoot00\nBootä"), Listed::default());
    }

    #[test]
    fn our_entries_are_known_by_name_partition_and_program() {
        let listed = Listed::parse(&with_ours());
        assert_eq!(
            (number(&listed, 0), number(&listed, 1)),
            (Some("0003"), Some("0004"))
        );
        let elsewhere = Listed::parse(&with_ours().replace("3c0f", "ffff").replace("3C0F", "FFFF"));
        assert_eq!(
            number(&elsewhere, 1),
            None,
            "an entry of another disk is not ours"
        );
    }

    #[test]
    fn they_go_right_behind_the_entry_that_started_this_boot() {
        let listed = Listed::parse(&with_ours());
        assert_eq!(
            listed.order_with(&["0003", "0004"]),
            ["0002", "0001", "0003", "0004", "0000"]
        );
        let unknown = Listed {
            current: None,
            ..listed.clone()
        };
        assert_eq!(
            unknown.order_with(&["0003", "0004"]),
            ["0002", "0001", "0000", "0003", "0004"]
        );
        let placed = Listed {
            order: vec!["0003".into(), "0001".into(), "0004".into()],
            ..listed
        };
        assert_eq!(
            placed.order_with(&["0003", "0004"]),
            ["0003", "0001", "0004"],
            "the administrator's order stays"
        );
    }

    #[test]
    fn a_partition_is_found_with_its_disk_and_number() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        let (by_id, disk) = (
            host.path("/dev/disk/by-partuuid"),
            host.path("/sys/devices/nvme0n1/nvme0n1p1"),
        );
        fs::create_dir_all(&by_id).unwrap();
        fs::create_dir_all(&disk).unwrap();
        fs::create_dir_all(host.path("/sys/class/block")).unwrap();
        std::os::unix::fs::symlink("../../nvme0n1p1", by_id.join(UUID)).unwrap();
        std::os::unix::fs::symlink(
            "../../devices/nvme0n1/nvme0n1p1",
            host.path("/sys/class/block/nvme0n1p1"),
        )
        .unwrap();
        fs::write(disk.join("partition"), "1\n").unwrap();
        assert_eq!(
            place(&host, UUID).unwrap(),
            ("nvme0n1".to_owned(), "1".to_owned())
        );
        let error = place(&host, "0000").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
