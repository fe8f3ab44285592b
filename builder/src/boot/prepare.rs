//! Lays out the files of a machine that is switched on: overlays, firmware, disks, seed.

use std::fs::File;
use std::path::Path;

use super::accel::{self, Chosen};
use super::disk::{DiskBus, DiskSpec, ImageFormat};
use super::error::BootError;
use super::image::{Image, Stamp};
use super::machine::{DataDisk, DriveFile, Machine, netdev_id, nic_id};
use super::net::NicNet;
use super::qemu::QemuTree;
use super::request::{Goals, Hardware, Overlay, Vars};
use super::workdir::Workdir;
use super::{firmware, overlay, seed, shell, smbios, utf8};

/// A machine with all its files in place.
#[derive(Debug)]
pub struct Prepared {
    /// QEMU runs here.
    pub workdir: Workdir,
    /// QEMU's arguments.
    pub args: Vec<String>,
    /// The accelerator.
    pub accel: Chosen,
    /// The image underneath.
    pub image: Stamp,
    /// What is already in the machine.
    pub parts: Parts,
    /// Continues a saved machine instead of starting one.
    pub saved: bool,
    /// The overlay stays after the boot.
    pub keeps_overlay: bool,
    /// Cards whose cable is out.
    pub cables_out: Vec<String>,
}

/// What is already in a machine: later devices are numbered behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Parts {
    /// Network cards.
    pub nics: u8,
    /// Data disks.
    pub disks: usize,
    /// The network over which a port can be forwarded, if there is one.
    pub user_net: Option<String>,
}

/// Makes everything that `hardware` needs in `workdir`.
///
/// # Errors
/// Whatever is missing, contradicts or cannot be written.
pub fn cold(
    tree: &QemuTree,
    hardware: &Hardware,
    goals: &Goals,
    workdir: Workdir,
) -> Result<Prepared, BootError> {
    refuse_what_a_snapshot_cannot_hold(hardware, goals)?;
    let image = Image::find(&hardware.out)?;
    let firmware_code = tree.firmware_code()?;
    let accel = accel::choose(hardware.accel, tree, &firmware_code)?;
    let dir = workdir.path();
    if hardware.bare_metal {
        let table = dir.join(smbios::TYPE0_FILE);
        std::fs::write(&table, smbios::physical_bios_table()).map_err(BootError::file("write", &table))?;
    }
    let mut cmdline_extra = hardware.cmdline.clone();
    if goals.need_shell() {
        cmdline_extra.push(shell::KERNEL_WORDS.to_owned());
    }
    let machine = Machine {
        accel: accel.accel,
        cpus: hardware.cpus,
        ram_mib: hardware.ram_mib,
        bare_metal: hardware.bare_metal,
        firmware_code: firmware::code(&firmware_code, dir)?,
        firmware_vars: firmware::vars(tree, &hardware.vars, dir)?,
        system_disk: overlay::file(tree, &hardware.overlay, &image, dir)?,
        system_bus: hardware.system_bus,
        disks: disks(tree, &hardware.disks, dir)?,
        nics: hardware.nics.clone(),
        seed: hardware
            .seed
            .as_deref()
            .map(|seed| seed::drive(tree, seed, dir))
            .transpose()?,
        cmdline_extra,
        credentials: hardware.credentials.clone(),
        watchdog: hardware.watchdog,
        no_reboot: hardware.no_reboot,
        hotplug: !goals.hotplug.is_empty() || goals.save_snapshot.is_some(),
    };
    Ok(Prepared {
        args: super::args::arguments(&machine),
        accel,
        image: image.stamp()?,
        parts: parts(&machine)?,
        saved: false,
        keeps_overlay: hardware.overlay != Overlay::ThrowAway,
        cables_out: cables_out(&machine),
        workdir,
    })
}

fn parts(machine: &Machine) -> Result<Parts, BootError> {
    let nics = u8::try_from(machine.nics.len())
        .map_err(|_| BootError::Options("more than 255 network cards".to_owned()))?;
    let user_net = (1..)
        .zip(&machine.nics)
        .find(|(_, nic)| nic.net == NicNet::User)
        .map(|(number, _)| netdev_id(number));
    Ok(Parts {
        nics,
        disks: machine.disks.len(),
        user_net,
    })
}

fn cables_out(machine: &Machine) -> Vec<String> {
    (1..)
        .zip(&machine.nics)
        .filter(|(_, nic)| nic.link_down)
        .map(|(number, _)| nic_id(number))
        .collect()
}

/// A snapshot is a directory that can be copied: files elsewhere would change behind its back. And QEMU cannot save
/// the state of an NVMe controller.
fn refuse_what_a_snapshot_cannot_hold(hardware: &Hardware, goals: &Goals) -> Result<(), BootError> {
    if goals.save_snapshot.is_none() {
        return Ok(());
    }
    let is_nvme = |bus: DiskBus| bus == DiskBus::Nvme;
    if is_nvme(hardware.system_bus) || hardware.disks.iter().any(|disk| is_nvme(disk.bus)) {
        return Err(BootError::Options(
            "QEMU cannot save an NVMe disk with --save-snapshot\n\
             hint: leave it out and plug it in later: --snapshot DIR --hotplug disk,nvme,..."
                .to_owned(),
        ));
    }
    let elsewhere = if hardware.overlay != Overlay::ThrowAway {
        "--overlay and --keep-overlay"
    } else if hardware.vars != Vars::ThrowAway {
        "--vars"
    } else if hardware.disks.iter().any(|disk| disk.file.is_some()) {
        "--disk with file="
    } else if hardware.seed.as_deref().is_some_and(|seed| !seed.is_dir()) {
        "--seed with an ISO image"
    } else {
        return Ok(());
    };
    Err(BootError::Options(format!(
        "{elsewhere} cannot be used with --save-snapshot: a snapshot holds all its files itself"
    )))
}

fn disks(tree: &QemuTree, specs: &[DiskSpec], dir: &Path) -> Result<Vec<DataDisk>, BootError> {
    specs
        .iter()
        .enumerate()
        .map(|(index, spec)| {
            let file = disk_file(tree, spec, &format!("data{index}.qcow2"), dir)?;
            Ok(DataDisk {
                spec: spec.clone(),
                file,
            })
        })
        .collect()
}

/// The file behind a data disk: a throw-away qcow2 named `name`, or the user's own.
///
/// # Errors
/// When it cannot be made, or the user's own is missing and has no size.
pub fn disk_file(tree: &QemuTree, spec: &DiskSpec, name: &str, dir: &Path) -> Result<DriveFile, BootError> {
    let Some(path) = &spec.file else {
        let size = spec.size.map_or(0, |size| size.0).to_string();
        tree.qemu_img(&["create", "-q", "-f", "qcow2", utf8(&dir.join(name))?, &size])?;
        return Ok(DriveFile {
            path: name.to_owned(),
            format: ImageFormat::Qcow2,
        });
    };
    if !path.exists() {
        let Some(size) = spec.size else {
            return Err(BootError::Options(format!(
                "the disk file {} does not exist\nhint: add size=SIZE to make it",
                path.display()
            )));
        };
        File::create_new(path)
            .and_then(|file| file.set_len(size.0))
            .map_err(BootError::file("create", path))?;
    }
    let Image { path, format } = Image::find(path)?;
    Ok(DriveFile {
        path: utf8(&path)?.to_owned(),
        format,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_file_that_is_missing_and_has_no_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.img");
        let spec: DiskSpec = format!("virtio,file={}", path.display()).parse().unwrap();
        let tree = QemuTree::new(Path::new("/none"));
        let error = disk_file(&tree, &spec, "x", dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("d.img does not exist\nhint: add size=SIZE to make it"),
            "{error}"
        );
        let spec: DiskSpec = format!("virtio,size=1M,file={}", path.display()).parse().unwrap();
        let made = disk_file(&tree, &spec, "x", dir.path()).unwrap();
        assert_eq!(made.format, ImageFormat::Raw);
        assert_eq!(std::fs::metadata(path).unwrap().len(), 1 << 20);
    }
}
