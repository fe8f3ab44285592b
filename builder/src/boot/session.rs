//! A guest that runs: hears its events, keeps what matters of them, and lets a caller wait for something.
//!
//! Whatever is waited for, the same things are looked after: the console is logged and searched, a power cut happens
//! when its pattern shows, a signal ends the wait, and so does a QEMU that is gone.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::Value;

use crate::interrupt;

use super::error::BootError;
use super::frames::{self, Frame};
use super::note;
use super::process::{Event, Process};
use super::qmp::{self, Message};
use super::serial::ConsoleText;

/// How often a wait looks whether this process was told to end.
const LOOK_UP: Duration = Duration::from_millis(200);

/// How the prompt of every root shell ends.
const PROMPT_END: &[u8] = b"# ";

/// Why a guest was not driven to the end.
#[derive(Debug)]
pub enum Stop {
    /// Something failed.
    Failed(BootError),
    /// What was waited for did not come in time.
    TimedOut(String),
    /// The guest ended by itself, with QEMU's reason, such as `guest-shutdown`.
    GuestEnded(String),
    /// The power was cut because the console showed the pattern for it.
    PowerCut,
    /// This process was told to end (Ctrl-C, SIGTERM).
    Interrupted,
}

impl From<BootError> for Stop {
    fn from(error: BootError) -> Stop {
        Stop::Failed(error)
    }
}

/// What is looked for on the console, and where it goes.
#[derive(Debug, Default)]
pub struct Console {
    /// Every byte goes here.
    pub log: Option<File>,
    /// Every byte is shown, on this stream.
    pub show: Option<Stream>,
    /// The pattern that is waited for.
    pub until: Option<Regex>,
    /// The pattern at which the power is cut.
    pub kill_when: Option<Regex>,
}

/// One of our own output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    /// Writes and flushes. A reader that went away does not stop a guest, so its absence is no error.
    pub fn write(self, bytes: &[u8]) {
        let _ = match self {
            Stream::Out => write_all(&mut std::io::stdout().lock(), bytes),
            Stream::Err => write_all(&mut std::io::stderr().lock(), bytes),
        };
    }
}

fn write_all(stream: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// A running guest.
#[derive(Debug)]
pub struct Session {
    pub(super) process: Process,
    events: Receiver<Event>,
    console: Console,
    text: ConsoleText,
    started: Instant,
    until_seen: Option<Duration>,
    resets: u32,
    shutdown: Option<String>,
    complaints: Vec<u8>,
    control_lines: qmp::Lines,
    next_id: u64,
    greeted: bool,
    answers: HashMap<u64, Result<Value, String>>,
    shell_lines: qmp::Lines,
    shell_tail: Vec<u8>,
    shell_prompted: bool,
    pub(super) frames: VecDeque<Frame>,
}

impl Session {
    /// Takes over a process that was just started.
    pub fn new(process: Process, events: Receiver<Event>, console: Console) -> Session {
        Session {
            process,
            events,
            console,
            text: ConsoleText::default(),
            started: Instant::now(),
            until_seen: None,
            resets: 0,
            shutdown: None,
            complaints: Vec::new(),
            control_lines: qmp::Lines::default(),
            next_id: 1,
            greeted: false,
            answers: HashMap::new(),
            shell_lines: qmp::Lines::default(),
            shell_tail: Vec::new(),
            shell_prompted: false,
            frames: VecDeque::new(),
        }
    }

    /// Time since the guest was started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the awaited pattern was seen, if it was.
    pub fn until_seen(&self) -> Option<Duration> {
        self.until_seen
    }

    /// How often the guest started again.
    pub fn resets(&self) -> u32 {
        self.resets
    }

    /// Whether a root shell has shown its prompt on ttyS1 since the guest was last reset.
    pub(super) fn shell_prompted(&self) -> bool {
        self.shell_prompted
    }

    /// The console's last lines.
    pub fn console_tail(&self) -> String {
        self.text.tail()
    }

    /// A number that was not used before.
    pub(super) fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Handles events until `ready` has something, or `deadline` is over (none: for ever).
    ///
    /// # Errors
    /// `TimedOut` with `what`, or whatever ended the guest first.
    pub fn wait<T>(
        &mut self,
        deadline: Option<Instant>,
        what: &str,
        mut ready: impl FnMut(&mut Session) -> Option<T>,
    ) -> Result<T, Stop> {
        loop {
            if let Some(value) = ready(self) {
                return Ok(value);
            }
            if interrupt::requested() {
                return Err(Stop::Interrupted);
            }
            let left = deadline.map_or(LOOK_UP, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            match self.events.recv_timeout(left.min(LOOK_UP)) {
                Ok(event) => self.handle(event)?,
                Err(_) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                    return Err(Stop::TimedOut(what.to_owned()));
                }
                Err(_) => {}
            }
        }
    }

    /// Handles events for `time`.
    ///
    /// # Errors
    /// Whatever ends the guest meanwhile.
    pub fn pause(&mut self, time: Duration) -> Result<(), Stop> {
        match self.wait::<()>(Some(Instant::now() + time), "", |_| None) {
            Err(Stop::TimedOut(_)) | Ok(()) => Ok(()),
            Err(stop) => Err(stop),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), Stop> {
        match event {
            Event::Console(bytes) => self.on_console(&bytes),
            Event::Shell(bytes) => {
                self.look_for_prompt(&bytes);
                let lines = self.shell_lines.feed(&bytes);
                self.frames
                    .extend(lines.iter().filter_map(|line| frames::parse(line)));
                Ok(())
            }
            Event::Control(bytes) => self.on_control(&bytes),
            Event::Complaint(bytes) => {
                self.complaints.extend(bytes);
                Ok(())
            }
            Event::Gone => Err(self.on_gone()),
        }
    }

    /// Bytes come in any portions, so the prompt's end may be cut.
    fn look_for_prompt(&mut self, bytes: &[u8]) {
        self.shell_tail.extend_from_slice(bytes);
        let kept = self.shell_tail.len().saturating_sub(PROMPT_END.len());
        self.shell_tail.drain(..kept);
        self.shell_prompted |= self.shell_tail == PROMPT_END;
    }

    fn on_console(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if let Some(log) = &mut self.console.log {
            log.write_all(bytes)
                .map_err(BootError::file("write", "the serial log"))?;
        }
        if let Some(stream) = self.console.show {
            stream.write(bytes);
        }
        let (until, kill_when) = (&self.console.until, &self.console.kill_when);
        let (mut reached, mut cut) = (false, false);
        self.text.feed(bytes, |line| {
            reached |= until.as_ref().is_some_and(|pattern| pattern.is_match(line));
            cut |= kill_when.as_ref().is_some_and(|pattern| pattern.is_match(line));
        });
        if reached && self.until_seen.is_none() {
            self.until_seen = Some(self.started.elapsed());
        }
        if cut {
            self.process.kill().map_err(|source| BootError::Qemu {
                action: "cannot kill QEMU",
                source,
            })?;
            return Err(Stop::PowerCut);
        }
        Ok(())
    }

    fn on_control(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        for line in self.control_lines.feed(bytes) {
            match qmp::parse(&line)? {
                Message::Greeting => self.greeted = true,
                Message::Answer { id, result } => {
                    self.answers.insert(id, result);
                }
                Message::Event { name, data } => self.on_machine_event(&name, &data),
            }
        }
        Ok(())
    }

    fn on_machine_event(&mut self, name: &str, data: &Value) {
        match name {
            "RESET" if data["guest"] == true => {
                self.resets += 1;
                self.shell_prompted = false;
                note(&format!(
                    "the guest starts again ({})",
                    data["reason"].as_str().unwrap_or("no reason")
                ));
            }
            "SHUTDOWN" => self.shutdown = data["reason"].as_str().map(str::to_owned),
            "WATCHDOG" => note("the guest's watchdog fired"),
            _ => tracing::debug!("QEMU says {name}"),
        }
    }

    /// Every channel is closed: did the guest end, or did QEMU?
    fn on_gone(&mut self) -> Stop {
        let status = self.process.reap();
        match (self.shutdown.take(), status) {
            (Some(reason), _) => Stop::GuestEnded(reason),
            (None, Ok(status)) => Stop::Failed(BootError::QemuDied {
                status: status.to_string(),
                detail: match String::from_utf8_lossy(&self.complaints).trim() {
                    "" => String::new(),
                    text => format!(":\n{text}"),
                },
            }),
            (None, Err(source)) => Stop::Failed(BootError::Qemu {
                action: "cannot reap QEMU",
                source,
            }),
        }
    }

    /// Sends `command` to QEMU and waits for its answer, at most a minute.
    ///
    /// # Errors
    /// QEMU's own words when it refuses.
    pub fn command(&mut self, command: &str, arguments: &Value) -> Result<Value, Stop> {
        const LIMIT: Duration = Duration::from_secs(60);
        let deadline = Some(Instant::now() + LIMIT);
        if !self.greeted {
            self.wait(deadline, "QEMU's greeting", |session| {
                session.greeted.then_some(())
            })?;
            if command != "qmp_capabilities" {
                self.command("qmp_capabilities", &Value::Null)?;
            }
        }
        let id = self.fresh_id();
        // A QEMU that is dying closes the socket; what it has to say arrives as events.
        let written = self.process.write_control(&qmp::command(id, command, arguments));
        let what = format!("QEMU's answer to {command}");
        let answer = self.wait(deadline, &what, |session| session.answers.remove(&id))?;
        written.map_err(|source| BootError::Qemu {
            action: "cannot write to QEMU's control socket",
            source,
        })?;
        answer.map_err(|reason| {
            Stop::Failed(BootError::Qmp {
                command: command.to_owned(),
                reason,
            })
        })
    }

    /// Opens the serial log at `path`, empty.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn open_log(path: &Path) -> Result<File, BootError> {
        File::create(path).map_err(BootError::file("create", path))
    }
}
