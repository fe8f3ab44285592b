//! Where the partition is mounted; for the moment, where it is not.
//!
//! A mount that is there is used. Else the partition is mounted on a directory of this process, because the image's
//! automount may be asleep, or gone already when a shutdown is under way. The kernel keeps one file system for all
//! mounts of a device, so both see the same.

use super::{Access, EspError};
use crate::host::Host;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const RUN_DIR: &str = "/run/dtnforge";

/// The root of the mounted partition.
#[derive(Debug)]
pub(super) struct Place {
    dir: PathBuf,
    /// Whether we mounted it.
    ours: bool,
}

impl Place {
    /// The root of the partition.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.ours {
            // Lazily: what we wrote is synced, and nobody waits for an answer here.
            let _ = umount2(&self.dir, MntFlags::MNT_DETACH);
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Finds or makes the mount of the partition with this UUID (lower case).
pub(super) fn find(host: &Host, uuid: &str, access: Access) -> Result<Place, EspError> {
    let no_device = |source| EspError::NoDevice {
        uuid: uuid.to_owned(),
        source,
    };
    let name = device_name(host, uuid).map_err(no_device)?;
    let number = fs::read_to_string(host.path(&format!("/sys/class/block/{name}/dev"))).map_err(no_device)?;
    let table = fs::read_to_string(host.path("/proc/self/mountinfo")).unwrap_or_default();
    match mounted(&table, number.trim()) {
        Some(Mounted { at, writable }) if writable || access == Access::Read => Ok(Place {
            dir: host.path(&at),
            ours: false,
        }),
        Some(Mounted { at, .. }) => Err(EspError::ReadOnly { at }),
        None => mount_for_us(host, &name, access),
    }
}

/// The kernel's name of the device, for instance `vda1`.
fn device_name(host: &Host, uuid: &str) -> io::Result<String> {
    let link = fs::read_link(host.path(&format!("/dev/disk/by-partuuid/{uuid}")))?;
    let name = link.file_name().map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| io::Error::other(format!("{} is no device", link.display())))
}

fn mount_for_us(host: &Host, name: &str, access: Access) -> Result<Place, EspError> {
    let device = format!("/dev/{name}");
    let failed = |source| EspError::Mount {
        device: device.clone(),
        source,
    };
    if !host.is_live() {
        let source = io::Error::other("it is not mounted, and this is not the running system");
        return Err(failed(source));
    }
    let dir = PathBuf::from(format!("{RUN_DIR}/esp.{}", std::process::id()));
    fs::create_dir_all(&dir).map_err(failed)?;
    let attempt = |extra: MsFlags| {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | extra;
        let options = Some("umask=0077");
        mount(Some(device.as_str()), &dir, Some("vfat"), flags, options)
    };
    // A disk that cannot be written can still be looked at; who may not mount at all need not ask twice.
    let mounted = match attempt(MsFlags::empty()) {
        Err(errno) if access == Access::Read && errno != Errno::EPERM => attempt(MsFlags::MS_RDONLY),
        other => other,
    };
    if let Err(errno) = mounted {
        // An empty directory under /run is no loss when it stays.
        let _ = fs::remove_dir(&dir);
        return Err(failed(errno.into()));
    }
    Ok(Place { dir, ours: true })
}

#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    at: String,
    writable: bool,
}

/// Where the device with this `major:minor` is mounted, out of mountinfo; a writable mount before a read-only one.
/// Mounts that other processes of ours made for a moment are left out.
fn mounted(mountinfo: &str, number: &str) -> Option<Mounted> {
    let all = mountinfo
        .lines()
        .filter_map(|line| line_of(line, number))
        .filter(|mounted| !mounted.at.starts_with(RUN_DIR));
    all.max_by_key(|mounted| mounted.writable)
}

/// `id parent major:minor root target options [optional...] - fstype source superoptions`.
fn line_of(line: &str, number: &str) -> Option<Mounted> {
    let (front, back) = line.split_once(" - ")?;
    let front: Vec<&str> = front.split(' ').collect();
    let [_, _, device, "/", target, options, ..] = front[..] else {
        return None;
    };
    let has_rw = |options: &str| options.split(',').any(|option| option == "rw");
    let super_options = back.split(' ').nth(2).unwrap_or_default();
    (device == number).then(|| Mounted {
        at: target.replace("\\040", " "),
        writable: has_rw(options) && has_rw(super_options),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
25 1 254:2 / / ro,relatime shared:1 - erofs /dev/mapper/root ro
60 25 0:41 / /boot rw,relatime shared:9 - autofs systemd-1 rw,fd=42
61 60 254:1 / /boot rw,nosuid,relatime shared:10 - vfat /dev/vda1 rw,fmask=0077
62 25 254:5 /sub /mnt rw - vfat /dev/vdb1 rw
63 25 254:5 / /mnt/my\\040esp ro - vfat /dev/vdb1 rw
64 25 254:7 / /run/dtnforge/esp.12 rw - vfat /dev/vdc1 rw
65 25 254:8 / /a ro - vfat /dev/vdd1 rw
66 25 254:8 / /b rw - vfat /dev/vdd1 rw
";

    #[test]
    fn a_mount_of_the_device_is_found_with_its_mode() {
        let at = |number| mounted(TABLE, number).map(|found| (found.at, found.writable));
        assert_eq!(at("254:1"), Some(("/boot".into(), true)));
        assert_eq!(at("254:5"), Some(("/mnt/my esp".into(), false)));
        assert_eq!(at("254:8"), Some(("/b".into(), true)));
        assert_eq!(at("254:7"), None, "a mount of another process of ours");
        assert_eq!(at("254:9"), None);
    }
}
