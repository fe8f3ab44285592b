//! What can go wrong while a guest is booted, one variant for each step.
//!
//! A message says what failed and on what; the source of an I/O error is not repeated, the edge prints the chain.

use std::path::PathBuf;

/// An error of `dtnforge boot`.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A file or directory could not be used.
    #[error("cannot {action} {path}")]
    File {
        /// What was tried, as a verb: "read", "create".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why the system refused.
        #[source]
        source: std::io::Error,
    },
    /// The directory given holds nothing that boots.
    #[error(
        "no disk image at {path}: {reason}\n\
         hint: name the output directory of `dtnforge build`, or a .raw or .qcow2 file"
    )]
    NoImage {
        /// The directory.
        path: PathBuf,
        /// What was looked for.
        reason: String,
    },
    /// Options that contradict each other or the machine.
    #[error("{0}")]
    Options(String),
    /// The tools tree lacks a file.
    #[error(
        "the tools tree has no {what} (looked for {path})\n\
         hint: remove the tools tree from the cache, the next run makes a whole one"
    )]
    Tool {
        /// What is missing.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A tool of the tree ended with an error.
    #[error("{tool} failed ({status}): {stderr}")]
    ToolFailed {
        /// The tool's name.
        tool: String,
        /// How it ended.
        status: String,
        /// The end of what it wrote.
        stderr: String,
    },
    /// A path that is not UTF-8 cannot be handed to QEMU's JSON options.
    #[error("the path {0:?} is not UTF-8, which QEMU's options need")]
    NotUtf8(PathBuf),
    /// QEMU could not be started, or a system call about it failed.
    #[error("{action}")]
    Qemu {
        /// What was tried.
        action: &'static str,
        /// Why the system refused.
        #[source]
        source: std::io::Error,
    },
    /// QEMU ended by itself while the guest should have been running.
    #[error("QEMU ended early ({status}){detail}")]
    QemuDied {
        /// Its exit status.
        status: String,
        /// What it wrote, or nothing.
        detail: String,
    },
    /// QEMU answered a command with an error.
    #[error("QEMU refused {command}: {reason}")]
    Qmp {
        /// The QMP command.
        command: String,
        /// QEMU's own words.
        reason: String,
    },
    /// QEMU said something that is not its protocol.
    #[error("QEMU's control socket sent {line:?}, expected a JSON object")]
    QmpLine {
        /// The line.
        line: String,
    },
    /// KVM was asked for and does not work here.
    #[error("KVM was asked for but does not work here: {0}\nhint: use --accel tcg or --accel auto")]
    NoKvm(String),
    /// The guest's shell did something unexpected.
    #[error("the guest's shell on ttyS1: {0}")]
    Shell(String),
    /// A device that was plugged in never showed up.
    #[error(
        "the guest did not show {device} within {seconds} s of being plugged in; it shows:\n{seen}\n\
         hint: is the device's driver in the image?"
    )]
    NotSeen {
        /// The device, as given.
        device: String,
        /// How long was waited.
        seconds: u64,
        /// What the guest listed instead.
        seen: String,
    },
    /// A snapshot directory that cannot be used.
    #[error("snapshot {path}: {reason}")]
    Snapshot {
        /// The snapshot directory.
        path: PathBuf,
        /// What is wrong, with a hint.
        reason: String,
    },
}

impl BootError {
    /// A closure that wraps an I/O error about `path`, for `map_err`.
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> BootError {
        let path = path.into();
        move |source| BootError::File { action, path, source }
    }
}
