//! QEMU and its helpers out of the tools tree, without root and without entering the tree.
//!
//! The programs are started through the tree's own dynamic loader with the tree's own libraries, so they run on any
//! host kernel whatever C library the host has. QEMU itself is told where its data and its modules are.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use super::error::BootError;

const LOADERS: &[&str] = &[
    "usr/lib64/ld-linux-x86-64.so.2",
    "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "lib64/ld-linux-x86-64.so.2",
];
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const DATA: &[&str] = &["usr/share/qemu", "usr/share/seabios"];
const FIRMWARE: &str = "usr/share/OVMF";

/// The part of a tools tree that boots guests.
#[derive(Debug, Clone)]
pub struct QemuTree {
    root: PathBuf,
}

impl QemuTree {
    /// The tree at `root`; nothing is looked up yet.
    pub fn new(root: &Path) -> QemuTree {
        QemuTree {
            root: root.to_owned(),
        }
    }

    /// The firmware's code, 4 MiB build without Secure Boot.
    pub fn firmware_code(&self) -> Result<PathBuf, BootError> {
        self.file(
            "UEFI firmware (package ovmf)",
            &format!("{FIRMWARE}/OVMF_CODE_4M.fd"),
        )
    }

    /// The firmware's variables as they come from the factory.
    pub fn firmware_vars(&self) -> Result<PathBuf, BootError> {
        self.file(
            "UEFI firmware (package ovmf)",
            &format!("{FIRMWARE}/OVMF_VARS_4M.fd"),
        )
    }

    /// A command that starts QEMU, with its data directories named.
    pub fn qemu(&self) -> Result<Command, BootError> {
        let mut command = self.program("QEMU (package qemu-system-x86)", "usr/bin/qemu-system-x86_64")?;
        command.env("QEMU_MODULE_DIR", self.root.join(LIBRARIES).join("qemu"));
        for data in DATA {
            command.arg("-L").arg(self.root.join(data));
        }
        Ok(command)
    }

    /// QEMU's version, such as `10.0.2`.
    pub fn qemu_version(&self) -> Result<String, BootError> {
        let mut command = self.qemu()?;
        command.arg("--version");
        let text = run(command, "qemu-system-x86_64")?;
        let version = text
            .split_whitespace()
            .skip_while(|word| *word != "version")
            .nth(1);
        Ok(version.unwrap_or("unknown").to_owned())
    }

    /// Runs `qemu-img`.
    pub fn qemu_img(&self, args: &[&str]) -> Result<String, BootError> {
        self.tool("qemu-img (package qemu-utils)", "usr/bin/qemu-img", args)
    }

    /// Runs `mkfs.vfat`.
    pub fn mkfs_vfat(&self, args: &[&str]) -> Result<String, BootError> {
        self.tool("mkfs.vfat (package dosfstools)", "usr/sbin/mkfs.fat", args)
    }

    /// Runs `mcopy`.
    pub fn mcopy(&self, args: &[&str]) -> Result<String, BootError> {
        self.tool(
            "mcopy (package mtools)",
            "usr/bin/mtools",
            &[&["-c", "mcopy"], args].concat(),
        )
    }

    fn tool(&self, what: &'static str, path: &str, args: &[&str]) -> Result<String, BootError> {
        let mut command = self.program(what, path)?;
        command.args(args);
        run(command, path.rsplit('/').next().unwrap_or(path))
    }

    fn program(&self, what: &'static str, path: &str) -> Result<Command, BootError> {
        let program = self.file(what, path)?;
        let mut command = Command::new(self.loader()?);
        command
            .arg("--library-path")
            .arg(self.root.join(LIBRARIES))
            .arg(program);
        command.env("LC_ALL", "C");
        Ok(command)
    }

    fn loader(&self) -> Result<PathBuf, BootError> {
        let found = LOADERS
            .iter()
            .map(|loader| self.root.join(loader))
            .find(|path| path.exists());
        found.ok_or_else(|| BootError::Tool {
            what: "dynamic loader (package libc6)",
            path: self.root.join(LOADERS[0]),
        })
    }

    fn file(&self, what: &'static str, path: &str) -> Result<PathBuf, BootError> {
        let path = self.root.join(path);
        if path.exists() {
            Ok(path)
        } else {
            Err(BootError::Tool { what, path })
        }
    }
}

/// Runs a command to its end; its output, or an error that holds the end of its stderr.
fn run(mut command: Command, tool: &str) -> Result<String, BootError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| BootError::Qemu {
            action: "cannot start a tool of the tools tree",
            source,
        })?;
    if !output.status.success() {
        return Err(BootError::ToolFailed {
            tool: tool.to_owned(),
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Ties a child to this process: it is killed when the parent's main thread ends, however that ends, it does not
/// receive the terminal's Ctrl-C itself, and it inherits each descriptor of `fds` under the number beside it.
pub(crate) fn tie_to_parent(command: &mut Command, fds: Vec<(OwnedFd, RawFd)>) {
    command.process_group(0);
    let parent = nix::unistd::getpid();
    // SAFETY: the closure runs between fork and exec and only makes async-signal-safe system calls (prctl, getppid,
    // dup2); it allocates nothing.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid() != parent {
                return Err(std::io::Error::from_raw_os_error(nix::libc::ECHILD));
            }
            for (fd, number) in &fds {
                // The copy loses close-on-exec, which is the point.
                if nix::libc::dup2(fd.as_raw_fd(), *number) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// The last words of a finished child, on one line.
pub(crate) fn output_tail(pipe: Option<impl std::io::Read>) -> String {
    let mut text = Vec::new();
    if let Some(mut pipe) = pipe {
        // Whatever could be read is what is shown.
        let _ = pipe.read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        "no message".to_owned()
    } else {
        lines[lines.len().saturating_sub(2)..].join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_without_qemu_names_what_is_missing() {
        let tree = tempfile::tempdir().unwrap();
        let error = QemuTree::new(tree.path()).qemu().unwrap_err().to_string();
        assert!(error.contains("has no QEMU (package qemu-system-x86)"), "{error}");
        assert!(
            error.contains("hint: remove the tools tree from the cache"),
            "{error}"
        );
    }

    #[test]
    fn a_tied_child_inherits_descriptors_under_their_numbers() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", "echo hello >&112"]);
        tie_to_parent(&mut command, vec![(theirs.into(), 112)]);
        assert!(command.status().unwrap().success());
        drop(command);
        assert_eq!(std::io::read_to_string(ours).unwrap(), "hello\n");
    }

    #[test]
    fn the_tail_of_an_output_is_its_last_two_lines() {
        assert_eq!(output_tail(Some(&b"a\n\nb\nc\n"[..])), "b; c");
        assert_eq!(output_tail(Some(&b""[..])), "no message");
    }
}
