//! The machine as data: everything that QEMU's arguments depend on, and the names that its parts have.

use super::accel::Accel;
use super::disk::{DiskBus, DiskSpec, ImageFormat};
use super::nic::NicSpec;
use super::smbios::Credential;

/// Descriptor of the serial console (ttyS0) in QEMU. High, so that it meets no descriptor that is already open.
pub const CONSOLE_FD: i32 = 100;
/// Descriptor of the shell's serial port (ttyS1) in QEMU.
pub const SHELL_FD: i32 = 101;
/// Descriptor of the control socket in QEMU.
pub const QMP_FD: i32 = 102;
/// Block node of the system disk.
pub const SYSTEM_NODE: &str = "system";
/// Block node of the firmware variables.
pub const VARS_NODE: &str = "vars";
/// Free slots for devices that are plugged in later.
pub const HOTPLUG_PORTS: usize = 4;

/// A file that backs a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveFile {
    /// Path, absolute or relative to the throw-away directory.
    pub path: String,
    /// Its format.
    pub format: ImageFormat,
}

/// A data disk with the file behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDisk {
    /// What the guest sees.
    pub spec: DiskSpec,
    /// What is behind it.
    pub file: DriveFile,
}

/// How the NoCloud seed is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeedDrive {
    /// An ISO image, as a CD drive.
    Cdrom(String),
    /// A FAT image, as a read-only disk.
    Disk(String),
}

/// A whole machine, ready to be started.
#[derive(Debug, Clone)]
pub struct Machine {
    /// How instructions are run.
    pub accel: Accel,
    /// Virtual processors.
    pub cpus: u16,
    /// Memory in MiB.
    pub ram_mib: u32,
    /// No hypervisor bit, a server's SMBIOS and ACPI strings.
    pub bare_metal: bool,
    /// Firmware code, read-only.
    pub firmware_code: String,
    /// Firmware variables, qcow2 so that a snapshot can hold them.
    pub firmware_vars: String,
    /// The image's overlay, qcow2.
    pub system_disk: String,
    /// How the system disk is attached.
    pub system_bus: DiskBus,
    /// Data disks.
    pub disks: Vec<DataDisk>,
    /// Network cards.
    pub nics: Vec<NicSpec>,
    /// NoCloud seed.
    pub seed: Option<SeedDrive>,
    /// Words added to the kernel's command line.
    pub cmdline_extra: Vec<String>,
    /// Credentials for PID 1.
    pub credentials: Vec<Credential>,
    /// An i6300esb watchdog that resets the machine.
    pub watchdog: bool,
    /// End instead of starting again when the guest reboots.
    pub no_reboot: bool,
    /// Have free slots for later devices.
    pub hotplug: bool,
}

/// Name of the `number`th card, from 1.
pub fn nic_id(number: u8) -> String {
    format!("nic{number}")
}

/// Name of the network of the `number`th card, from 1.
pub fn netdev_id(number: u8) -> String {
    format!("net{number}")
}

/// Name of the `index`th free slot, from 0.
pub fn port_id(index: usize) -> String {
    format!("port{index}")
}
