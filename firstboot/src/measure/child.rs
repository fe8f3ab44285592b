//! A tool that runs beside us: in its own process group, with a bound on its time and on what is kept of its output.
//!
//! Killing goes to the whole group, so that a tool that started others does not leave them. The group is killed
//! before its leader is reaped, because until then the number of the group cannot belong to anybody else.

use crate::host::CommandError;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// More than this of a tool's output is read and thrown away.
const KEPT: usize = 4 << 20;

/// How long the last output of a dead tool is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A running tool. Dropping it kills it and all that it started.
pub(super) struct Child {
    process: std::process::Child,
    group: Pid,
    shown: String,
    stdout: Option<Pipe>,
    stderr: Option<Pipe>,
    reaped: bool,
}

/// A tool that has ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
    shown: String,
}

impl Child {
    /// Starts `command` with its output caught.
    pub(super) fn spawn(mut command: Command) -> Result<Self, CommandError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let args = command
            .get_args()
            .map(|arg| format!(" {}", arg.to_string_lossy()));
        let shown = program.clone() + &args.collect::<String>();
        let start = |source| CommandError::Start {
            program: program.clone(),
            source,
        };
        let mut process = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(start)?;
        let group = i32::try_from(process.id()).map_err(|error| start(std::io::Error::other(error)))?;
        Ok(Self {
            stdout: process.stdout.take().map(Pipe::read),
            stderr: process.stderr.take().map(Pipe::read),
            process,
            group: Pid::from_raw(group),
            shown,
            reaped: false,
        })
    }

    /// Waits for the tool to end by itself, for at most `limit`; kills it then.
    pub(super) fn wait(mut self, limit: Duration) -> Result<Ended, CommandError> {
        let deadline = Instant::now() + limit;
        while !self.has_ended()? {
            if Instant::now() >= deadline {
                return Err(CommandError::TimedOut {
                    command: self.shown.clone(),
                    seconds: limit.as_secs(),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = self.kill_and_reap().map_err(|source| self.lost(source))?;
        Ok(Ended {
            status,
            stdout: self.stdout.take().map(Pipe::text).unwrap_or_default(),
            stderr: self.stderr.take().map(Pipe::text).unwrap_or_default(),
            shown: self.shown.clone(),
        })
    }

    /// Whether it has ended; it is not reaped by this.
    pub(super) fn has_ended(&self) -> Result<bool, CommandError> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.group), flags) {
            Ok(WaitStatus::StillAlive) => Ok(false),
            Ok(_) => Ok(true),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(self.lost(errno.into())),
        }
    }

    fn lost(&self, source: std::io::Error) -> CommandError {
        CommandError::Start {
            program: self.shown.clone(),
            source,
        }
    }

    fn kill_and_reap(&mut self) -> std::io::Result<ExitStatus> {
        match killpg(self.group, Signal::SIGKILL) {
            // The group is gone: all of it has ended.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
        let status = self.process.wait()?;
        self.reaped = true;
        Ok(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        if let Err(error) = self.kill_and_reap() {
            log::warn!("cannot end {}: {error}", self.shown);
        }
    }
}

impl Ended {
    /// The error for a tool that ended badly, with its last words.
    pub(super) fn failure(self) -> CommandError {
        let last = self.stderr.lines().rev().find(|line| !line.trim().is_empty());
        CommandError::Failed {
            stderr: last.unwrap_or("(no message)").trim().to_owned(),
            status: self.status.to_string(),
            command: self.shown,
        }
    }
}

/// One output of the tool, read by a thread so that a talkative tool does not block on a full pipe.
struct Pipe {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Pipe {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&kept);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            // A pipe that breaks ends the output; what came before is still worth reading.
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT.saturating_sub(kept.len()).min(count);
                kept.extend_from_slice(&buffer[..room]);
            }
        });
        Self { kept, reader }
    }

    /// What was read. Somebody outside the tool's group may hold the pipe open, so there is an end to waiting.
    fn text(self) -> String {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that runs a script of the test.
    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::spawn(command).unwrap()
    }

    fn is_alive(pid: &str) -> bool {
        // A zombie whose parent has not looked yet counts as dead.
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn output_and_status_of_a_tool_that_ends_are_returned() {
        let ended = shell("echo out; echo err >&2; exit 3")
            .wait(Duration::from_secs(10))
            .unwrap();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(
            ended.failure().to_string(),
            "sh -c echo out; echo err >&2; exit 3 ended with exit status: 3: err"
        );
    }

    #[test]
    fn a_tool_that_hangs_is_killed_with_all_that_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let child = shell(&format!("sleep 600 & echo $! > {}; wait", file.display()));
        let error = child.wait(Duration::from_millis(500)).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
        let pid = std::fs::read_to_string(&file).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_alive(&pid) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_alive(&pid), "process {pid} outlived its group");
    }

    #[test]
    fn a_tool_that_ends_and_leaves_others_with_its_pipe_does_not_hold_us() {
        let begin = Instant::now();
        let ended = shell("sleep 600 & echo done")
            .wait(Duration::from_secs(20))
            .unwrap();
        assert_eq!(ended.stdout, "done\n");
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn endless_output_is_bounded_in_time_and_memory() {
        let child = shell("while :; do echo rubbish; done");
        std::thread::sleep(Duration::from_millis(200));
        let kept = Arc::clone(&child.stdout.as_ref().unwrap().kept);
        let error = child.wait(Duration::from_millis(300)).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
        assert!(kept.lock().unwrap().len() <= KEPT);
    }
}
