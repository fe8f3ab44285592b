//! Plugs devices into a running guest and waits until the guest shows them.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;

use super::disk::block_node;
use super::error::BootError;
use super::machine::{HOTPLUG_PORTS, netdev_id, nic_id, port_id};
use super::note;
use super::prepare::{Parts, disk_file};
use super::qemu::QemuTree;
use super::request::Hotplug;
use super::session::{Session, Stop};
use super::shell::Shell;

/// How long the guest may take to show a device, in seconds.
const LIMIT: u64 = 90;

/// Plugs in `devices`, one after the other, and waits for each. They are numbered behind what `parts` holds.
///
/// # Errors
/// QEMU's words when it refuses a device, or what the guest shows instead.
pub fn plug(
    session: &mut Session,
    shell: &Shell,
    tree: &QemuTree,
    workdir: &Path,
    parts: &Parts,
    devices: &[Hotplug],
) -> Result<(), Stop> {
    check_room(devices)?;
    let mut parts = parts.clone();
    for (slot, device) in devices.iter().enumerate() {
        let port = port_id(slot);
        let (name, sign) = match device {
            Hotplug::Nic(nic) => {
                parts.nics = parts
                    .nics
                    .checked_add(1)
                    .ok_or_else(|| BootError::Options("more than 255 network cards".to_owned()))?;
                let (id, netdev) = (nic_id(parts.nics), netdev_id(parts.nics));
                let backend = nic.netdev(&netdev);
                let plugged = backend.as_ref().map(|_| netdev.as_str());
                if let Some(backend) = &backend {
                    session.command("netdev_add", backend)?;
                }
                session.command("device_add", &nic.device(&id, plugged, parts.nics, Some(&port)))?;
                if nic.link_down {
                    session.command("set_link", &json!({ "name": id, "up": false }))?;
                }
                let address = nic.address(parts.nics).to_string();
                (format!("the network card {address}"), address)
            }
            Hotplug::Disk(disk) => {
                let (node, id) = (format!("data{}", parts.disks), format!("disk{}", parts.disks));
                let file = disk_file(tree, disk, &format!("{node}.qcow2"), workdir)?;
                session.command(
                    "blockdev-add",
                    &block_node(&node, &file.path, file.format, disk.read_only),
                )?;
                session.command("device_add", &disk.device(&id, &node, parts.disks, Some(&port)))?;
                let serial = disk.serial(parts.disks);
                parts.disks += 1;
                (format!("the disk with serial {serial}"), serial)
            }
        };
        wait_for(session, shell, &name, &sign)?;
    }
    Ok(())
}

/// Refuses more devices than there are free slots.
///
/// # Errors
/// Names both numbers.
pub fn check_room(devices: &[Hotplug]) -> Result<(), BootError> {
    if devices.len() > HOTPLUG_PORTS {
        let count = devices.len();
        return Err(BootError::Options(format!(
            "--hotplug is given {count} times, the machine has {HOTPLUG_PORTS} free slots"
        )));
    }
    Ok(())
}

/// Waits until the guest lists `sign`: a card's address or a disk's serial number.
fn wait_for(session: &mut Session, shell: &Shell, name: &str, sign: &str) -> Result<(), Stop> {
    let limit = Duration::from_secs(LIMIT + 60);
    let (mut seen, started) = (Vec::new(), session.elapsed());
    let code = shell.run(session, script(sign).as_bytes(), limit, |_, bytes| {
        seen.extend_from_slice(bytes)
    })?;
    if code == 0 {
        let seconds = (session.elapsed() - started).as_secs_f64();
        note(&format!("the guest shows {name} after {seconds:.1} s"));
        return Ok(());
    }
    let seen = String::from_utf8_lossy(&seen).trim_end().to_owned();
    Err(BootError::NotSeen {
        device: name.to_owned(),
        seconds: LIMIT,
        seen,
    }
    .into())
}

/// The guest's side of the wait. What is looked for travels in base64: it is the user's text.
fn script(sign: &str) -> String {
    let letters = BASE64.encode(sign);
    let tries = LIMIT * 4;
    format!(
        r#"#!/bin/sh
sign=$(printf %s {letters} | base64 -d)
signs() {{
    for file in /sys/class/net/*/address /sys/block/*/serial /sys/block/*/device/serial; do
        # Some end without a line end, some in spaces.
        [ ! -e "$file" ] || echo "$(cat "$file")" | sed 's/ *$//'
    done
}}
tries=0
until signs | grep -qxF -e "$sign"; do
    tries=$((tries + 1))
    if [ $tries -gt {tries} ]; then
        signs
        grep -h -e ^DRIVER= -e ^PCI_ID= /sys/bus/pci/devices/*/uevent
        exit 1
    fi
    sleep 0.25
done
udevadm settle --timeout=30
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_devices_than_slots_are_refused_before_anything_starts() {
        let devices = vec!["nic".parse().unwrap(); 5];
        let error = check_room(&devices).unwrap_err().to_string();
        assert_eq!(error, "--hotplug is given 5 times, the machine has 4 free slots");
    }

    #[test]
    fn a_serial_number_with_shell_letters_is_not_in_the_script_as_it_is() {
        let script = script("$(reboot)");
        assert!(!script.contains("reboot") && script.contains(&BASE64.encode("$(reboot)")));
    }
}
