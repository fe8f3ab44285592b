//! A guest of a test: arguments for the real `dtnforge boot`, and its report.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use dtnforge_profiles::envelope::Envelope;
use serde::Deserialize;

use crate::image::{only_one, test_out};
use crate::programs::{Programs, make_dir, output};
use crate::{Answers, Image, Probes, Trouble};

/// A guest that is about to be booted. The options are those of `dtnforge boot`.
#[derive(Debug, Clone)]
pub struct Vm {
    name: String,
    args: Vec<OsString>,
}

impl Vm {
    /// A guest of `image`; `name` names its logs, as the test does.
    pub fn of(image: &Image, name: &str) -> Vm {
        Vm {
            name: name.to_owned(),
            args: vec![image.out.clone().into()],
        }
    }

    /// A guest that goes on from a snapshot.
    pub fn of_snapshot(snapshot: &Path, name: &str) -> Vm {
        Vm {
            name: name.to_owned(),
            args: vec!["--snapshot".into(), snapshot.into()],
        }
    }

    /// Adds an option with its value.
    #[must_use]
    pub fn option(mut self, option: &str, value: impl AsRef<OsStr>) -> Vm {
        self.args.extend([option.into(), value.as_ref().into()]);
        self
    }

    /// Adds an option without a value.
    #[must_use]
    pub fn flag(mut self, option: &str) -> Vm {
        self.args.push(option.into());
        self
    }

    /// Looks like a server.
    #[must_use]
    pub fn bare_metal(self) -> Vm {
        self.flag("--as-bare-metal")
    }

    /// A network card, as `--nic` takes it.
    #[must_use]
    pub fn nic(self, spec: &str) -> Vm {
        self.option("--nic", spec)
    }

    /// A data disk, as `--disk` takes it.
    #[must_use]
    pub fn disk(self, spec: &str) -> Vm {
        self.option("--disk", spec)
    }

    /// Boots and stays until the goals are reached; the log of the console is in the report.
    ///
    /// # Errors
    /// When `dtnforge boot` failed to drive a guest at all. A guest that did not do as asked is in the report.
    pub fn boot(self) -> Result<Report, Trouble> {
        let serial = log_path(&self.name, "serial")?;
        let programs = Programs::get()?;
        let mut command = Command::new(&programs.dtnforge);
        command
            .arg("boot")
            .args(&self.args)
            .arg("--json")
            .arg("--serial")
            .arg(&serial);
        // Guests share few processors: two at once would only make both miss their limits.
        let _one = only_one("guest")?;
        let output = output(&mut command)?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        match serde_json::from_str::<Envelope<Data>>(&stdout) {
            Ok(envelope) => Ok(Report {
                data: envelope.data,
                serial,
                stderr,
            }),
            Err(error) => Err(Trouble::Answer {
                what: format!("dtnforge boot {:?} ({})", self.args, output.status),
                reason: error.to_string(),
                text: format!("{stdout}{stderr}"),
            }),
        }
    }

    /// Boots, asks `probes` in the guest's root shell, once more after each `--again`, and ends. There are as many
    /// answers as boots that were asked.
    ///
    /// # Errors
    /// When the guest gives no answers.
    pub fn ask_each(self, probes: &Probes) -> Result<(Report, Vec<Answers>), Trouble> {
        let script = log_path(&self.name, "probes.sh")?;
        std::fs::write(&script, probes.script()).map_err(Trouble::file("write", &script))?;
        let report = self.option("--run", &script).boot()?;
        if report.data.exit != 0 || report.data.runs.is_empty() {
            return Err(report.trouble("it gave no answers"));
        }
        let answers = report.data.runs.iter().map(|run| probes.answers(&run.stdout));
        let answers = answers.collect::<Result<_, _>>()?;
        Ok((report, answers))
    }

    /// Boots, asks `probes` in the guest's root shell, and ends.
    ///
    /// # Errors
    /// When the guest gives no answers.
    pub fn ask(self, probes: &Probes) -> Result<(Report, Answers), Trouble> {
        let (report, mut answers) = self.ask_each(probes)?;
        match answers.pop() {
            Some(answers) => Ok((report, answers)),
            None => Err(report.trouble("it gave no answers")),
        }
    }
}

/// A file of a test, in one place for all tests: the console's log, the script.
///
/// # Errors
/// When the place cannot be made.
pub fn log_path(name: &str, kind: &str) -> Result<PathBuf, Trouble> {
    let logs = test_out()?.join("logs");
    make_dir(&logs)?;
    Ok(logs.join(format!("{name}.{kind}")))
}

/// A path of a test under which nothing is left from an earlier run.
///
/// # Errors
/// When what is there cannot be removed.
pub fn fresh_path(name: &str, kind: &str) -> Result<PathBuf, Trouble> {
    let path = log_path(name, kind)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Trouble::file("remove", path)(error))
        }
        _ => Ok(path),
    }
}

/// How a boot went.
#[derive(Debug, Clone)]
pub struct Report {
    /// The report of `dtnforge boot`.
    pub data: Data,
    /// The console's log.
    pub serial: PathBuf,
    /// What `dtnforge boot` told a person.
    pub stderr: String,
}

/// The data of the report of `dtnforge boot --json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Data {
    /// `kvm` or `tcg`.
    pub accel: String,
    /// Exit code.
    pub exit: u8,
    /// Why it ended: `done`, `timed-out`, `power-cut`, ...
    pub reason: String,
    /// The same for people.
    pub sentence: String,
    /// Seconds to the awaited console line.
    pub seconds_until: Option<f64>,
    /// Seconds to the first answer of the guest's shell.
    pub seconds_shell: Option<f64>,
    /// Seconds to the end.
    pub seconds: f64,
    /// How often the guest started again.
    pub resets: u32,
    /// Each time that the guest started.
    pub boots: Vec<Boot>,
    /// What the script did, each time that it ran.
    pub runs: Vec<Run>,
    /// The console's last lines.
    pub console_tail: String,
}

/// One boot of a guest.
#[derive(Debug, Clone, Deserialize)]
pub struct Boot {
    /// How it came about: `power-on`, `guest-reset`, `watchdog`, `power-cycle`, `soft-reboot`, `kexec`.
    pub by: String,
    /// When it began, in seconds since the machine was switched on.
    pub at: f64,
    /// Where its console begins in the log, in bytes.
    pub console_at: u64,
    /// Seconds from its start until sshd answered.
    pub seconds_reachable: Option<f64>,
    /// Seconds from its start until the shell answered.
    pub seconds_shell: Option<f64>,
}

impl Boot {
    /// Seconds from the machine's first start until sshd answered in this boot.
    pub fn reachable_at(&self) -> Option<f64> {
        self.seconds_reachable.map(|seconds| self.at + seconds)
    }
}

/// What a script in the guest did.
#[derive(Debug, Clone, Deserialize)]
pub struct Run {
    /// Its exit code; `None` when it was cut off.
    pub exit: Option<u8>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Report {
    /// The console's log as text.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn console(&self) -> Result<String, Trouble> {
        let bytes = std::fs::read(&self.serial).map_err(Trouble::file("read", &self.serial))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An error that shows how the guest went.
    pub fn trouble(&self, reason: &str) -> Trouble {
        Trouble::Answer {
            what: format!("the guest ({})", self.data.sentence),
            reason: reason.to_owned(),
            text: format!(
                "{}\n{}\nconsole log: {}",
                self.stderr,
                self.data.console_tail,
                self.serial.display()
            ),
        }
    }
}
