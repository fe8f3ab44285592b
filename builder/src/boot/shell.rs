//! A root shell in the guest over its second serial port, without network, password or agent.
//!
//! systemd starts the shell (`systemd.debug_shell=ttyS1`). Until it shows its prompt nothing may be sent: the firmware
//! and the boot loader read that port as well, and an `f` or a `q` in our text takes the machine into the firmware's
//! menus. The shell echoes and edits lines, and a serial port loses what comes faster than the guest reads. So we first
//! turn it into a quiet `sh`, trying again until it answers; then nothing is sent before the answer to what was sent before, and every file is checked by its
//! digest. What a user gives (a script, a path) travels in base64 and is never part of a command's text.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::error::BootError;
use super::frames::{self, Frame, GUEST_DIR};
use super::session::{Session, Stop};

/// The kernel words that start the shell.
pub const KERNEL_WORDS: &str = "systemd.debug_shell=ttyS1";

/// Turns whatever shell listens into a quiet one. No quotes: when its head is lost, the rest must not leave one open.
const QUIET: &str = "stty -echo -opost icanon; PS1= PS2= exec sh";

/// One chunk of a file, in base64 letters: with its command well below the 4096 bytes of a terminal's line.
const CHUNK: usize = 3000;
/// How long the guest may take to answer one small request. Emulation is slow, and it may be busy booting.
const ANSWER: Duration = Duration::from_secs(60);
/// How often a shell that does not answer yet is called.
const CALL_AGAIN: Duration = Duration::from_secs(3);

/// The guest's shell, once it answers.
#[derive(Debug)]
pub struct Shell(());

impl Shell {
    /// Waits for the prompt of the guest's shell (not in a `saved` guest, whose shell is quiet already), calls it until
    /// it answers, and makes it ready for [`Shell::run`].
    ///
    /// # Errors
    /// `TimedOut` when there is no shell, or no answer, before `deadline`.
    pub fn connect(session: &mut Session, deadline: Option<Instant>, saved: bool) -> Result<Shell, Stop> {
        const WHAT: &str = "a root shell on the guest's ttyS1";
        if !saved {
            session.wait(deadline, WHAT, |session| session.shell_prompted().then_some(()))?;
        }
        let first = session.fresh_id();
        loop {
            write(session, &format!("\n{QUIET}\n{}\n", frames::done(first, "")))?;
            let again = Instant::now() + CALL_AGAIN;
            let until = deadline.map_or(again, |deadline| deadline.min(again));
            match done(session, first, Some(until), WHAT) {
                Err(Stop::TimedOut(_)) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
                Err(stop) => return Err(stop),
                Ok(_) => break,
            }
        }
        Shell::ready(session)
    }

    /// Waits until the calls that are still on their way are answered, and puts the runner in place.
    fn ready(session: &mut Session) -> Result<Shell, Stop> {
        let shell = Shell(());
        shell.request(session, &format!("set +m; mkdir -p {GUEST_DIR}"), "")?;
        session.frames.clear();
        shell.upload(session, "runner", frames::RUNNER.as_bytes())?;
        Ok(shell)
    }

    /// Runs shell text of ours and waits for it; the answer is the output of `word`.
    fn request(&self, session: &mut Session, text: &str, word: &str) -> Result<String, Stop> {
        let id = session.fresh_id();
        write(session, &format!("{text}; {}\n", frames::done(id, word)))?;
        done(
            session,
            id,
            Some(Instant::now() + ANSWER),
            "an answer of the guest's shell",
        )
    }

    /// Writes `content` to the file `name` in our directory of the guest, executable.
    fn upload(&self, session: &mut Session, name: &str, content: &[u8]) -> Result<(), Stop> {
        let file = format!("{GUEST_DIR}/{name}");
        self.request(session, &format!(": >{file}.b64"), "")?;
        for chunk in BASE64.encode(content).as_bytes().chunks(CHUNK) {
            // Base64 letters are ASCII.
            let chunk = String::from_utf8_lossy(chunk);
            self.request(session, &format!("printf %s {chunk} >>{file}.b64"), "")?;
        }
        let decode = format!("base64 -d {file}.b64 >{file}; rm {file}.b64; chmod 700 {file}");
        let digest = self.request(session, &decode, &format!("$(sha256sum <{file})"))?;
        let expected: String = Sha256::digest(content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if digest == expected {
            return Ok(());
        }
        Err(BootError::Shell(format!(
            "{file} arrived with SHA-256 {digest}, expected {expected}"
        ))
        .into())
    }

    /// Runs `script` as a program (its `#!` line is honoured), at most `limit`; its exit code, 128 + N for signal N.
    /// `output` gets each piece of output as it comes, with whether it is from standard error.
    ///
    /// # Errors
    /// `TimedOut` when it does not end in time; an error when the guest restarts under it.
    pub fn run(
        &self,
        session: &mut Session,
        script: &[u8],
        limit: Duration,
        output: impl FnMut(bool, &[u8]),
    ) -> Result<u8, Stop> {
        self.upload(session, "script", script)?;
        self.start(session, &format!("{GUEST_DIR}/script"), limit, output)
    }

    /// Reads the file `path` of the guest: a copy of it, so that a log may grow meanwhile.
    ///
    /// # Errors
    /// The guest's own words when it cannot be read.
    pub fn read_file(&self, session: &mut Session, path: &str, limit: Duration) -> Result<Vec<u8>, Stop> {
        let copy = format!("{GUEST_DIR}/copy");
        self.copy_in_guest(session, path, &copy, limit)?;
        let digest = self.request(session, ":", &format!("$(sha256sum <{copy})"))?;
        let id = session.fresh_id();
        write(session, &frames::send_file(id, &copy))?;
        let mut content = Vec::new();
        self.hear(session, id, limit, |_, bytes| content.extend_from_slice(bytes))?;
        let arrived = sha256(&content);
        if arrived == digest {
            return Ok(content);
        }
        Err(BootError::Shell(format!(
            "{path:?} arrived with SHA-256 {arrived}, expected {digest}"
        ))
        .into())
    }

    fn copy_in_guest(
        &self,
        session: &mut Session,
        from: &str,
        to: &str,
        limit: Duration,
    ) -> Result<(), Stop> {
        // The dot behind the path keeps line ends of the path itself, which a substitution would cut.
        let letters = BASE64.encode(from);
        self.request(
            session,
            &format!("path=$(printf %s {letters} | base64 -d; echo .)"),
            "",
        )?;
        let mut reason = Vec::new();
        let command = format!("cp -- \"${{path%.}}\" {to}");
        let code = self.start(session, &command, limit, |_, bytes| {
            reason.extend_from_slice(bytes)
        })?;
        if code == 0 {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&reason).trim().to_owned();
        Err(BootError::Shell(format!("cannot read {from:?}: {reason}")).into())
    }

    /// Asks the guest's systemd for `verb` (a word of ours, such as `poweroff`); does not wait for it.
    ///
    /// # Errors
    /// When the shell does not answer.
    pub fn systemctl(&self, session: &mut Session, verb: &'static str) -> Result<(), Stop> {
        self.request(session, &format!("systemctl --no-block {verb}"), "")
            .map(drop)
    }

    /// Starts a command of ours (shell text) under the runner and hears its frames until it ends.
    fn start(
        &self,
        session: &mut Session,
        text: &str,
        limit: Duration,
        output: impl FnMut(bool, &[u8]),
    ) -> Result<u8, Stop> {
        let id = session.fresh_id();
        write(session, &format!("sh {GUEST_DIR}/runner {id} {text}\n"))?;
        self.hear(session, id, limit, output)
    }

    /// Hears the frames of `request` until its exit code.
    fn hear(
        &self,
        session: &mut Session,
        request: u64,
        limit: Duration,
        mut output: impl FnMut(bool, &[u8]),
    ) -> Result<u8, Stop> {
        let boots = session.boots().count();
        let ended = session.wait(Some(Instant::now() + limit), "the end of the script", |session| {
            while let Some(frame) = session.frames.pop_front() {
                match frame {
                    Frame::Out { id, bytes } if id == request => output(false, &bytes),
                    Frame::Err { id, bytes } if id == request => output(true, &bytes),
                    Frame::Exit { id, code } if id == request => return Some(Some(code)),
                    _ => {}
                }
            }
            (session.boots().count() > boots).then_some(None)
        })?;
        ended.ok_or_else(|| BootError::Shell("the guest restarted while a script ran".into()).into())
    }
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Waits for the `Done` frame of `id`; its word.
fn done(session: &mut Session, id: u64, deadline: Option<Instant>, what: &str) -> Result<String, Stop> {
    session.wait(deadline, what, |session| {
        while let Some(frame) = session.frames.pop_front() {
            match frame {
                Frame::Done { id: answered, word } if answered == id => return Some(word),
                _ => {}
            }
        }
        None
    })
}

fn write(session: &mut Session, text: &str) -> Result<(), Stop> {
    match session.process.write_shell(text.as_bytes(), ANSWER) {
        Ok(()) => Ok(()),
        // The other end is closed: what became of QEMU arrives as an event.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(BootError::Qemu {
            action: "cannot write to the guest's second serial port",
            source,
        }
        .into()),
    }
}
