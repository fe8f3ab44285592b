//! The machine as data, and the pure function that turns it into QEMU's arguments.
//!
//! File names are relative to the throw-away directory, in which QEMU runs, wherever the file lives there: so the same
//! machine gives the same arguments at every boot, and a saved snapshot only has to be copied to be started again.
//! What differs between boots (the forwarded port, sockets) is not an argument: ports are asked for over the control
//! socket, and sockets are inherited file descriptors with fixed numbers.

use serde_json::{Value, json};

use super::accel::Accel;
use super::disk::{DiskBus, DiskSpec, ImageFormat, block_node, drive_device};
use super::nic::NicSpec;
use super::smbios::{self, Credential};

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

/// QEMU's arguments for `machine`. Pure: nothing is looked up.
pub fn arguments(machine: &Machine) -> Vec<String> {
    let mut args = Args::default();
    board(&mut args, machine);
    firmware(&mut args, machine);
    smbios_tables(&mut args, machine);
    channels(&mut args);
    drives(&mut args, machine);
    network(&mut args, machine);
    extras(&mut args, machine);
    args.0
}

#[derive(Default)]
struct Args(Vec<String>);

impl Args {
    fn flag(&mut self, flag: &str) {
        self.0.push(flag.to_owned());
    }

    fn option(&mut self, flag: &str, value: impl ToString) {
        self.0.extend([flag.to_owned(), value.to_string()]);
    }

    fn device(&mut self, device: Value) {
        self.option("-device", device);
    }
}

fn board(args: &mut Args, machine: &Machine) {
    args.option("-name", "dtnforge");
    args.flag("-no-user-config");
    args.flag("-nodefaults");
    args.option("-display", "none");
    let mut board = String::from("q35,smm=off,vmport=off,pflash0=code,pflash1=vars");
    if machine.bare_metal {
        // The kernel and tools print the ACPI owner; QEMU's own reads BOCHS.
        board.push_str(",x-oem-id=RKFRGE,x-oem-table-id=RS2240");
    }
    args.option("-machine", board);
    args.option("-accel", machine.accel.qemu_option());
    args.option("-cpu", cpu(machine));
    args.option("-smp", machine.cpus);
    args.option("-m", machine.ram_mib);
    if machine.no_reboot {
        args.flag("-no-reboot");
    }
}

/// The processor: everything that the accelerator can do, without the signs of a hypervisor for a bare-metal look.
fn cpu(machine: &Machine) -> &'static str {
    match (machine.bare_metal, machine.accel) {
        (false, _) => "max",
        (true, Accel::Kvm) => "max,-hypervisor,kvm=off",
        (true, Accel::Tcg) => "max,-hypervisor,model-id=Server Processor 2.40GHz",
    }
}

fn firmware(args: &mut Args, machine: &Machine) {
    args.option(
        "-blockdev",
        block_node("code", &machine.firmware_code, ImageFormat::Raw, true),
    );
    args.option(
        "-blockdev",
        block_node(VARS_NODE, &machine.firmware_vars, ImageFormat::Qcow2, false),
    );
}

fn smbios_tables(args: &mut Args, machine: &Machine) {
    if machine.bare_metal {
        for table in smbios::server_tables() {
            args.option("-smbios", table);
        }
    }
    if !machine.cmdline_extra.is_empty() {
        let words = smbios::cmdline_extra(&machine.cmdline_extra.join(" "));
        args.option("-smbios", smbios::oem_string(&words));
    }
    for credential in &machine.credentials {
        args.option("-smbios", smbios::oem_string(&credential.to_string()));
    }
}

/// Two serial ports and the control socket, each over a descriptor that the parent hands down.
fn channels(args: &mut Args) {
    for (id, fd) in [("console", CONSOLE_FD), ("shell", SHELL_FD), ("control", QMP_FD)] {
        args.option("-chardev", format!("socket,id={id},fd={fd}"));
    }
    args.option("-serial", "chardev:console");
    args.option("-serial", "chardev:shell");
    args.option("-mon", "chardev=control,mode=control");
}

fn drives(args: &mut Args, machine: &Machine) {
    args.option(
        "-blockdev",
        block_node(SYSTEM_NODE, &machine.system_disk, ImageFormat::Qcow2, false),
    );
    let mut system = drive_device(machine.system_bus, "disk-system", SYSTEM_NODE);
    system["bootindex"] = json!(0);
    if machine.system_bus == DiskBus::Nvme {
        system["serial"] = json!("DTNSYSTEM");
    }
    args.device(system);
    for (index, disk) in machine.disks.iter().enumerate() {
        let node = format!("data{index}");
        args.option(
            "-blockdev",
            block_node(&node, &disk.file.path, disk.file.format, false),
        );
        args.device(disk.spec.device(&format!("disk{index}"), &node, index, None));
    }
    match &machine.seed {
        None => {}
        Some(SeedDrive::Cdrom(path)) => {
            args.option("-blockdev", block_node("seed", path, ImageFormat::Raw, true));
            args.device(json!({ "driver": "ide-cd", "id": "disk-seed", "drive": "seed" }));
        }
        Some(SeedDrive::Disk(path)) => {
            args.option("-blockdev", block_node("seed", path, ImageFormat::Raw, true));
            args.device(drive_device(DiskBus::Virtio, "disk-seed", "seed"));
        }
    }
}

fn network(args: &mut Args, machine: &Machine) {
    for (number, nic) in (1_u8..).zip(&machine.nics) {
        let netdev = nic.netdev(&netdev_id(number));
        let plugged = netdev.as_ref().map(|_| netdev_id(number));
        if let Some(netdev) = netdev {
            args.option("-netdev", netdev);
        }
        args.device(nic.device(&nic_id(number), plugged.as_deref(), number, None));
    }
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

fn extras(args: &mut Args, machine: &Machine) {
    args.option(
        "-object",
        json!({ "qom-type": "rng-random", "id": "random", "filename": "/dev/urandom" }),
    );
    args.device(json!({ "driver": "virtio-rng-pci", "rng": "random" }));
    if machine.watchdog {
        args.device(json!({ "driver": "i6300esb", "id": "watchdog" }));
        args.option("-action", "watchdog=reset");
    }
    if machine.hotplug {
        for index in 0..HOTPLUG_PORTS {
            let number = 16 + index;
            args.device(json!({
                "driver": "pcie-root-port", "id": port_id(index), "chassis": number, "slot": number,
            }));
        }
    }
}
