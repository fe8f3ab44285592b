//! How a disk is reached: decided from where it hangs in the device tree and what its host adapter is.

/// What sysfs says that bears on the transport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// Kernel name.
    pub(super) name: String,
    /// The disk's directory without links: `/sys/devices/pci.../host0/target0:2:0/0:2:0:0/block/sda`.
    pub(super) directory: String,
    /// Name of the driver of its SCSI host.
    pub(super) scsi_host: Option<String>,
    /// SCSI vendor.
    pub(super) vendor: Option<String>,
    /// SCSI model.
    pub(super) model: Option<String>,
}

/// The transport in the words of a hardware report. `raid` is a volume of a controller: what the kernel says of its
/// medium is what the controller says.
pub(super) fn of(signs: &Signs) -> &'static str {
    let named = [
        ("nvme", "nvme"),
        ("vd", "virtio"),
        ("dasd", "dasd"),
        ("xvd", "xen"),
        ("mmcblk", "mmc"),
        ("pmem", "nvdimm"),
        ("rbd", "rbd"),
    ];
    if let Some((_, transport)) = named.iter().find(|(prefix, _)| signs.name.starts_with(prefix)) {
        return transport;
    }
    of_scsi(signs)
}

fn of_scsi(signs: &Signs) -> &'static str {
    let below = |prefix: &str| signs.directory.split('/').any(|part| numbered(part, prefix));
    let is_ata = signs.vendor.as_deref() == Some("ATA");
    if below("virtio") {
        "virtio"
    } else if below("usb") {
        "usb"
    } else if is_volume(signs) {
        "raid"
    } else if below("ata") || is_ata {
        "sata"
    } else if below("end_device-") || is_raid_driver(signs) {
        "sas"
    } else if below("session") {
        "iscsi"
    } else if below("rport-") {
        "fc"
    } else {
        "scsi"
    }
}

/// `ata3`, `usb1`, `end_device-6:0`: the prefix and then a digit.
fn numbered(part: &str, prefix: &str) -> bool {
    part.strip_prefix(prefix)
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Drivers of controllers that hide disks behind volumes.
const RAID_DRIVERS: [&str; 8] = [
    "megaraid_sas",
    "hpsa",
    "smartpqi",
    "aacraid",
    "arcmsr",
    "mpi3mr",
    "mpt3sas",
    "3w-sas",
];

fn is_raid_driver(signs: &Signs) -> bool {
    signs
        .scsi_host
        .as_deref()
        .is_some_and(|driver| RAID_DRIVERS.contains(&driver))
}

/// A volume has no end device of its own (SAS transport class). MegaRAID keeps volumes on channel 2 and above and
/// lets single disks through below; of the others a single disk keeps its vendor `ATA` or an end device.
fn is_volume(signs: &Signs) -> bool {
    let end_device = signs
        .directory
        .split('/')
        .any(|part| numbered(part, "end_device-"));
    if !is_raid_driver(signs) || end_device {
        return false;
    }
    match signs.scsi_host.as_deref() {
        Some("megaraid_sas") => channel(&signs.directory).is_some_and(|channel| channel >= 2),
        Some("aacraid") => channel(&signs.directory) == Some(0),
        _ => signs.vendor.as_deref() != Some("ATA"),
    }
}

/// The channel in `target0:2:0`.
fn channel(directory: &str) -> Option<u32> {
    let target = directory
        .split('/')
        .find_map(|part| part.strip_prefix("target"))?;
    target.split(':').nth(1)?.parse().ok()
}

/// The number of the SCSI host, out of `/host7/`.
pub(super) fn scsi_host(directory: &str) -> Option<u32> {
    directory
        .split('/')
        .find_map(|part| part.strip_prefix("host")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(name: &str, directory: &str, driver: Option<&str>, vendor: &str) -> &'static str {
        of(&Signs {
            name: name.into(),
            directory: format!("/sys/devices/pci0000:00/{directory}/block/{name}"),
            scsi_host: driver.map(str::to_owned),
            vendor: Some(vendor.into()),
            model: None,
        })
    }

    #[test]
    fn each_place_in_the_device_tree_has_its_transport() {
        let table = [
            ("nvme0n1", "0000:01:00.0/nvme/nvme0", None, "", "nvme"),
            ("vda", "0000:00:02.0/virtio1", None, "", "virtio"),
            ("dasda", "0.0.0100", None, "", "dasd"),
            (
                "sda",
                "0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0",
                Some("ahci"),
                "ATA",
                "sata",
            ),
            (
                "sdb",
                "0000:18:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0",
                Some("mpt3sas"),
                "SEAGATE",
                "sas",
            ),
            (
                "sdb",
                "0000:18:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0",
                Some("mpt3sas"),
                "ATA",
                "sata",
            ),
            (
                "sdc",
                "0000:18:00.0/host0/target0:2:0/0:2:0:0",
                Some("megaraid_sas"),
                "DELL",
                "raid",
            ),
            (
                "sdc",
                "0000:18:00.0/host0/target0:0:3/0:0:3:0",
                Some("megaraid_sas"),
                "TOSHIBA",
                "sas",
            ),
            (
                "sdc",
                "0000:18:00.0/host0/target0:0:3/0:0:3:0",
                Some("megaraid_sas"),
                "ATA",
                "sata",
            ),
            (
                "sdd",
                "0000:5c:00.0/host1/target1:1:0/1:1:0:0",
                Some("smartpqi"),
                "HPE",
                "raid",
            ),
            (
                "sde",
                "0000:00:14.0/usb1/1-2/1-2:1.0/host9/target9:0:0/9:0:0:0",
                Some("usb-storage"),
                "X",
                "usb",
            ),
            (
                "sdf",
                "0000:00:05.0/virtio2/host3/target3:0:1/3:0:1:0",
                Some("Virtio SCSI HBA"),
                "QEMU",
                "virtio",
            ),
            (
                "sdg",
                "0000:03:00.0/host4/target4:0:0/4:0:0:0",
                Some("vmw_pvscsi"),
                "VMware",
                "scsi",
            ),
        ];
        for (name, directory, driver, vendor, expected) in table {
            assert_eq!(
                transport(name, directory, driver, vendor),
                expected,
                "{directory} {vendor}"
            );
        }
    }

    #[test]
    fn the_host_number_is_that_of_the_adapter() {
        assert_eq!(scsi_host("/sys/devices/x/host12/target12:0:0"), Some(12));
        assert_eq!(scsi_host("/sys/devices/x/hostile/y"), None);
    }
}
