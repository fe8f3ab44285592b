//! The running QEMU: the child, its three channels and everything that can be heard from it, as one stream of events.
//!
//! Each channel has a thread that only reads and passes on; all decisions are made by the one receiver. Dropping the
//! process kills QEMU and reaps it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::error::BootError;
use super::machine::{CONSOLE_FD, QMP_FD, SHELL_FD};
use super::qemu::{QemuTree, tie_to_parent};

/// Something that was heard.
#[derive(Debug)]
pub enum Event {
    /// Bytes of the guest's console (ttyS0).
    Console(Vec<u8>),
    /// Bytes of the guest's shell (ttyS1).
    Shell(Vec<u8>),
    /// Bytes of QEMU's control socket.
    Control(Vec<u8>),
    /// Bytes of QEMU's own standard error and output.
    Complaint(Vec<u8>),
    /// QEMU closed its last channel: it is gone.
    Gone,
}

/// A QEMU that runs, or that ran and is not reaped yet.
#[derive(Debug)]
pub struct Process {
    child: Child,
    console: UnixStream,
    control: UnixStream,
    shell: UnixStream,
}

impl Process {
    /// Starts QEMU with `args` in `directory`. What it says arrives at `events`.
    ///
    /// # Errors
    /// When the tree lacks QEMU or the system refuses a process.
    pub fn start(
        tree: &QemuTree,
        args: &[String],
        directory: &Path,
        events: &Sender<Event>,
    ) -> Result<Process, BootError> {
        let refused = |source| BootError::Qemu {
            action: "cannot start QEMU",
            source,
        };
        let (console, console_end) = UnixStream::pair().map_err(refused)?;
        let (shell, shell_end) = UnixStream::pair().map_err(refused)?;
        let (control, control_end) = UnixStream::pair().map_err(refused)?;
        let mut command: Command = tree.qemu()?;
        command
            .args(args)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let handed_down = [
            (console_end, CONSOLE_FD),
            (shell_end, SHELL_FD),
            (control_end, QMP_FD),
        ];
        tie_to_parent(
            &mut command,
            handed_down
                .into_iter()
                .map(|(fd, number)| (fd.into(), number))
                .collect(),
        );
        let mut child = command.spawn().map_err(refused)?;
        // Closes our copies of QEMU's ends, so that a dead QEMU is heard as the end of each channel.
        drop(command);
        let mut readers = vec![
            pass_on(console.try_clone().map_err(refused)?, events, Event::Console),
            pass_on(shell.try_clone().map_err(refused)?, events, Event::Shell),
            pass_on(control.try_clone().map_err(refused)?, events, Event::Control),
        ];
        readers.extend(
            child
                .stdout
                .take()
                .map(|stdout| pass_on(stdout, events, Event::Complaint)),
        );
        readers.extend(
            child
                .stderr
                .take()
                .map(|stderr| pass_on(stderr, events, Event::Complaint)),
        );
        let gone = events.clone();
        std::thread::spawn(move || {
            // QEMU is gone when every channel is read to its end: nothing can be heard after this event.
            for reader in readers {
                let _ = reader.join();
            }
            let _ = gone.send(Event::Gone);
        });
        Ok(Process {
            child,
            console,
            control,
            shell,
        })
    }

    /// Writes to the control socket.
    pub fn write_control(&mut self, line: &str) -> std::io::Result<()> {
        self.control.write_all(line.as_bytes())
    }

    /// Types at the guest's console; blocks no longer than `limit` when the guest takes nothing.
    pub fn write_console(&mut self, bytes: &[u8], limit: Duration) -> std::io::Result<()> {
        self.console.set_write_timeout(Some(limit))?;
        self.console.write_all(bytes)
    }

    /// Writes to the guest's shell; blocks no longer than `limit` when the guest takes nothing.
    pub fn write_shell(&mut self, bytes: &[u8], limit: Duration) -> std::io::Result<()> {
        self.shell.set_write_timeout(Some(limit))?;
        self.shell.write_all(bytes)
    }

    /// Kills QEMU on the spot, as a power cut does to a machine, and reaps it.
    pub fn kill(&mut self) -> std::io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Waits for a QEMU that is ending by itself.
    pub fn reap(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A child that was reaped already cannot be killed again; there is nobody to tell.
        let _ = self.kill();
    }
}

/// A thread that reads `source` to its end and sends what it read.
fn pass_on(
    mut source: impl Read + Send + 'static,
    events: &Sender<Event>,
    wrap: fn(Vec<u8>) -> Event,
) -> std::thread::JoinHandle<()> {
    let events = events.clone();
    std::thread::spawn(move || {
        let mut buffer = [0_u8; 16 * 1024];
        while let Ok(count) = source.read(&mut buffer) {
            if count == 0 || events.send(wrap(buffer[..count].to_vec())).is_err() {
                break;
            }
        }
    })
}
