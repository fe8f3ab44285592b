//! Queue attributes of a disk: `read_ahead_kb`, `scheduler` and their like under `/sys/block/<disk>/queue`.
//!
//! A disk is named by its bus address and kernel name (`0000:02:00.0+nvme0n1`), or by the name alone. The bus address
//! must be in the path of the device, so that another disk that got the same name is not taken for it.

use super::attribute;
use super::{Door, DoorError, present};
use crate::host::Host;
use dtnforge_profiles::device::DeviceId;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::path::{Path, PathBuf};

/// The door to block devices.
#[derive(Debug)]
pub struct BlockDoor {
    host: Host,
}

/// The kernel name of the disk with this identity; `None` when there is none at that bus address.
pub fn find(host: &Host, id: &DeviceId) -> Option<String> {
    let name = id.suffix().unwrap_or(id.as_str());
    if name.starts_with('.') {
        return None;
    }
    let dir = host.path(&format!("/sys/block/{name}"));
    if !dir.is_dir() {
        return None;
    }
    let at_bus = |path: &Path| {
        std::fs::canonicalize(path).is_ok_and(|real| real.iter().any(|part| part == id.bus_path()))
    };
    let found = id.suffix().is_none() || at_bus(&dir) || at_bus(&dir.join("device"));
    found.then(|| name.to_owned())
}

/// The identity of a disk: its PCI address and kernel name, or the name alone where it has no such address. `None`
/// when the name cannot be one.
pub fn identity(host: &Host, name: &str) -> Option<DeviceId> {
    let dir = host.path(&format!("/sys/block/{name}"));
    let bus = [dir.join("device"), dir].iter().find_map(|path| {
        let real = std::fs::canonicalize(path).ok()?;
        let bus = real
            .iter()
            .rev()
            .filter_map(|part| part.to_str())
            .find(|part| is_pci_address(part))?;
        Some(bus.to_owned())
    });
    let text = bus.map_or_else(|| name.to_owned(), |bus| format!("{bus}+{name}"));
    text.parse().ok()
}

/// Whether a directory is a PCI function: `0000:02:00.0`.
fn is_pci_address(part: &str) -> bool {
    let shape: String = part
        .chars()
        .map(|c| if c.is_ascii_hexdigit() { 'x' } else { c })
        .collect();
    shape == "xxxx:xx:xx.x" || shape == "xxxxx:xx:xx.x"
}

impl BlockDoor {
    /// The door of `host`.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    /// The attribute's file; `None` when the disk is gone.
    fn file(&self, knob: &KnobId) -> Result<Option<PathBuf>, DoorError> {
        let KnobId::Block(id, key) = knob else {
            return Err(DoorError::wrong_door(knob));
        };
        if key.contains('/') {
            return Err(DoorError::wrong_door(knob));
        }
        let disk = find(&self.host, id);
        Ok(disk.map(|name| self.host.path(&format!("/sys/block/{name}/queue/{key}"))))
    }
}

/// The chosen word of a list like `[none] mq-deadline kyber`, or the text itself where none is chosen.
fn chosen(value: &Value) -> Value {
    let bracketed = |word: &str| Some(Value::new(word.strip_prefix('[')?.strip_suffix(']')?));
    value
        .as_str()
        .split(' ')
        .find_map(bracketed)
        .unwrap_or_else(|| value.clone())
}

/// Whether a list offers `word`; a text without a chosen word is no list and offers all.
fn offers(list: &Value, word: &Value) -> bool {
    let words = || list.as_str().split(' ');
    !words().any(|item| item.starts_with('['))
        || words().any(|item| item.trim_matches(['[', ']']) == word.as_str())
}

impl Door for BlockDoor {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        let Some(file) = self.file(knob)? else {
            return Ok(Reading::Absent);
        };
        Ok(match attribute::read(knob, &file)? {
            Reading::Is(value) => Reading::Is(chosen(&value)),
            other => other,
        })
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        Ok(Undo::Write(present(knob, self.read(knob)?)?))
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        let vanished = || DoorError::Vanished { knob: knob.clone() };
        let file = self.file(knob)?.ok_or_else(vanished)?;
        // Old kernels take a scheduler that they do not have for the present one, without an error.
        if let Reading::Is(list) = attribute::read(knob, &file)?
            && !offers(&list, value)
        {
            return Err(DoorError::invalid(knob, value, &format!("offered: {list}")));
        }
        attribute::write(knob, &file, value)
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        match undo {
            Undo::Write(before) if self.read(knob)? == Reading::Is(before.clone()) => Ok(()),
            Undo::Write(before) => self.write(knob, before),
            _ => Err(DoorError::foreign_undo(knob, undo)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn host() -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let queue = dir
            .path()
            .join("sys/devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1/queue");
        std::fs::create_dir_all(&queue).unwrap();
        std::fs::write(queue.join("read_ahead_kb"), "128\n").unwrap();
        std::fs::write(queue.join("scheduler"), "[none] mq-deadline kyber\n").unwrap();
        std::fs::create_dir_all(dir.path().join("sys/block")).unwrap();
        symlink(
            "../devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1",
            dir.path().join("sys/block/nvme0n1"),
        )
        .unwrap();
        let host = Host::at(dir.path(), None);
        (dir, host)
    }

    fn knob(text: &str) -> KnobId {
        text.parse().unwrap()
    }

    #[test]
    fn a_disk_is_found_by_bus_address_and_name_together() {
        let (_dir, host) = host();
        let id = |text: &str| text.parse::<DeviceId>().unwrap();
        assert_eq!(
            find(&host, &id("0000:02:00.0+nvme0n1")).as_deref(),
            Some("nvme0n1")
        );
        assert_eq!(find(&host, &id("nvme0n1")).as_deref(), Some("nvme0n1"));
        assert_eq!(find(&host, &id("0000:03:00.0+nvme0n1")), None);
        assert_eq!(find(&host, &id("0000:02:00.0+..")), None);
        assert_eq!(find(&host, &id("sda")), None);
    }

    #[test]
    fn the_identity_of_a_disk_finds_it_again() {
        let (dir, host) = host();
        let id = identity(&host, "nvme0n1").unwrap();
        assert_eq!(id.as_str(), "0000:02:00.0+nvme0n1");
        assert_eq!(find(&host, &id).as_deref(), Some("nvme0n1"));
        std::fs::create_dir_all(dir.path().join("sys/block/md0")).unwrap();
        let array = identity(&host, "md0").unwrap();
        assert_eq!(array.as_str(), "md0", "a disk without a bus of its own");
        assert_eq!(find(&host, &array).as_deref(), Some("md0"));
    }

    #[test]
    fn read_ahead_is_written_and_taken_back() {
        let (_dir, host) = host();
        let door = BlockDoor::new(&host);
        let knob = knob("block/0000:02:00.0+nvme0n1:read_ahead_kb");
        let undo = door.undo_for(&knob).unwrap();
        door.write(&knob, &"4096".into()).unwrap();
        assert_eq!(door.read(&knob).unwrap(), Reading::Is("4096".into()));
        door.undo(&knob, &undo).unwrap();
        assert_eq!(door.read(&knob).unwrap(), Reading::Is("128".into()));
    }

    #[test]
    fn a_scheduler_reads_as_the_chosen_word_and_one_that_is_not_offered_is_refused() {
        let (_dir, host) = host();
        let door = BlockDoor::new(&host);
        let knob = knob("block/nvme0n1:scheduler");
        assert_eq!(door.read(&knob).unwrap(), Reading::Is("none".into()));
        let error = door.write(&knob, &"noop".into()).unwrap_err().to_string();
        assert_eq!(
            error,
            "block/nvme0n1:scheduler: the kernel refused \"noop\": EINVAL: Invalid argument \
             (offered: [none] mq-deadline kyber)"
        );
        door.write(&knob, &"mq-deadline".into()).unwrap();
    }

    #[test]
    fn a_disk_that_is_gone_is_absent() {
        let (_dir, host) = host();
        let door = BlockDoor::new(&host);
        assert_eq!(
            door.read(&knob("block/sdz:read_ahead_kb")).unwrap(),
            Reading::Absent
        );
    }
}
