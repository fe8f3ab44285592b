//! The subcommands, one file each. They turn arguments into calls and results into text; the work is elsewhere.

pub mod boot;
pub mod build;
pub mod layer;
pub mod lock;
pub mod profile;
pub mod seed;
pub mod serve;
pub mod tools;

use crate::cli::Command;
use crate::interrupt::{self, Interrupted};
use crate::tell::tell;
use std::process::ExitCode;

/// Why a subcommand did not do what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// A spec, a profile or an argument is wrong; nothing was written.
    BadInput(anyhow::Error),
    /// What was asked for did not happen.
    Failed(anyhow::Error),
    /// It was told already; only this exit code is left to give.
    Told(u8),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Failure {
    /// Tells the error and gives its exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            // Whatever the interrupt broke: what the user did is the reason.
            Self::Failed(_) if interrupt::requested() => eprintln!("error: {}", tell(&Interrupted)),
            Self::BadInput(error) | Self::Failed(error) => eprintln!("error: {}", tell(error.as_ref())),
            Self::Told(_) => {}
        }
        ExitCode::from(self.code())
    }

    /// 1 failed, 2 bad input, or what was told.
    pub fn code(&self) -> u8 {
        match self {
            Self::BadInput(_) => 2,
            Self::Failed(_) => 1,
            Self::Told(code) => *code,
        }
    }
}

/// Runs a subcommand.
///
/// # Errors
/// As the subcommand says.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Build(args) => build::run(&args),
        Command::Layer(args) => layer::run(&args),
        Command::Lock(args) => lock::run(&args),
        Command::Seed(args) => seed::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Boot(args) => boot::run(*args),
        Command::Profile(args) => profile::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Inside(args) => crate::inside::enter(&args).map(|_| ()).map_err(Failure::from),
    }
}

/// The exit code of the hidden command `inside`: its program's, or 1 with the error told.
pub fn code_of(outcome: anyhow::Result<u8>) -> u8 {
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {}", tell(error.as_ref()));
        1
    })
}
