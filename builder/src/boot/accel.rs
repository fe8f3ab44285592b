//! KVM where it works, software emulation elsewhere.
//!
//! That `/dev/kvm` opens says little: inside some virtual machines it opens, and then a guest's firmware does not run.
//! So the probe boots the very firmware that the guest will boot, under KVM, and waits for its first line.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::error::BootError;
use super::qemu::{QemuTree, output_tail, tie_to_parent};

/// How instructions are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accel {
    /// The processor runs the guest.
    Kvm,
    /// QEMU translates the guest's instructions.
    Tcg,
}

impl Accel {
    /// The value of QEMU's `-accel`. Emulation uses a thread for each processor and a 1 GiB cache of translated code.
    pub fn qemu_option(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg,thread=multi,tb-size=1024",
        }
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Accel::Kvm => "KVM",
            Accel::Tcg => "software emulation (TCG)",
        })
    }
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum AccelChoice {
    /// KVM where a guest's firmware really runs under it, else emulation.
    #[default]
    Auto,
    /// KVM, or an error that says why not.
    Kvm,
    /// Software emulation.
    Tcg,
}

/// The accelerator that was chosen, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The accelerator.
    pub accel: Accel,
    /// One sentence for the reader.
    pub reason: String,
}

/// Chooses the accelerator; probes KVM unless emulation was asked for.
pub fn choose(choice: AccelChoice, tree: &QemuTree, firmware: &Path) -> Result<Chosen, BootError> {
    if choice == AccelChoice::Tcg {
        return Ok(Chosen {
            accel: Accel::Tcg,
            reason: "asked for by --accel tcg".into(),
        });
    }
    match (probe_kvm(tree, firmware), choice) {
        (Ok(took), _) => Ok(Chosen {
            accel: Accel::Kvm,
            reason: format!(
                "a guest's firmware started under it in {:.1} s",
                took.as_secs_f64()
            ),
        }),
        (Err(why), AccelChoice::Kvm) => Err(BootError::NoKvm(why)),
        (Err(why), _) => Ok(Chosen {
            accel: Accel::Tcg,
            reason: format!("KVM does not work here: {why}"),
        }),
    }
}

/// How long the firmware may take to say something under KVM. It needs about one second where KVM works.
const PROBE_TIME: Duration = Duration::from_secs(8);

/// What OVMF writes on the serial port when it looks for something to boot.
const FIRMWARE_IS_UP: &[u8] = b"BdsDxe:";

/// Boots the firmware under KVM; the time it took, or why it did not come up.
fn probe_kvm(tree: &QemuTree, firmware: &Path) -> Result<Duration, String> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .map_err(|error| format!("/dev/kvm cannot be opened: {error}"))?;
    let started = Instant::now();
    let mut command = probe_command(tree, firmware).map_err(|error| error.to_string())?;
    tie_to_parent(&mut command, Vec::new());
    let mut child = command
        .spawn()
        .map_err(|error| format!("QEMU cannot be started: {error}"))?;
    let (serial, stderr) = (child.stdout.take(), child.stderr.take());
    // The reader ends by itself: at the firmware's line, or when the kill below closes the pipe.
    let (say, heard) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let up = serial.is_some_and(firmware_speaks);
        // The receiver may have given up already.
        let _ = say.send(up);
    });
    let up = heard.recv_timeout(PROBE_TIME);
    // Only an already dead child refuses to be killed.
    let _ = child.kill();
    let status = child.wait().map_err(|error| error.to_string())?;
    let _ = reader.join();
    match up {
        Ok(true) => Ok(started.elapsed()),
        Ok(false) => Err(format!("QEMU ended with {status}: {}", output_tail(stderr))),
        Err(_) => Err(format!(
            "the firmware said nothing within {} s",
            PROBE_TIME.as_secs()
        )),
    }
}

fn probe_command(tree: &QemuTree, firmware: &Path) -> Result<Command, BootError> {
    let mut command = tree.qemu()?;
    command
        .args(["-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"])
        .args([
            "-machine",
            "q35,smm=off,pflash0=code",
            "-accel",
            "kvm",
            "-cpu",
            "max",
            "-m",
            "256",
        ])
        .arg("-blockdev")
        .arg(
            super::disk::block_node(
                "code",
                super::utf8(firmware)?,
                super::disk::ImageFormat::Raw,
                true,
            )
            .to_string(),
        )
        .args(["-serial", "stdio"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Reads until the firmware's first line (true) or the end (false).
fn firmware_speaks(mut serial: impl Read) -> bool {
    let (mut seen, mut buffer) = (Vec::new(), [0_u8; 512]);
    loop {
        match serial.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
        }
        if seen
            .windows(FIRMWARE_IS_UP.len())
            .any(|window| window == FIRMWARE_IS_UP)
        {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmware_is_up_at_its_first_line_and_not_before() {
        assert!(firmware_speaks(
            &b"\x1b[2J\x1b[01;01HBdsDxe: loading Boot0001"[..]
        ));
        assert!(!firmware_speaks(&b"\x1b[2J"[..]));
    }

    #[test]
    fn emulation_that_was_asked_for_is_not_probed() {
        let nowhere = Path::new("/nonexistent");
        let chosen = choose(AccelChoice::Tcg, &QemuTree::new(nowhere), nowhere).unwrap();
        assert_eq!(
            (chosen.accel, chosen.reason.as_str()),
            (Accel::Tcg, "asked for by --accel tcg")
        );
    }
}
