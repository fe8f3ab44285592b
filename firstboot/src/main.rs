//! `dtn-firstboot`: reads its arguments, calls the library, prints one error, returns a documented exit code.

use clap::Parser;
use dtn_firstboot::cli::Cli;
use dtnforge_profiles::envelope::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    dtn_firstboot::events::start(cli.is_live());
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("dtn-firstboot: {error:#}");
            Exit::Failed.into()
        }
    }
}
