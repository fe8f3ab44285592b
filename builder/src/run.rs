//! The door to programs: a fixed environment, an argument array (never a shell), output to a log file, and an end
//! with the whole process group when the user interrupts.

use crate::fsx::{self, FileError};
use crate::interrupt::{self, Interrupted};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How many of the last lines of a failed program are told.
const TOLD_LINES: usize = 20;
/// How long an interrupted program may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// Variables of the caller that programs may see: the way to the network, nothing else.
const PASSED_ON: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Why a program did not do what it was run for.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error("cannot start `{program}`{}", start_hint(program, source))]
    Start {
        /// The program.
        program: String,
        /// Reason.
        source: io::Error,
    },
    /// It ended with an error.
    #[error("`{program}` failed ({status}); the last lines of its output:\n{tail}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines, indented.
        tail: String,
    },
    /// The user asked us to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Its log or its output could not be used.
    #[error(transparent)]
    File(#[from] FileError),
}

fn start_hint(program: &str, source: &io::Error) -> String {
    if source.kind() == io::ErrorKind::NotFound {
        format!("\nhint: it comes from the Debian package `{program}` or a package of that kind; install it")
    } else {
        String::new()
    }
}

/// One program to run.
#[derive(Debug)]
pub struct Program {
    name: String,
    command: Command,
}

impl Program {
    /// `program` with an environment that is the same on every host.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(&program);
        let passed: Vec<(&str, OsString)> = PASSED_ON
            .iter()
            .filter_map(|name| std::env::var_os(name).map(|value| (*name, value)))
            .collect();
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("HOME", "/")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("PYTHONHASHSEED", "0")
            .envs(passed)
            .stdin(Stdio::null())
            .process_group(0);
        Self {
            name: program.as_ref().to_string_lossy().into_owned(),
            command,
        }
    }

    /// The name that errors use.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn current_dir(mut self, path: &Path) -> Self {
        self.command.current_dir(path);
        self
    }

    /// Runs it to its end, with all output in the file `log`.
    ///
    /// # Errors
    /// It does not start or does not succeed, or the user interrupts.
    pub fn run(mut self, log: &Path) -> Result<(), RunError> {
        let output = log_file(log)?;
        let errors = output
            .try_clone()
            .map_err(|source| FileError::new("open", log, source))?;
        self.command.stdout(output).stderr(errors);
        self.finish(log)
    }

    /// Runs it to its end and returns what it printed; messages go to the file `log`.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn output(mut self, log: &Path) -> Result<String, RunError> {
        let mut captured = OsString::from(log);
        captured.push(".out");
        let captured = PathBuf::from(captured);
        self.command.stdout(log_file(&captured)?).stderr(log_file(log)?);
        self.finish(log)?;
        let text = String::from_utf8_lossy(&fsx::read(&captured)?).into_owned();
        fsx::remove_tree(&captured)?;
        Ok(text)
    }

    fn finish(mut self, log: &Path) -> Result<(), RunError> {
        interrupt::check()?;
        tracing::debug!("run {:?}", self.command);
        let mut child = self.command.spawn().map_err(|source| RunError::Start {
            program: self.name.clone(),
            source,
        })?;
        let status = wait(&mut child).map_err(|source| RunError::Start {
            program: self.name.clone(),
            source,
        })?;
        interrupt::check()?;
        if status.success() {
            return Ok(());
        }
        Err(RunError::Failed {
            program: self.name,
            status,
            tail: tail(log)?,
        })
    }
}

fn log_file(path: &Path) -> Result<File, FileError> {
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|source| FileError::new("open", path, source))
}

/// Waits for the end, and ends the program's whole group when the user interrupts.
fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let mut pause = Duration::from_millis(1);
    let mut asked_at = None;
    loop {
        if let Some(status) = child.try_wait()? {
            if asked_at.is_some() {
                // The first process of a namespace ignores SIGTERM; nothing of the group may outlive us.
                signal(group, Signal::SIGKILL);
            }
            return Ok(status);
        }
        match asked_at {
            None if interrupt::requested() => {
                signal(group, Signal::SIGTERM);
                asked_at = Some(Instant::now());
            }
            Some(asked) if Instant::now().duration_since(asked) > GRACE => signal(group, Signal::SIGKILL),
            _ => {}
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn signal(group: Pid, signal: Signal) {
    if let Err(errno) = killpg(group, signal) {
        tracing::debug!("{signal} to group {group}: {errno}");
    }
}

fn tail(log: &Path) -> Result<String, FileError> {
    let text = String::from_utf8_lossy(&fsx::read(log)?).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(TOLD_LINES)..];
    Ok(shown
        .iter()
        .map(|line| format!("  | {line}"))
        .collect::<Vec<_>>()
        .join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_program_tells_its_last_lines() {
        let home = tempfile::tempdir().unwrap();
        let program = Program::new("ls").arg("/no/such/place");
        let error = program.run(&home.path().join("log")).unwrap_err().to_string();
        assert!(
            error.starts_with("`ls` failed (exit status: 2); the last lines of its output:\n  | "),
            "{error}"
        );
        assert!(error.contains("/no/such/place"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named_with_a_hint() {
        let home = tempfile::tempdir().unwrap();
        let error = Program::new("no-such-tool")
            .run(&home.path().join("log"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot start `no-such-tool`\nhint: "),
            "{error}"
        );
    }

    #[test]
    fn the_environment_of_the_caller_does_not_reach_a_program() {
        let home = tempfile::tempdir().unwrap();
        let seen = Program::new("env").output(&home.path().join("log")).unwrap();
        let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(!names.contains(&"USER") && names.contains(&"LC_ALL"), "{names:?}");
    }
}
