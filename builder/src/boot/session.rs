//! A guest that runs: hears its events, keeps what matters of them, and lets a caller wait for something.
//!
//! Whatever is waited for, the same things are looked after: the console is logged and searched, incidents happen at
//! their moment, sshd's answer is noted, a signal ends the wait, and so does a QEMU that is gone.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::interrupt;

use super::boots::{Began, Boots};
use super::console::Console;
use super::error::BootError;
use super::frames::{self, Frame};
use super::incident::{Act, Incidents};
use super::note;
use super::power::{Power, Wiring};
use super::process::{Event, Process};
use super::qmp::{self, Message};
use super::reach::Reach;

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

/// A running guest.
#[derive(Debug)]
pub struct Session {
    pub(super) process: Process,
    pub(super) power: Power,
    pub(super) wiring: Wiring,
    pub(super) reach: Option<Reach>,
    events: Receiver<Event>,
    console: Console,
    incidents: Incidents,
    started: Instant,
    until_seen: Option<Duration>,
    boots: Boots,
    watchdog_fired: bool,
    shutdown: Option<String>,
    complaints: Vec<u8>,
    control_lines: qmp::Lines,
    next_id: u64,
    greeted: bool,
    asking: bool,
    answers: HashMap<u64, Result<Value, String>>,
    shell_lines: qmp::Lines,
    shell_tail: Vec<u8>,
    shell_prompted: bool,
    pub(super) frames: VecDeque<Frame>,
}

impl Session {
    /// Starts QEMU; the machine is still stopped.
    ///
    /// # Errors
    /// As [`Power::on`].
    pub fn start(
        power: Power,
        wiring: Wiring,
        console: Console,
        incidents: Incidents,
    ) -> Result<Session, BootError> {
        let (process, events) = power.on()?;
        Ok(Session {
            process,
            power,
            wiring,
            reach: None,
            events,
            console,
            incidents,
            started: Instant::now(),
            until_seen: None,
            boots: Boots::default(),
            watchdog_fired: false,
            shutdown: None,
            complaints: Vec::new(),
            control_lines: qmp::Lines::default(),
            next_id: 1,
            greeted: false,
            asking: false,
            answers: HashMap::new(),
            shell_lines: qmp::Lines::default(),
            shell_tail: Vec::new(),
            shell_prompted: false,
            frames: VecDeque::new(),
        })
    }

    /// Takes over a QEMU that was started in place of one that was killed: nothing said to the former one holds.
    pub(super) fn replace(&mut self, process: Process, events: Receiver<Event>) {
        self.process = process;
        self.events = events;
        self.console.cut();
        self.complaints.clear();
        self.control_lines = qmp::Lines::default();
        self.greeted = false;
        self.answers.clear();
        self.watchdog_fired = false;
    }

    /// Notes that a boot begins; its shell has to show its prompt anew.
    pub fn begin_boot(&mut self, by: Began) {
        self.boots.begin(by, self.started.elapsed(), self.console.bytes());
        self.shell_lines = qmp::Lines::default();
        self.shell_tail.clear();
        self.shell_prompted = false;
        self.frames.clear();
        if let Some(reach) = &self.reach {
            reach.boot_begins();
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

    /// The boots so far.
    pub fn boots(&self) -> &Boots {
        &self.boots
    }

    /// Notes that the guest's shell answers.
    pub(super) fn shell_answers(&mut self) {
        self.boots.shell(self.started.elapsed());
    }

    /// Whether a root shell has shown its prompt on ttyS1 since the present boot began.
    pub(super) fn shell_prompted(&self) -> bool {
        self.shell_prompted
    }

    /// The console's last lines.
    pub fn console_tail(&self) -> String {
        self.console.tail()
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
            self.look_around()?;
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

    /// What is looked after besides events: whether sshd answers, and what is due from outside.
    fn look_around(&mut self) -> Result<(), Stop> {
        if let Some(at) = self.reach.as_ref().and_then(Reach::take_answer) {
            self.boots.reached(at.saturating_duration_since(self.started));
        }
        // Not while QEMU owes an answer: after a power cut it would never come.
        if self.asking {
            return Ok(());
        }
        self.incidents.on_time(self.started.elapsed());
        for act in self.incidents.take_due() {
            match act {
                Act::Cable { nic, up } => self.set_cable(nic, up)?,
                Act::PowerCycle => self.power_cycle()?,
                Act::Type(line) => self.type_line(&line)?,
            }
        }
        Ok(())
    }

    fn type_line(&mut self, line: &str) -> Result<(), BootError> {
        const LIMIT: Duration = Duration::from_secs(10);
        let line = format!("{line}\r");
        self.process
            .write_console(line.as_bytes(), LIMIT)
            .map_err(|source| BootError::Qemu {
                action: "cannot type at the guest's console",
                source,
            })
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
        let incidents = &mut self.incidents;
        let seen = self.console.take(bytes, |line| incidents.on_line(line))?;
        if seen.until {
            self.until_seen.get_or_insert(self.started.elapsed());
        }
        if seen.kill_when {
            self.cut_power()?;
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
                let by = if std::mem::take(&mut self.watchdog_fired) {
                    Began::Watchdog
                } else {
                    Began::GuestReset
                };
                self.begin_boot(by);
                note(&format!(
                    "the guest starts again ({})",
                    data["reason"].as_str().unwrap_or("no reason")
                ));
            }
            "SHUTDOWN" => self.shutdown = data["reason"].as_str().map(str::to_owned),
            "WATCHDOG" => {
                self.watchdog_fired = true;
                note("the guest's watchdog fired");
            }
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
        let asking = std::mem::replace(&mut self.asking, true);
        let answer = self.ask(command, arguments);
        self.asking = asking;
        answer
    }

    fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, Stop> {
        const LIMIT: Duration = Duration::from_secs(60);
        let deadline = Some(Instant::now() + LIMIT);
        if !self.greeted {
            self.wait(deadline, "QEMU's greeting", |session| {
                session.greeted.then_some(())
            })?;
            if command != "qmp_capabilities" {
                self.ask("qmp_capabilities", &Value::Null)?;
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
}
