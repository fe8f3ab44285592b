//! The pure function that turns a machine into QEMU's arguments.
//!
//! File names are relative to the throw-away directory, in which QEMU runs, wherever the file lives there: so the same
//! machine gives the same arguments at every boot, and a saved snapshot only has to be copied to be started again.
//! What differs between boots (the forwarded port, sockets) is not an argument: ports are asked for over the control
//! socket, and sockets are inherited file descriptors with fixed numbers.

use serde_json::{Value, json};

use super::accel::Accel;
use super::disk::{DiskBus, ImageFormat, block_node, drive_device};
use super::machine::{
    CONSOLE_FD, HOTPLUG_PORTS, Machine, QMP_FD, SHELL_FD, SYSTEM_NODE, SeedDrive, VARS_NODE, netdev_id,
    nic_id, port_id,
};
use super::smbios;

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
    system["bootindex"] = json!(boot_order(machine).count());
    if machine.system_bus == DiskBus::Nvme {
        system["serial"] = json!("DTNSYSTEM");
    }
    args.device(system);
    for (index, disk) in machine.disks.iter().enumerate() {
        let node = format!("data{index}");
        args.option(
            "-blockdev",
            block_node(&node, &disk.file.path, disk.file.format, disk.spec.read_only),
        );
        let mut device = disk.spec.device(&format!("disk{index}"), &node, index, None);
        if let Some(order) = boot_order(machine).position(|first| first == index) {
            device["bootindex"] = json!(order);
        }
        args.device(device);
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

/// The data disks that the firmware tries before the system disk, in their order.
fn boot_order(machine: &Machine) -> impl Iterator<Item = usize> {
    let numbered = machine.disks.iter().enumerate();
    numbered
        .filter(|(_, disk)| disk.spec.boot)
        .map(|(index, _)| index)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            accel: Accel::Tcg,
            cpus: 2,
            ram_mib: 2048,
            bare_metal: false,
            firmware_code: "code.fd".into(),
            firmware_vars: "vars.qcow2".into(),
            system_disk: "system.qcow2".into(),
            system_bus: DiskBus::Virtio,
            disks: Vec::new(),
            nics: vec!["model=virtio,speed=100000".parse().unwrap()],
            seed: None,
            cmdline_extra: Vec::new(),
            credentials: Vec::new(),
            watchdog: false,
            no_reboot: false,
            hotplug: false,
        }
    }

    /// The arguments as a reader would write them: one option a line.
    fn text(machine: &Machine) -> String {
        arguments(machine).join(" ").replace(" -", "\n-") + "\n"
    }

    #[test]
    fn a_plain_machine_has_exactly_these_arguments() {
        let expected = r#"-name dtnforge
-no-user-config
-nodefaults
-display none
-machine q35,smm=off,vmport=off,pflash0=code,pflash1=vars
-accel tcg,thread=multi,tb-size=1024
-cpu max
-smp 2
-m 2048
-blockdev {"discard":"unmap","driver":"raw","file":{"discard":"unmap","driver":"file","filename":"code.fd"},"node-name":"code","read-only":true}
-blockdev {"discard":"unmap","driver":"qcow2","file":{"discard":"unmap","driver":"file","filename":"vars.qcow2"},"node-name":"vars","read-only":false}
-chardev socket,id=console,fd=100
-chardev socket,id=shell,fd=101
-chardev socket,id=control,fd=102
-serial chardev:console
-serial chardev:shell
-mon chardev=control,mode=control
-blockdev {"discard":"unmap","driver":"qcow2","file":{"discard":"unmap","driver":"file","filename":"system.qcow2"},"node-name":"system","read-only":false}
-device {"bootindex":0,"drive":"system","driver":"virtio-blk-pci","id":"disk-system"}
-netdev {"id":"net1","type":"user"}
-device {"driver":"virtio-net-pci","duplex":"full","id":"nic1","mac":"52:54:00:d7:00:01","netdev":"net1","romfile":"","speed":100000}
-object {"filename":"/dev/urandom","id":"random","qom-type":"rng-random"}
-device {"driver":"virtio-rng-pci","rng":"random"}
"#;
        assert_eq!(text(&machine()), expected);
    }

    #[test]
    fn a_bare_metal_look_takes_the_hypervisor_out_of_processor_tables_and_acpi() {
        let text = text(&Machine {
            bare_metal: true,
            ..machine()
        });
        assert!(
            text.contains("-cpu max,-hypervisor,model-id=Server Processor"),
            "{text}"
        );
        assert!(text.contains(",x-oem-id=RKFRGE,x-oem-table-id=RS2240"), "{text}");
        assert!(text.contains("-smbios file=smbios-type0.bin\n"), "{text}");
        let kvm = arguments(&Machine {
            bare_metal: true,
            accel: Accel::Kvm,
            ..machine()
        });
        assert!(kvm.contains(&"max,-hypervisor,kvm=off".to_owned()), "{kvm:?}");
    }

    #[test]
    fn kernel_words_and_credentials_travel_in_type_11() {
        let machine = Machine {
            cmdline_extra: vec!["a=1,2".into(), "quiet".into()],
            credentials: vec!["name=value".parse().unwrap()],
            ..machine()
        };
        let text = text(&machine);
        assert!(
            text.contains("-smbios type=11,value=io.systemd.stub.kernel-cmdline-extra=a=1,,2 quiet\n"),
            "{text}"
        );
        assert!(
            text.contains("-smbios type=11,value=io.systemd.credential.binary:name=dmFsdWU=\n"),
            "{text}"
        );
    }

    #[test]
    fn free_slots_watchdog_and_seed_are_there_only_when_asked_for() {
        let plain = text(&machine());
        for word in ["pcie-root-port", "i6300esb", "seed", "-no-reboot"] {
            assert!(!plain.contains(word), "{word}");
        }
        let full = text(&Machine {
            hotplug: true,
            watchdog: true,
            no_reboot: true,
            seed: Some(SeedDrive::Cdrom("/s,1.iso".into())),
            ..machine()
        });
        assert_eq!(full.matches("pcie-root-port").count(), HOTPLUG_PORTS);
        assert!(
            full.contains(r#""filename":"/s,1.iso""#) && full.contains("ide-cd"),
            "{full}"
        );
        assert!(
            full.contains("-action watchdog=reset\n") && full.contains("\n-no-reboot\n"),
            "{full}"
        );
    }
}
