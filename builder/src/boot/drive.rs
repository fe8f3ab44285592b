//! Drives a started guest through its goals, in a fixed order: console line, devices, script, files, snapshot, end.

use std::time::{Duration, Instant};

use serde_json::json;

use super::error::BootError;
use super::outcome::ScriptRun;
use super::prepare::Prepared;
use super::qemu::QemuTree;
use super::request::{BootRequest, Goals, SshPort, Watch};
use super::session::{Session, Stop, Stream};
use super::shell::Shell;
use super::{hotplug, note, qmp, snapshot};

/// How long the guest may take to shut down in good order.
const POWER_OFF: Duration = Duration::from_secs(180);
/// How long one file may take.
const COPY: Duration = Duration::from_secs(600);

/// What was reached, whatever came then.
#[derive(Debug, Default)]
pub struct Progress {
    /// Time to the shell's first answer.
    pub shell: Option<Duration>,
    /// The script's output so far.
    pub run: Option<ScriptRun>,
    /// The script did not end in time.
    pub script_timed_out: bool,
    /// The forwarded port.
    pub ssh_port: Option<u16>,
    /// The snapshot is saved and QEMU is ending.
    pub saved: bool,
}

/// Everything that a drive needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Drive<'a> {
    /// Where QEMU comes from.
    pub tree: &'a QemuTree,
    /// What is asked for.
    pub request: &'a BootRequest,
    /// The machine.
    pub prepared: &'a Prepared,
}

impl Drive<'_> {
    /// Refuses what this machine cannot do, before it is started.
    ///
    /// # Errors
    /// Names the option.
    pub fn check(self) -> Result<(), BootError> {
        match self.request.watch.ssh_port {
            Some(_) => forwarding_net(self.prepared).map(drop),
            None => Ok(()),
        }
    }

    /// Sets the stopped guest going and takes it through all goals.
    ///
    /// # Errors
    /// What ended it before that; `progress` holds what was reached.
    pub fn run(self, session: &mut Session, progress: &mut Progress) -> Result<(), Stop> {
        let goals = &self.request.goals;
        self.start(session, progress)?;
        let limit = (!goals.only_watch()).then(|| Instant::now() + goals.timeout);
        if let Some(until) = &goals.until {
            let what = format!("a console line that matches /{until}/");
            session.wait(limit, &what, |session| session.until_seen())?;
        }
        let shell = self.shell(session, limit, progress)?;
        if let Some(shell) = &shell {
            self.use_shell(session, shell, progress)?;
        }
        self.end(session, shell.as_ref(), progress)
    }

    /// Everything that must be true before the guest's first instruction, then that instruction.
    fn start(self, session: &mut Session, progress: &mut Progress) -> Result<(), Stop> {
        if self.prepared.saved {
            snapshot::restore(session, &self.prepared.parts)?;
        }
        for card in &self.prepared.links_down {
            session.command("set_link", &json!({ "name": card, "up": false }))?;
        }
        progress.ssh_port = self.forward_port(session)?;
        session.command("cont", &json!(null)).map(drop)
    }

    /// Forwards a port of 127.0.0.1, and of no other address, to the guest's port 22.
    fn forward_port(self, session: &mut Session) -> Result<Option<u16>, Stop> {
        let Some(wanted) = self.request.watch.ssh_port else {
            return Ok(None);
        };
        let net = forwarding_net(self.prepared)?;
        let number = match wanted {
            SshPort::Auto => 0,
            SshPort::Number(number) => number,
        };
        let refused = human(session, &format!("hostfwd_add {net} tcp:127.0.0.1:{number}-:22"))?;
        if !refused.trim().is_empty() {
            let command = format!("a forward of port {number}");
            return Err(BootError::Qmp {
                command,
                reason: refused.trim().to_owned(),
            }
            .into());
        }
        let port = qmp::forwarded_port(&human(session, "info usernet")?).unwrap_or(number);
        note(&format!("ssh to the guest: ssh -p {port} root@127.0.0.1"));
        Ok(Some(port))
    }

    fn shell(
        self,
        session: &mut Session,
        limit: Option<Instant>,
        progress: &mut Progress,
    ) -> Result<Option<Shell>, Stop> {
        if !self.request.goals.need_shell() {
            return Ok(None);
        }
        let shell = Shell::connect(session, limit, self.prepared.saved)?;
        progress.shell = Some(session.elapsed());
        Ok(Some(shell))
    }

    fn use_shell(self, session: &mut Session, shell: &Shell, progress: &mut Progress) -> Result<(), Stop> {
        let goals = &self.request.goals;
        let (workdir, parts) = (self.prepared.workdir.path(), &self.prepared.parts);
        hotplug::plug(session, shell, self.tree, workdir, parts, &goals.hotplug)?;
        if let Some(script) = &goals.run {
            run_script(session, shell, script, goals, &self.request.watch, progress)?;
        }
        for copy in &goals.copy_out {
            let content = shell.read_file(session, &copy.guest, COPY)?;
            std::fs::write(&copy.host, content).map_err(BootError::file("write", &copy.host))?;
        }
        if goals.save_snapshot.is_some() && !script_failed(progress) {
            self.settle(session, shell)?;
            snapshot::save(session, self.tree, self.prepared)?;
            progress.saved = true;
        }
        Ok(())
    }

    /// Without a console line to wait for, a snapshot waits until the guest has started all its services.
    fn settle(self, session: &mut Session, shell: &Shell) -> Result<(), Stop> {
        let goals = &self.request.goals;
        if self.prepared.saved || goals.until.is_some() {
            return Ok(());
        }
        let mut state = Vec::new();
        shell.run(
            session,
            b"systemctl is-system-running --wait",
            goals.timeout,
            |is_error, bytes| {
                if !is_error {
                    state.extend_from_slice(bytes);
                }
            },
        )?;
        note(&format!(
            "the guest is up: {}",
            String::from_utf8_lossy(&state).trim()
        ));
        Ok(())
    }

    fn end(self, session: &mut Session, shell: Option<&Shell>, progress: &Progress) -> Result<(), Stop> {
        let goals = &self.request.goals;
        if progress.saved {
            return await_end(session, Some(Instant::now() + POWER_OFF));
        }
        if let Some(pattern) = &goals.kill_when {
            let what = format!("a console line that matches /{pattern}/ (--kill-when)");
            return session.wait(Some(Instant::now() + goals.timeout), &what, |_| None);
        }
        if goals.only_watch() {
            return session.wait(None, "the guest's end", |_| None);
        }
        if goals.power_off {
            match shell {
                Some(shell) => shell.power_off(session)?,
                None => session.command("system_powerdown", &json!(null)).map(drop)?,
            }
            return await_end(session, Some(Instant::now() + POWER_OFF));
        }
        if self.prepared.keeps_overlay {
            // What the guest has written to its disk is in the file, also what QEMU still holds.
            session.command("quit", &json!(null))?;
            return await_end(session, Some(Instant::now() + POWER_OFF));
        }
        Ok(())
    }
}

/// The network over which a port can be forwarded.
fn forwarding_net(prepared: &Prepared) -> Result<&str, BootError> {
    let missing = || BootError::Options("--ssh-port needs a network card with net=user".to_owned());
    prepared.parts.user_net.as_deref().ok_or_else(missing)
}

/// Waits for an end that was asked for.
fn await_end(session: &mut Session, limit: Option<Instant>) -> Result<(), Stop> {
    match session.wait::<()>(limit, "the guest's end", |_| None) {
        Err(Stop::GuestEnded(_)) => Ok(()),
        other => other,
    }
}

fn run_script(
    session: &mut Session,
    shell: &Shell,
    script: &[u8],
    goals: &Goals,
    watch: &Watch,
    progress: &mut Progress,
) -> Result<(), Stop> {
    let run = progress.run.insert(ScriptRun::default());
    // With a JSON report on standard output, everything live goes to standard error.
    let out = if watch.json { Stream::Err } else { Stream::Out };
    let ended = shell.run(session, script, goals.run_timeout, |is_error, bytes| {
        if is_error { Stream::Err } else { out }.write(bytes);
        if is_error {
            &mut run.stderr
        } else {
            &mut run.stdout
        }
        .extend_from_slice(bytes);
    });
    match ended {
        Ok(code) => {
            run.code = Some(code);
            Ok(())
        }
        Err(stop) => {
            progress.script_timed_out = matches!(stop, Stop::TimedOut(_));
            Err(stop)
        }
    }
}

fn script_failed(progress: &Progress) -> bool {
    progress.run.as_ref().is_some_and(|run| run.code != Some(0))
}

/// A command that QEMU only has in its monitor for people; its text.
fn human(session: &mut Session, line: &str) -> Result<String, Stop> {
    let answer = session.command("human-monitor-command", &json!({ "command-line": line }))?;
    Ok(answer.as_str().unwrap_or_default().to_owned())
}
