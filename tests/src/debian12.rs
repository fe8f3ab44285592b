//! A guest that is no image of ours: Debian 12 as its packages make it, with systemd 252, tuned 2.20 and a kernel 6.1.
//!
//! The disk is made once: packages by mmdebstrap, a few settings as a site would have them, an EFI system partition with
//! kernel and initrd in one file, and the root. What a test brings to the host comes on a second disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::image::{only_one, test_out};
use crate::programs::{Programs, make_dir, run};
use crate::rung::say;
use crate::{Image, Trouble, tools};

/// Changes when the way of making the disk changes.
const RECIPE: &str = "debian12-1";
/// Debian's own kernel, and what a transfer node has beside it.
const PACKAGES: &str = "systemd-sysv,systemd-resolved,dbus,udev,kmod,linux-image-amd64,initramfs-tools,zstd,tuned,\
                        ethtool,iproute2,iperf3,openssh-server,procps,nvme-cli";
/// Settings of the site: the baseline that a rollback has to return to.
const FILES: [(&str, &str); 7] = [
    ("etc/hostname", "debian12\n"),
    ("etc/machine-id", ""),
    ("etc/fstab", "PARTLABEL=debian12 / ext4 errors=remount-ro 0 1\n"),
    (
        "etc/systemd/network/80-dhcp.network",
        "[Match]\nName=en*\n[Network]\nDHCP=yes\n",
    ),
    (
        "etc/sysctl.d/50-site.conf",
        "net.core.rmem_max = 8388608\nnet.ipv4.tcp_rmem = 4096 131072 8388608\n",
    ),
    ("etc/tuned/active_profile", "balanced\n"),
    ("etc/tuned/profile_mode", "manual\n"),
];
/// Units that Debian leaves to the admin.
const WANTED: [(&str, &str); 2] = [
    ("multi-user.target", "systemd-networkd.service"),
    ("network-online.target", "systemd-networkd-wait-online.service"),
];
const PARTITIONS: [(&str, &str); 2] = [
    (
        "10-esp.conf",
        "[Partition]\nType=esp\nFormat=vfat\nSizeMinBytes=128M\nSizeMaxBytes=128M\n\
         CopyFiles=/mnt/disk/uki.efi:/EFI/BOOT/BOOTX64.EFI\n",
    ),
    (
        "20-root.conf",
        "[Partition]\nType=linux-generic\nLabel=debian12\nFormat=ext4\nSizeMinBytes=3G\nSizeMaxBytes=3G\n\
         CopyFiles=/mnt/disk/tree:/\n",
    ),
];

/// The guest's disk.
///
/// # Errors
/// When a package cannot be installed, or a tool fails.
pub fn image() -> Result<Image, Trouble> {
    let _one = only_one("debian12")?;
    let raw = test_out()?.join(format!("{RECIPE}.raw"));
    if !raw.exists() {
        let work = test_out()?.join(format!("{RECIPE}.work"));
        remove(&work)?;
        make_dir(&work)?;
        make(&work)?;
        fs::rename(work.join("disk.raw"), &raw).map_err(Trouble::file("rename", &raw))?;
        remove(&work)?;
    }
    Ok(Image {
        out: raw,
        manifest: serde_json::Value::Null,
    })
}

fn remove(directory: &Path) -> Result<(), Trouble> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Trouble::file("remove", directory)(error))
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    if let Some(directory) = path.parent() {
        make_dir(directory)?;
    }
    fs::write(path, text).map_err(Trouble::file("write", path))
}

fn make(work: &Path) -> Result<(), Trouble> {
    say("debian12: installing packages");
    let tree = work.join("tree");
    run(Command::new("mmdebstrap")
        .args([
            "--variant=minbase",
            "--mode=root",
            "--include",
            PACKAGES,
            "bookworm",
        ])
        .arg(&tree))?;
    for (path, text) in FILES {
        write(&tree.join(path), text)?;
    }
    for (target, unit) in WANTED {
        let link = tree.join(format!("etc/systemd/system/{target}.wants/{unit}"));
        make_dir(link.parent().unwrap_or(&tree))?;
        symlink(format!("/lib/systemd/system/{unit}"), &link).map_err(Trouble::file("link", &link))?;
    }
    for (file, text) in PARTITIONS {
        write(&work.join("repart.d").join(file), text)?;
    }
    let kernel = kernel(&tree)?;
    inside(
        work,
        &[
            "ukify",
            "build",
            &format!("--linux=/mnt/disk/tree/boot/vmlinuz-{kernel}"),
            &format!("--initrd=/mnt/disk/tree/boot/initrd.img-{kernel}"),
            &format!("--uname={kernel}"),
            "--os-release=@/mnt/disk/tree/usr/lib/os-release",
            "--stub=/usr/lib/systemd/boot/efi/linuxx64.efi.stub",
            "--cmdline=root=PARTLABEL=debian12 ro console=ttyS0,115200",
            "--output=/mnt/disk/uki.efi",
        ],
    )?;
    inside(
        work,
        &[
            "systemd-repart",
            "--offline=yes",
            "--empty=create",
            "--size=auto",
            "--dry-run=no",
            "--definitions=/mnt/disk/repart.d",
            "/mnt/disk/disk.raw",
        ],
    )
}

/// The version of the kernel that was installed.
fn kernel(tree: &Path) -> Result<String, Trouble> {
    let boot = tree.join("boot");
    let entries = fs::read_dir(&boot).map_err(Trouble::file("list", &boot))?;
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut versions = names.filter_map(|name| name.strip_prefix("vmlinuz-").map(str::to_owned));
    versions.next().ok_or_else(|| Trouble::Answer {
        what: boot.display().to_string(),
        reason: "it has no kernel".to_owned(),
        text: String::new(),
    })
}

/// Runs a program of the tools tree, which sees the directory `work` as `/mnt/disk`.
fn inside(work: &Path, argv: &[&str]) -> Result<(), Trouble> {
    let scratch = work.join("scratch");
    make_dir(&scratch)?;
    let mut command = Command::new(&Programs::get()?.dtnforge);
    command.arg("inside").arg("--root").arg(tools::tree()?);
    command
        .arg("--scratch")
        .arg(&scratch)
        .arg("--bind")
        .arg(work)
        .arg("disk");
    run(command.arg("--").args(argv)).map(drop)
}

/// What is brought to the host, on a disk that the guest finds as `/dev/disk/by-label/payload`: the agent, a layer of each
/// of `profiles` in `layers/`, a deb with the same, and the script `host.sh`.
///
/// # Errors
/// When a package cannot be made.
pub fn payload(name: &str, profiles: &[&str], script: &str) -> Result<PathBuf, Trouble> {
    let programs = Programs::get()?;
    let work = test_out()?.join(format!("{name}.payload"));
    remove(&work)?;
    for (format, place) in [("layer", "layers"), ("deb", ".")] {
        run(Command::new(&programs.dtnforge)
            .arg("layer")
            .args(profiles)
            .args(["--format", format, "--out"])
            .arg(work.join(place))
            .arg("--agent")
            .arg(&programs.agent))?;
    }
    let agent = work.join("dtn-firstboot");
    fs::copy(&programs.agent, &agent).map_err(Trouble::file("copy", &agent))?;
    write(&work.join("host.sh"), script)?;
    let disk = work.with_extension("img");
    if disk.exists() {
        fs::remove_file(&disk).map_err(Trouble::file("remove", &disk))?;
    }
    let paths = [work.as_os_str(), disk.as_os_str()];
    let options = ["-q", "-F", "-L", "payload", "-d"].map(std::ffi::OsStr::new);
    let size = std::ffi::OsStr::new("64M");
    tools::output("usr/sbin/mke2fs", options.into_iter().chain(paths).chain([size]))?;
    Ok(disk)
}
