//! The programs under test: those named by the environment, else fresh builds of this workspace.
//!
//! `DTNFORGE_BIN` and `DTNFORGE_AGENT` name ready programs (CI sets both). Without them cargo builds what is missing or
//! out of date, so a test never runs against an old program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::rung::say;
use crate::{Trouble, project};

/// The target that the static agent is built for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `dtnforge`.
    pub dtnforge: PathBuf,
    /// `dtn-firstboot`, static.
    pub agent: PathBuf,
}

impl Programs {
    /// The programs; built once for each test process.
    ///
    /// # Errors
    /// What cargo says when it cannot build them.
    pub fn get() -> Result<&'static Programs, Trouble> {
        static PROGRAMS: OnceLock<Programs> = OnceLock::new();
        if let Some(programs) = PROGRAMS.get() {
            return Ok(programs);
        }
        let programs = Programs {
            dtnforge: named_or_built("DTNFORGE_BIN", build_dtnforge)?,
            agent: named_or_built("DTNFORGE_AGENT", build_agent)?,
        };
        Ok(PROGRAMS.get_or_init(|| programs))
    }
}

fn named_or_built(variable: &str, build: fn() -> Result<PathBuf, Trouble>) -> Result<PathBuf, Trouble> {
    match std::env::var_os(variable) {
        Some(path) => Ok(path.into()),
        None => {
            say(&format!("{variable} is not set: building the program under test"));
            build()
        }
    }
}

/// Optimised: a debug build hashes gigabytes for minutes.
fn build_dtnforge() -> Result<PathBuf, Trouble> {
    run(cargo().args(["build", "--release", "-p", "dtnforge"]))?;
    Ok(target_dir().join("release/dtnforge"))
}

fn build_agent() -> Result<PathBuf, Trouble> {
    run(cargo().env("RUSTFLAGS", "-C target-feature=+crt-static").args([
        "build",
        "--release",
        "--target",
        TARGET,
        "-p",
        "dtn-firstboot",
    ]))?;
    Ok(target_dir().join(TARGET).join("release/dtn-firstboot"))
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(project());
    command
}

/// Cargo's target directory.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project().join("target"), PathBuf::from)
}

/// Runs a command to its end with its output kept.
///
/// # Errors
/// When it fails, with what it printed.
pub fn run(command: &mut Command) -> Result<Output, Trouble> {
    let output = output(command)?;
    checked(command, output)
}

/// As [`run`], with `input` as the command's standard input; a short text, which a pipe holds.
///
/// # Errors
/// As [`run`].
pub fn run_with(command: &mut Command, input: &[u8]) -> Result<Output, Trouble> {
    let program = PathBuf::from(command.get_program());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = command.spawn().and_then(|mut child| {
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input)?;
        }
        child.wait_with_output()
    });
    checked(command, output.map_err(Trouble::file("start", program))?)
}

fn checked(command: &Command, output: Output) -> Result<Output, Trouble> {
    if output.status.success() {
        return Ok(output);
    }
    Err(Trouble::Program {
        program: text(command),
        status: output.status.to_string(),
        output: format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
    })
}

/// Runs a command to its end with its output kept, however it ends.
pub(crate) fn output(command: &mut Command) -> Result<Output, Trouble> {
    let program = PathBuf::from(command.get_program());
    command
        .stdin(Stdio::null())
        .output()
        .map_err(Trouble::file("start", program))
}

fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Makes a directory with its parents.
pub(crate) fn make_dir(path: &Path) -> Result<(), Trouble> {
    std::fs::create_dir_all(path).map_err(Trouble::file("create", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_shown_with_its_output() {
        let error = run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("sh -c echo out"), "{message}");
        assert!(
            message.ends_with("ended with exit status: 3:\nout\nerr\n"),
            "{message}"
        );
    }
}
