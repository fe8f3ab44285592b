//! The command line: one file and one argument struct for each subcommand, under [`crate::cmd`].

use crate::cmd;
use crate::host::Host;
use crate::metrics;
use crate::siteunits::announce;
use clap::{Parser, Subcommand};
use dtnforge_profiles::envelope::{EXIT_CODES_HELP, Exit};
use std::path::PathBuf;

/// Tunes this node by the profile made for its hardware, proves it, and takes it back when the numbers say so.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES_HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Work on the host whose files lie under this directory instead of `/`.
    #[arg(long, global = true, default_value = "/", hide = true)]
    root: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the state of this node, the reason for it, and what is active.
    Status(cmd::status::Args),
    /// List the boots of this node and what became of them.
    Boots(cmd::boots::Args),
    /// Show what was detected on this host.
    Detect(cmd::detect::Args),
    /// Show whether this host has what the agent needs. Changes nothing.
    Selftest(cmd::selftest::Args),
    /// Show what a trial would change, from what to what and why. Changes nothing.
    Plan(cmd::plan::Args),
    /// Show what differs from the committed profile, or from the one that matches, and who set it.
    Audit(cmd::audit::Args),
    /// Show this node as Prometheus text, for node_exporter's textfile collector.
    Metrics(cmd::metrics::Args),
    /// Report what was tried on this node, what the numbers said and what was kept: as a page or as JSON.
    Report(cmd::report::Args),
    /// Measure the profile of this host, each group by itself if asked, and take everything back.
    Evaluate(cmd::evaluate::Args),
    /// Save all values of this host under a label.
    Save(cmd::save::Args),
    /// List the saved labels.
    States(cmd::states::Args),
    /// Show what differs between a label and the live values, or another label.
    Diff(cmd::diff::Args),
    /// Put the values of a label back, live and read back; files are not changed.
    Restore(cmd::restore::Args),
    /// Remove a label.
    Delete(cmd::delete::Args),
    /// Put the profile of this host in, for an admin to look at; `--confirm-within` takes it back by itself.
    Try(cmd::try_out::Args),
    /// Say that the node can still be reached with what is tried.
    Confirm(cmd::window::ConfirmArgs),
    /// Keep what is tried.
    Commit(cmd::window::CommitArgs),
    /// Take back what is tried, or what is committed.
    Rollback(cmd::window::RollbackArgs),
    /// Detect, try, prove, and commit or take back. The boot does this by itself.
    Run(cmd::run::Args),
    /// Put a committed profile in place, before the NICs come up. The early unit does this.
    Early,
    /// Take back what a trial left behind that did not end.
    Recover(cmd::recover::Args),
    /// Allow new trials after a rejection, an interruption or an unverified rollback.
    Retry,
    /// Do nothing from now on, on this and later boots.
    Hold,
    /// End a hold.
    Release,
    /// Put profiles and units on a host that is no image of dtnforge.
    InstallLayer(cmd::install_layer::Args),
    /// Take them off again.
    RemoveLayer(cmd::remove_layer::Args),
    /// Take an admin's trial back when its command dies or nobody confirms it.
    #[command(hide = true)]
    Watch,
    /// What the units of a boot say and ask.
    #[command(hide = true)]
    Boot(cmd::boot::Args),
}

impl Cli {
    /// Whether it is about the running system, and not about files in a directory.
    pub fn is_live(&self) -> bool {
        Host::at(&self.root, None).is_live()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// What failed, for one line at the edge.
    pub fn run(self) -> anyhow::Result<Exit> {
        let host = Host::at(&self.root, None);
        let changes_something = self.command.changes_something();
        let done = self.command.run(host.clone());
        if changes_something {
            metrics::publish(&host);
            announce::announce(&host);
        }
        done
    }
}

impl Command {
    /// Whether the state, or a value of the host, may be another one afterwards.
    fn changes_something(&self) -> bool {
        matches!(
            self,
            Command::Try(_)
                | Command::Commit(_)
                | Command::Rollback(_)
                | Command::Watch
                | Command::Run(_)
                | Command::Recover(_)
                | Command::Retry
                | Command::Hold
                | Command::Release
                | Command::Restore(_)
        )
    }

    fn run(self, host: Host) -> anyhow::Result<Exit> {
        match self {
            Command::Status(args) => cmd::status::run(&host, &args),
            Command::Boots(args) => cmd::boots::run(&host, &args),
            Command::Detect(args) => cmd::detect::run(&host, &args),
            Command::Selftest(args) => cmd::selftest::run(&host, &args),
            Command::Plan(args) => cmd::plan::run(&host, &args),
            Command::Audit(args) => cmd::audit::run(&host, &args),
            Command::Metrics(args) => cmd::metrics::run(&host, &args),
            Command::Report(args) => cmd::report::run(&host, &args),
            Command::Evaluate(args) => cmd::evaluate::run(host, &args),
            Command::Save(args) => cmd::save::run(&host, &args),
            Command::States(args) => cmd::states::run(&host, &args),
            Command::Diff(args) => cmd::diff::run(&host, &args),
            Command::Restore(args) => cmd::restore::run(host, &args),
            Command::Delete(args) => cmd::delete::run(&host, &args),
            Command::Try(args) => cmd::try_out::run(host, &args),
            Command::Confirm(args) => cmd::window::confirm(host, &args),
            Command::Commit(args) => cmd::window::commit(host, &args),
            Command::Rollback(args) => cmd::window::rollback(host, &args),
            Command::Watch => cmd::window::watch(&host),
            Command::Run(args) => cmd::run::run(host, &args),
            Command::Early => cmd::early::run(&host),
            Command::Recover(args) => cmd::recover::run(host, &args),
            Command::Retry => cmd::retry::run(host),
            Command::Hold => cmd::hold::hold(host),
            Command::Release => cmd::hold::release(host),
            Command::InstallLayer(args) => cmd::install_layer::run(&host, &args),
            Command::RemoveLayer(args) => cmd::remove_layer::run(&host, &args),
            Command::Boot(args) => cmd::boot::run(&host, &args),
        }
    }
}
