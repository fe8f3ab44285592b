//! One data disk of the guest: what was asked for, and the QEMU objects that make it.

use std::path::PathBuf;
use std::str::FromStr;

use serde_json::{Value, json};

use super::fields::{FieldError, Fields};
use super::size::{self, Size};

/// How a disk is attached, which decides its name in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBus {
    /// An NVMe controller with one namespace.
    Nvme,
    /// Virtio block.
    Virtio,
    /// A port of the board's SATA controller; cannot be plugged in later.
    Sata,
}

impl DiskBus {
    pub(crate) const NAMES: &str = "nvme, virtio or sata";
}

impl FromStr for DiskBus {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<DiskBus, FieldError> {
        match text {
            "nvme" => Ok(DiskBus::Nvme),
            "virtio" => Ok(DiskBus::Virtio),
            "sata" => Ok(DiskBus::Sata),
            other => Err(FieldError(format!(
                "{other:?} is no kind of disk, expected {}",
                DiskBus::NAMES
            ))),
        }
    }
}

/// A data disk as asked for by `--disk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSpec {
    /// How it is attached.
    pub bus: DiskBus,
    /// Size of a new disk; with `file`, made only when the file does not exist.
    pub size: Option<Size>,
    /// A file that outlives the guest; without it the disk is thrown away.
    pub file: Option<PathBuf>,
    /// Serial number that the guest reads, at most 20 letters; `None` gives a numbered one.
    pub serial: Option<String>,
    /// Logical block size in bytes, 512 or 4096.
    pub block: u16,
    /// Write-protected: firmware and guest can only read it.
    pub read_only: bool,
    /// The firmware tries it before the system disk.
    pub boot: bool,
}

const KEYS: &[&str] = &["size", "file", "serial", "block", "readonly", "boot"];

impl FromStr for DiskSpec {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<DiskSpec, FieldError> {
        let mut fields = Fields::parse(text)?;
        let kind = fields.kind.take().unwrap_or_default();
        let spec = DiskSpec {
            bus: kind.parse()?,
            size: fields.take_parsed("size", size::EXPECTED)?,
            file: fields.take("file").map(PathBuf::from),
            serial: fields.take("serial"),
            block: fields.take_parsed("block", BLOCK)?.unwrap_or(512),
            read_only: on_or_off(&mut fields, "readonly")?,
            boot: on_or_off(&mut fields, "boot")?,
        };
        fields.finish(KEYS)?;
        spec.checked()
    }
}

const BLOCK: &str = "512 or 4096";

/// A key that is `on` or, as without it, `off`.
fn on_or_off(fields: &mut Fields, key: &str) -> Result<bool, FieldError> {
    match fields.take(key).as_deref() {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(other) => Err(FieldError::value(key, other, "on or off")),
    }
}

impl DiskSpec {
    fn checked(self) -> Result<DiskSpec, FieldError> {
        if self.size.is_none() && self.file.is_none() {
            return Err(FieldError("a disk needs size=SIZE or file=PATH".into()));
        }
        if self.read_only && self.file.is_none() {
            return Err(FieldError(
                "readonly=on needs file=PATH: nothing else is on it".into(),
            ));
        }
        if ![512, 4096].contains(&self.block) {
            return Err(FieldError::value("block", &self.block.to_string(), BLOCK));
        }
        let printable = |serial: &String| {
            (1..=20).contains(&serial.len()) && serial.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if let Some(serial) = self.serial.as_ref().filter(|serial| !printable(serial)) {
            return Err(FieldError::value(
                "serial",
                serial,
                "1 to 20 printable ASCII letters",
            ));
        }
        Ok(self)
    }

    /// The serial number: its own, or the numbered one.
    pub fn serial(&self, index: usize) -> String {
        self.serial
            .clone()
            .unwrap_or_else(|| format!("DTNDISK{index:04}"))
    }

    /// The device object `id` over the block node `node`; the `index`th data disk, on `bus` when one is given.
    pub fn device(&self, id: &str, node: &str, index: usize, bus: Option<&str>) -> Value {
        let mut device = drive_device(self.bus, id, node);
        device["serial"] = json!(self.serial(index));
        if self.block != 512 {
            device["logical_block_size"] = json!(self.block);
            device["physical_block_size"] = json!(self.block);
        }
        if let Some(bus) = bus {
            device["bus"] = json!(bus);
        }
        device
    }
}

/// The device that shows block node `node` to the guest.
pub fn drive_device(bus: DiskBus, id: &str, node: &str) -> Value {
    let driver = match bus {
        DiskBus::Nvme => "nvme",
        DiskBus::Virtio => "virtio-blk-pci",
        DiskBus::Sata => "ide-hd",
    };
    json!({ "driver": driver, "id": id, "drive": node })
}

/// The form of an image file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// Bytes of the disk as they are.
    Raw,
    /// QEMU's copy-on-write form.
    Qcow2,
}

impl ImageFormat {
    /// QEMU's name of the format.
    pub fn name(self) -> &'static str {
        match self {
            ImageFormat::Raw => "raw",
            ImageFormat::Qcow2 => "qcow2",
        }
    }

    /// The format of a file that begins with `head`.
    pub fn of(head: &[u8]) -> ImageFormat {
        if head.starts_with(b"QFI\xfb") {
            ImageFormat::Qcow2
        } else {
            ImageFormat::Raw
        }
    }
}

/// The block node `node` over `path`. Unwritten space stays unallocated and discards reach the file.
pub fn block_node(node: &str, path: &str, format: ImageFormat, read_only: bool) -> Value {
    json!({
        "node-name": node, "driver": format.name(), "read-only": read_only, "discard": "unmap",
        "file": { "driver": "file", "filename": path, "discard": "unmap" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nvme_disk_with_4k_blocks_reads_as_one() {
        let disk: DiskSpec = "nvme,size=4G,serial=S3RIAL,block=4096".parse().unwrap();
        assert_eq!(
            disk.device("disk0", "data0", 0, Some("hp1")),
            json!({ "driver": "nvme", "id": "disk0", "drive": "data0", "serial": "S3RIAL", "bus": "hp1",
                    "logical_block_size": 4096, "physical_block_size": 4096 })
        );
    }

    #[test]
    fn a_disk_without_a_serial_is_numbered() {
        let disk: DiskSpec = "sata,size=1G".parse().unwrap();
        assert_eq!(disk.serial(2), "DTNDISK0002");
    }

    #[test]
    fn a_path_with_commas_and_quotes_needs_no_escape_in_json() {
        let node = block_node("n", "/a,b/\"c\"", ImageFormat::Raw, true);
        assert_eq!(node["file"]["filename"], "/a,b/\"c\"");
    }

    #[test]
    fn what_a_disk_cannot_be_is_refused_with_the_reason() {
        let cases = [
            (
                "floppy,size=1M",
                "is no kind of disk, expected nvme, virtio or sata",
            ),
            ("size=1G", "is no kind of disk"),
            ("nvme", "a disk needs size=SIZE or file=PATH"),
            ("nvme,size=many", "expected a size such as 512M"),
            ("virtio,size=1G,block=1000", "expected 512 or 4096"),
            ("virtio,size=1G,serial=a b", "1 to 20 printable ASCII letters"),
            (
                "sata,size=1G,bus=3",
                "unknown key \"bus\", expected one of: size, file, serial, block, readonly, boot",
            ),
            ("virtio,size=1G,readonly=on", "readonly=on needs file=PATH"),
            ("virtio,size=1G,boot=yes", "boot=\"yes\": expected on or off"),
        ];
        for (text, message) in cases {
            let error = text.parse::<DiskSpec>().unwrap_err().0;
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn qcow2_is_told_by_its_first_bytes() {
        assert_eq!(ImageFormat::of(b"QFI\xfb\0\0\0\x03"), ImageFormat::Qcow2);
        assert_eq!(ImageFormat::of(b""), ImageFormat::Raw);
    }
}
