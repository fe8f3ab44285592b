//! The command line: one `Args` struct for each subcommand, beside its code.

use crate::cmd;
use crate::inside::InsideArgs;

/// Builds immutable Data Transfer Nodes from an image spec.
#[derive(Debug, clap::Parser)]
#[command(name = "dtnforge", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Build the image of a spec
    Build(cmd::build::BuildArgs),
    /// Make layers and packages for hosts that run already
    Layer(cmd::layer::LayerArgs),
    /// Resolve the packages of a spec to versions and digests
    Lock(cmd::lock::LockArgs),
    /// Boot an image in QEMU, drive it, throw it away
    Boot(Box<cmd::boot::BootArgs>),
    /// Make cloud-init seeds from a table of nodes
    Seed(cmd::seed::SeedArgs),
    /// Serve a netboot set over HTTP and TFTP, for a bench or a small site
    Serve(cmd::serve::ServeArgs),
    /// Look into the catalog of profiles
    Profile(Box<cmd::profile::ProfileArgs>),
    /// Show where the tools tree is; make it when there is none
    Tools(cmd::tools::ToolsArgs),
    /// Run a program inside a tree, in namespaces of its own
    #[command(hide = true)]
    Inside(InsideArgs),
}
