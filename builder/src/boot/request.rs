//! What one boot is asked to do: checked, with nothing optional by accident.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use regex::Regex;

use super::accel::AccelChoice;
use super::disk::{DiskBus, DiskSpec};
use super::fields::FieldError;
use super::incident::Incident;
use super::nic::NicSpec;
use super::smbios::Credential;

/// A boot.
#[derive(Debug, Clone)]
pub struct BootRequest {
    /// Where the guest comes from.
    pub source: Source,
    /// What it is watched for.
    pub watch: Watch,
    /// What happens to it from outside.
    pub incidents: Vec<Incident>,
    /// What is done with it, in this order.
    pub goals: Goals,
}

/// Where the guest comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A machine that is switched on.
    Cold(Box<Hardware>),
    /// A copy of a machine that was saved while it ran.
    Snapshot(PathBuf),
}

/// A machine as asked for.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// A build's output directory or an image file.
    pub out: PathBuf,
    /// Where its changes go.
    pub overlay: Overlay,
    /// Firmware variables.
    pub vars: Vars,
    /// How instructions are run.
    pub accel: AccelChoice,
    /// Virtual processors, at least 1.
    pub cpus: u16,
    /// Memory in MiB, at least 256.
    pub ram_mib: u32,
    /// No sign of a hypervisor.
    pub bare_metal: bool,
    /// How the system disk is attached.
    pub system_bus: DiskBus,
    /// Data disks.
    pub disks: Vec<DiskSpec>,
    /// Network cards.
    pub nics: Vec<NicSpec>,
    /// NoCloud seed: a directory or an ISO image.
    pub seed: Option<PathBuf>,
    /// Words for the kernel's command line.
    pub cmdline: Vec<String>,
    /// Credentials for PID 1.
    pub credentials: Vec<Credential>,
    /// A watchdog device.
    pub watchdog: bool,
    /// End when the guest reboots.
    pub no_reboot: bool,
}

/// Where the changes to an image go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// Nowhere: they are thrown away.
    ThrowAway,
    /// Into a new file that stays.
    Create(PathBuf),
    /// Into the file of an earlier boot.
    Continue(PathBuf),
}

/// The firmware's variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vars {
    /// As from the factory, thrown away.
    ThrowAway,
    /// A file that stays, made when it is not there.
    Keep(PathBuf),
    /// A file that stays, as from the factory whatever it held.
    Reset(PathBuf),
}

/// How a guest is watched.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// Log of the console, every byte.
    pub serial: Option<PathBuf>,
    /// Show the console as it comes.
    pub show_serial: bool,
    /// The report on standard output is JSON; what is shown live goes to standard error.
    pub json: bool,
    /// Forward a port of 127.0.0.1 to the guest's port 22.
    pub ssh_port: Option<SshPort>,
}

/// A port of the host; 0 in the text form is spelled `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SshPort {
    /// Any free port.
    Auto,
    /// This one.
    Number(u16),
}

impl FromStr for SshPort {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<SshPort, FieldError> {
        match (text, text.parse()) {
            ("auto", _) => Ok(SshPort::Auto),
            (_, Ok(number @ 1..)) => Ok(SshPort::Number(number)),
            _ => Err(FieldError(format!(
                "{text:?}: expected auto or a port from 1 to 65535"
            ))),
        }
    }
}

/// What is done with a guest. All of it may be empty: then the guest runs until it ends.
#[derive(Debug, Clone)]
pub struct Goals {
    /// Wait for a console line that matches.
    pub until: Option<Regex>,
    /// Cut the power when a console line matches.
    pub kill_when: Option<Regex>,
    /// Limit for `until`, for sshd and the shell to answer and for `kill_when`; none when only the guest's end is
    /// awaited.
    pub timeout: Duration,
    /// Wait, in each boot, until sshd answers on the forwarded port.
    pub until_ssh: bool,
    /// Devices to plug in.
    pub hotplug: Vec<Hotplug>,
    /// A script for the guest's root shell.
    pub run: Option<Vec<u8>>,
    /// Limit for the script.
    pub run_timeout: Duration,
    /// Ways to start the guest again, one after the other; the script runs after each.
    pub again: Vec<Again>,
    /// Files to fetch from the guest.
    pub copy_out: Vec<CopyOut>,
    /// Save the running machine into this new directory.
    pub save_snapshot: Option<PathBuf>,
    /// Stay so long before the end.
    pub linger: Duration,
    /// At the end ask the guest to shut down, and wait, instead of dropping it.
    pub power_off: bool,
}

impl Goals {
    /// Whether the guest's root shell is needed.
    pub fn need_shell(&self) -> bool {
        self.run.is_some()
            || !self.copy_out.is_empty()
            || !self.hotplug.is_empty()
            || self.save_snapshot.is_some()
    }

    /// Whether only the guest's own end is waited for.
    pub fn only_watch(&self) -> bool {
        let waits = self.until.is_some() || self.until_ssh || self.kill_when.is_some();
        !self.need_shell() && !waits && self.linger.is_zero() && !self.power_off
    }
}

/// A way to start a guest again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Again {
    /// systemctl reboot: through the firmware.
    Reboot,
    /// systemctl soft-reboot: userspace only.
    SoftReboot,
    /// systemctl kexec: another kernel, which the script has loaded.
    Kexec,
    /// The power fails and comes back.
    Power,
}

/// A device to plug into the running guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hotplug {
    /// A network card.
    Nic(NicSpec),
    /// A data disk, NVMe or virtio.
    Disk(DiskSpec),
}

impl FromStr for Hotplug {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Hotplug, FieldError> {
        let (kind, rest) = text.split_once(',').unwrap_or((text, ""));
        match kind {
            "nic" => Ok(Hotplug::Nic(if rest.is_empty() {
                NicSpec::default()
            } else {
                rest.parse()?
            })),
            "disk" => {
                let disk: DiskSpec = rest.parse()?;
                if disk.bus == DiskBus::Sata {
                    return Err(FieldError(
                        "a SATA disk cannot be plugged in later, use nvme or virtio".into(),
                    ));
                }
                Ok(Hotplug::Disk(disk))
            }
            other => Err(FieldError(format!(
                "{other:?}: expected nic,... or disk,nvme|virtio,..."
            ))),
        }
    }
}

/// A file to fetch: GUESTPATH:HOSTPATH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOut {
    /// Absolute path in the guest.
    pub guest: String,
    /// Where it goes.
    pub host: PathBuf,
}

impl FromStr for CopyOut {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<CopyOut, FieldError> {
        let refuse = || FieldError(format!("{text:?}: expected /GUEST/PATH:HOSTPATH"));
        let (guest, host) = text.split_once(':').ok_or_else(refuse)?;
        if !Path::new(guest).is_absolute() || host.is_empty() {
            return Err(refuse());
        }
        Ok(CopyOut {
            guest: guest.to_owned(),
            host: host.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_for_later_read_like_those_from_the_start() {
        let nic: Hotplug = "nic,model=vmxnet3,net=none".parse().unwrap();
        assert_eq!(nic, Hotplug::Nic("model=vmxnet3,net=none".parse().unwrap()));
        assert_eq!(
            "nic".parse::<Hotplug>().unwrap(),
            Hotplug::Nic(NicSpec::default())
        );
        let disk: Hotplug = "disk,nvme,size=1G".parse().unwrap();
        assert_eq!(disk, Hotplug::Disk("nvme,size=1G".parse().unwrap()));
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_with_the_reason() {
        let message = |text: &str| text.parse::<Hotplug>().unwrap_err().0;
        assert!(message("disk,sata,size=1G").contains("a SATA disk cannot be plugged in later"));
        assert!(message("usb").contains("expected nic,... or disk,nvme|virtio"));
        assert!(
            "etc/passwd:x"
                .parse::<CopyOut>()
                .unwrap_err()
                .0
                .contains("expected /GUEST/PATH:HOSTPATH")
        );
        assert!("/etc/passwd:".parse::<CopyOut>().is_err());
        assert!(
            "0".parse::<SshPort>()
                .unwrap_err()
                .0
                .contains("expected auto or a port")
        );
    }

    #[test]
    fn a_port_is_a_number_or_auto() {
        assert_eq!("auto".parse(), Ok(SshPort::Auto));
        assert_eq!("2222".parse(), Ok(SshPort::Number(2222)));
    }
}
