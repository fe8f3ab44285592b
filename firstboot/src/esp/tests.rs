//! The partition as a directory of a test host.

use super::*;
use crate::boot::efi::tests::set_loader;
use std::os::unix::fs::symlink;

const UUID: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// A host whose boot loader came from a partition that is mounted on /boot, with these entries.
pub(crate) fn host(entries: &[&str]) -> (tempfile::TempDir, Host) {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::at(dir.path(), None);
    let write = |path: &str, text: &str| {
        let path = host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    set_loader(&host, "LoaderDevicePartUUID", &UUID.to_uppercase());
    write("/sys/class/block/vda1/dev", "254:1\n");
    write(
        "/proc/self/mountinfo",
        "61 60 254:1 / /boot rw,relatime shared:10 - vfat /dev/vda1 rw\n",
    );
    fs::create_dir_all(host.path("/dev/disk/by-partuuid")).unwrap();
    symlink("../../vda1", host.path(&format!("/dev/disk/by-partuuid/{UUID}"))).unwrap();
    fs::create_dir_all(host.path("/boot/EFI/Linux")).unwrap();
    for entry in entries {
        write(&format!("/boot/EFI/Linux/{entry}"), entry);
    }
    (dir, host)
}

/// The names of all entries.
pub(crate) fn listed(host: &Host) -> Vec<String> {
    let mut names = Esp::open(host, Access::Write).unwrap().names().unwrap();
    names.sort();
    names
}

#[test]
fn the_tuned_entry_is_found_whatever_its_counter() {
    for file in ["dtnforge.efi", "dtnforge+3.efi", "dtnforge+0-3.efi"] {
        let (_dir, host) = host(&[file, "stock.efi", "dtnforge.txt"]);
        let entry = Esp::open(&host, Access::Write)
            .unwrap()
            .tuned_entry()
            .unwrap()
            .unwrap();
        assert_eq!(entry.to_string(), file);
    }
    let (_dir, host) = host(&["stock.efi"]);
    assert_eq!(
        Esp::open(&host, Access::Write).unwrap().tuned_entry().unwrap(),
        None
    );
}

#[test]
fn a_counter_is_set_by_renaming_and_the_file_stays_the_same() {
    let (_dir, host) = host(&["dtnforge.efi", "stock.efi"]);
    let esp = Esp::open(&host, Access::Write).unwrap();
    esp.set_counter(Some(Counter::ARMED)).unwrap();
    assert_eq!(listed(&host), ["dtnforge+3.efi", "stock.efi"]);
    let text = fs::read_to_string(host.path("/boot/EFI/Linux/dtnforge+3.efi")).unwrap();
    assert_eq!(text, "dtnforge.efi");
    esp.set_counter(None).unwrap();
    esp.set_counter(None).unwrap();
    assert_eq!(listed(&host), ["dtnforge.efi", "stock.efi"]);
}

#[test]
fn without_a_tuned_entry_no_counter_can_be_set() {
    let (_dir, host) = host(&["stock.efi"]);
    let error = Esp::open(&host, Access::Write)
        .unwrap()
        .set_counter(Some(Counter::ARMED))
        .unwrap_err();
    assert!(error.to_string().contains("has no dtnforge*.efi"), "{error}");
}

#[test]
fn two_tuned_entries_are_named_and_neither_is_touched() {
    let (_dir, host) = host(&["dtnforge.efi", "dtnforge+2-1.efi"]);
    let esp = Esp::open(&host, Access::Write).unwrap();
    let error = esp.set_counter(Some(Counter::ARMED)).unwrap_err().to_string();
    assert!(error.contains("dtnforge+2-1.efi, dtnforge.efi"), "{error}");
    assert_eq!(listed(&host), ["dtnforge+2-1.efi", "dtnforge.efi"]);
}

#[test]
fn a_probe_leaves_nothing_behind() {
    let (_dir, host) = host(&["stock.efi"]);
    Esp::open(&host, Access::Write).unwrap().probe().unwrap();
    assert_eq!(listed(&host), ["stock.efi"]);
}

#[test]
fn a_partition_that_takes_no_files_is_named_with_the_reason() {
    let (_dir, host) = host(&[]);
    fs::remove_dir(host.path("/boot/EFI/Linux")).unwrap();
    // A file in place of the directory: nothing can be made in it, whoever asks.
    fs::write(host.path("/boot/EFI/Linux"), "").unwrap();
    let error = Esp::open(&host, Access::Write)
        .unwrap()
        .probe()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("a file cannot be written: Not a directory"),
        "{error}"
    );
}

#[test]
fn a_read_only_mount_is_an_error_that_says_where() {
    let (_dir, host) = host(&["dtnforge.efi"]);
    fs::write(
        host.path("/proc/self/mountinfo"),
        "61 60 254:1 / /boot ro,relatime - vfat /dev/vda1 rw\n",
    )
    .unwrap();
    let error = Esp::open(&host, Access::Write).unwrap_err().to_string();
    assert!(error.contains("mounted read-only on /boot"), "{error}");
    let entry = Esp::find_tuned_entry(&host).unwrap();
    assert_eq!(entry.to_string(), "dtnforge.efi", "looking is still possible");
}

#[test]
fn a_host_without_systemd_boot_or_its_partition_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let bare = Host::at(dir.path(), None);
    assert!(matches!(
        Esp::open(&bare, Access::Read).unwrap_err(),
        EspError::NoLoader
    ));
    let (_dir, host) = host(&[]);
    fs::remove_file(host.path(&format!("/dev/disk/by-partuuid/{UUID}"))).unwrap();
    let error = Esp::open(&host, Access::Write).unwrap_err().to_string();
    assert!(
        error.contains(&format!("partition {UUID} is not there")),
        "{error}"
    );
}
