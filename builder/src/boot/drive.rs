//! Drives a started guest through its goals, in a fixed order: console line, sshd's answer, devices, script, the same
//! after more boots, files, snapshot, end.

use std::time::{Duration, Instant};

use serde_json::json;

use super::boots::Began;
use super::console::Stream;
use super::error::BootError;
use super::incident;
use super::outcome::ScriptRun;
use super::power::Forward;
use super::prepare::Prepared;
use super::qemu::QemuTree;
use super::request::{Again, BootRequest, Goals, Hotplug, SshPort, Watch};
use super::session::{Session, Stop};
use super::shell::Shell;
use super::{hotplug, note, snapshot};

/// How long the guest may take to shut down in good order.
const POWER_OFF: Duration = Duration::from_secs(180);
/// How long one file may take.
const COPY: Duration = Duration::from_secs(600);

/// What was reached, whatever came then.
#[derive(Debug, Default)]
pub struct Progress {
    /// Time to the shell's first answer.
    pub shell: Option<Duration>,
    /// The script's outputs so far, one for each boot that it ran in.
    pub runs: Vec<ScriptRun>,
    /// The script did not end in time.
    pub script_timed_out: bool,
    /// The snapshot is saved and QEMU is ending.
    pub saved: bool,
}

impl Progress {
    /// Whether the script's last run ended with anything but 0.
    pub fn script_failed(&self) -> bool {
        self.runs.last().is_some_and(|run| run.code != Some(0))
    }
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
        let plugged_in = self.request.goals.hotplug.iter();
        let later = plugged_in
            .filter(|device| matches!(device, Hotplug::Nic(_)))
            .count();
        let cards = usize::from(self.prepared.parts.nics) + later;
        incident::check_cards(&self.request.incidents, cards).map_err(BootError::Options)?;
        self.forward().map(drop)
    }

    /// The port to be forwarded, and the network over which that goes.
    ///
    /// # Errors
    /// There is no such network.
    pub fn forward(self) -> Result<Option<Forward>, BootError> {
        let port = match self.request.watch.ssh_port {
            None => return Ok(None),
            Some(SshPort::Auto) => 0,
            Some(SshPort::Number(number)) => number,
        };
        let missing = || BootError::Options("--ssh-port needs a network card with net=user".to_owned());
        let net = self.prepared.parts.user_net.clone().ok_or_else(missing)?;
        Ok(Some(Forward { net, port }))
    }

    /// Sets the stopped guest going and takes it through all goals.
    ///
    /// # Errors
    /// What ended it before that; `progress` holds what was reached.
    pub fn run(self, session: &mut Session, progress: &mut Progress) -> Result<(), Stop> {
        let goals = &self.request.goals;
        if self.prepared.saved {
            snapshot::restore(session, &self.prepared.parts)?;
        }
        session.switch_on()?;
        let limit = self.limit();
        if let Some(until) = &goals.until {
            let what = format!("a console line that matches /{until}/");
            session.wait(limit, &what, |session| session.until_seen())?;
        }
        self.wait_for_ssh(session, limit)?;
        let shell = if goals.need_shell() {
            let shell = self.shell(session, limit, progress)?;
            Some(self.use_shell(session, shell, progress)?)
        } else {
            None
        };
        session.pause(goals.linger)?;
        self.end(session, shell.as_ref(), progress)
    }

    /// How long one boot may take to its shell; for ever when only the guest's own end is awaited.
    fn limit(self) -> Option<Instant> {
        let goals = &self.request.goals;
        (!goals.only_watch()).then(|| Instant::now() + goals.timeout)
    }

    fn wait_for_ssh(self, session: &mut Session, limit: Option<Instant>) -> Result<(), Stop> {
        if !self.request.goals.until_ssh {
            return Ok(());
        }
        let what = "an answer of sshd on the forwarded port";
        session.wait(limit, what, |session| session.boots().now().reachable.map(drop))
    }

    fn shell(
        self,
        session: &mut Session,
        limit: Option<Instant>,
        progress: &mut Progress,
    ) -> Result<Shell, Stop> {
        let saved = self.prepared.saved && session.boots().count() == 1;
        let shell = Shell::connect(session, limit, saved)?;
        session.shell_answers();
        progress.shell.get_or_insert(session.elapsed());
        Ok(shell)
    }

    /// All that needs a shell; returns that of the last boot.
    fn use_shell(
        self,
        session: &mut Session,
        mut shell: Shell,
        progress: &mut Progress,
    ) -> Result<Shell, Stop> {
        let goals = &self.request.goals;
        let (workdir, parts) = (self.prepared.workdir.path(), &self.prepared.parts);
        hotplug::plug(session, &shell, self.tree, workdir, parts, &goals.hotplug)?;
        self.run_script(session, &shell, progress)?;
        for how in &goals.again {
            if progress.script_failed() {
                break;
            }
            start_again(session, &shell, *how)?;
            let limit = self.limit();
            self.wait_for_ssh(session, limit)?;
            shell = self.shell(session, limit, progress)?;
            self.run_script(session, &shell, progress)?;
        }
        for copy in &goals.copy_out {
            let content = shell.read_file(session, &copy.guest, COPY)?;
            std::fs::write(&copy.host, content).map_err(BootError::file("write", &copy.host))?;
        }
        if goals.save_snapshot.is_some() && !progress.script_failed() {
            self.settle(session, &shell)?;
            snapshot::save(session, self.tree, self.prepared)?;
            progress.saved = true;
        }
        Ok(shell)
    }

    fn run_script(self, session: &mut Session, shell: &Shell, progress: &mut Progress) -> Result<(), Stop> {
        let goals = &self.request.goals;
        match &goals.run {
            Some(script) => run_script(session, shell, script, goals, &self.request.watch, progress),
            None => Ok(()),
        }
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
                Some(shell) => shell.systemctl(session, "poweroff")?,
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

/// Starts the guest again, and returns when its next boot has begun.
fn start_again(session: &mut Session, shell: &Shell, how: Again) -> Result<(), Stop> {
    let count = session.boots().count();
    match how {
        Again::Power => session.power_cycle(),
        Again::Reboot => {
            shell.systemctl(session, "reboot")?;
            let limit = Some(Instant::now() + POWER_OFF);
            session.wait(limit, "the guest's reboot", |session| {
                (session.boots().count() > count).then_some(())
            })
        }
        // QEMU sees nothing of these two.
        Again::SoftReboot => {
            shell.systemctl(session, "soft-reboot")?;
            session.begin_boot(Began::SoftReboot);
            Ok(())
        }
        Again::Kexec => {
            shell.systemctl(session, "kexec")?;
            session.begin_boot(Began::Kexec);
            Ok(())
        }
    }
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
    let mut run = ScriptRun::default();
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
    run.code = ended.as_ref().ok().copied();
    progress.runs.push(run);
    ended.map(drop).inspect_err(|stop| {
        progress.script_timed_out = matches!(stop, Stop::TimedOut(_));
    })
}
