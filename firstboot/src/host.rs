//! The host: the one place that says where files are and how commands and clocks are reached.
//!
//! On a node the root is `/`. In a test it is a directory, and commands are looked up in a directory of the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Where and how a host is read and written.
#[derive(Debug, Clone)]
pub struct Host {
    root: PathBuf,
    path: Option<std::ffi::OsString>,
}

/// A command that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed, or could not be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// Name of the program.
        program: String,
        /// The cause.
        source: std::io::Error,
    },
    /// It ended with an error.
    #[error("{command} ended with {status}: {stderr}")]
    Failed {
        /// The whole command, for people.
        command: String,
        /// Exit code or signal.
        status: String,
        /// Last line of its error output.
        stderr: String,
    },
    /// It did not end in time and was killed.
    #[error("{command} did not end within {seconds} s and was killed")]
    TimedOut {
        /// The whole command, for people.
        command: String,
        /// The time that it had, s.
        seconds: u64,
    },
}

impl Host {
    /// The running system.
    pub fn live() -> Self {
        Self {
            root: PathBuf::from("/"),
            path: None,
        }
    }

    /// A host whose files lie under `root`; commands are looked up in `bin` (a list of directories like `$PATH`).
    pub fn at(root: &Path, bin: Option<&Path>) -> Self {
        Self {
            root: root.to_owned(),
            path: bin.map(|dir| dir.as_os_str().to_owned()),
        }
    }

    /// `absolute` under this host's root.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Whether this is the running system, so that system calls that have no root may be used.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A command with this host's search path, no standard input, and the C locale.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).env("LC_ALL", "C");
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        command
    }

    /// Runs `program` to its end, for at most `limit`, and returns its standard output.
    ///
    /// # Errors
    /// When it cannot be started, fails, or is killed at the limit.
    pub fn run(&self, program: &str, args: &[&str], limit: Duration) -> Result<String, CommandError> {
        let mut command = self.command(program);
        command.args(args);
        run_limited(command, limit)
    }
}

/// Runs a prepared command to its end, for at most `limit`, and returns its standard output.
///
/// # Errors
/// When it cannot be started, fails, or is killed at the limit.
pub fn run_limited(mut command: Command, limit: Duration) -> Result<String, CommandError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let shown = shown(&command);
    let start = |source| CommandError::Start {
        program: program.clone(),
        source,
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start_unless_written(&mut command).map_err(start)?;
    // Pipes are drained by threads, so that a talkative program cannot block on a full one.
    let stdout = child.stdout.take().map(drain);
    let stderr = child.stderr.take().map(drain);
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start)? {
            break status;
        }
        if Instant::now() >= deadline {
            // Killed at the limit: what a kill or a wait says then adds nothing to the time-out that is reported.
            let _ = child.kill();
            let _ = child.wait();
            return Err(CommandError::TimedOut {
                command: shown,
                seconds: limit.as_secs(),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = Output {
        status,
        stdout: joined(stdout),
        stderr: joined(stderr),
    };
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("(no message)");
        return Err(CommandError::Failed {
            command: shown,
            status: output.status.to_string(),
            stderr: last.trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Starts a program. One that is open for writing this very moment (a package is being upgraded) is tried again.
fn start_unless_written(command: &mut Command) -> std::io::Result<std::process::Child> {
    const TRIES: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(50);
    for _ in 1..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::sleep(PAUSE),
            started => return started,
        }
    }
    command.spawn()
}

fn shown(command: &Command) -> String {
    let args = command
        .get_args()
        .map(|arg| format!(" {}", arg.to_string_lossy()));
    command.get_program().to_string_lossy().into_owned() + &args.collect::<String>()
}

fn drain<R: std::io::Read + Send + 'static>(mut pipe: R) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks ends the output; what came before is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn joined(thread: Option<std::thread::JoinHandle<Vec<u8>>>) -> Vec<u8> {
    thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_killed_at_its_limit() {
        let error = Host::live()
            .run("sleep", &["60"], Duration::from_millis(50))
            .unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
    }

    #[test]
    fn a_failure_shows_the_command_and_its_last_words() {
        let error = Host::live()
            .run("ls", &["/no such dir"], Duration::from_secs(5))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("ls /no such dir ended with exit status: 2"),
            "{error}"
        );
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn paths_stay_under_the_root() {
        let host = Host::at(Path::new("/tmp/h"), None);
        assert_eq!(host.path("/etc/x"), Path::new("/tmp/h/etc/x"));
    }
}
