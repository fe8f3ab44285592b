//! The builder binary: reads its arguments, calls the library, tells one error.
//!
//! Exit codes: 0 done, 1 failed, 2 bad input (a spec, a profile or an argument; nothing was written).

use clap::Parser as _;
use dtnforge::cli::{Cli, Command};
use dtnforge::{cmd, inside, interrupt};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Files that we make have the same modes whoever runs us.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let outcome = match cli.command {
        // A process of its own kind: it must die of a signal, and hand on the code of its program.
        Command::Inside(args) => return ExitCode::from(cmd::code_of(inside::enter(&args))),
        // It leaves nothing half-made, and may wait for a pipe: a signal ends it at once.
        command @ Command::Profile(_) => cmd::run(command),
        command => interrupt::watch()
            .map_err(anyhow::Error::from)
            .map_err(cmd::Failure::from)
            .and_then(|()| cmd::run(command)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
