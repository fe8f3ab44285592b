//! Runs a program inside a directory tree as its root, in mount and process namespaces of its own.
//!
//! The parent starts this executable again with the hidden command `inside`; that process leaves the host's
//! namespaces, lays out the tree (an empty `/tmp`, `/run` and `/mnt`, a small `/dev`, the named
//! directories under `/mnt`) and starts the program there. Nothing is ever mounted on the host, and when the
//! program ends, or we do, the kernel ends every process of that namespace and drops every mount.

use crate::fsx;
use crate::run::{Program, RunError};
use anyhow::{Context as _, bail};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Device nodes that a program may need; taken from the host.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// What the hidden command `inside` is told.
#[derive(Debug, Clone, clap::Args)]
pub struct InsideArgs {
    /// The tree that becomes `/`.
    #[arg(long)]
    root: PathBuf,
    /// A host path and the name under `/mnt` where it appears.
    #[arg(long, num_args = 2, value_names = ["HOST", "NAME"])]
    bind: Vec<OsString>,
    /// A directory for `/var/tmp`; without one it is empty memory.
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// Protect the tree from the program.
    #[arg(long)]
    read_only: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

/// A program to be run inside a tree.
#[derive(Debug)]
pub struct Inside {
    name: String,
    options: Vec<OsString>,
    argv: Vec<OsString>,
    env: Vec<(String, OsString)>,
}

impl Inside {
    /// `program` of the tree `root`.
    pub fn new(root: &Path, program: &str) -> Self {
        Self {
            name: program.to_owned(),
            options: vec!["--root".into(), root.into()],
            argv: vec![program.into()],
            env: Vec::new(),
        }
    }

    /// Shows the host's `path` as `/mnt/NAME`.
    #[must_use]
    pub fn bind(mut self, path: &Path, name: &str) -> Self {
        self.options.extend(["--bind".into(), path.into(), name.into()]);
        self
    }

    /// Keeps the large temporary files of the program in a directory of the host.
    #[must_use]
    pub fn scratch(mut self, path: &Path) -> Self {
        self.options.extend(["--scratch".into(), path.into()]);
        self
    }

    /// Lets the program write under `/tmp`, `/run`, `/var/tmp` and the bound places only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.options.push("--read-only".into());
        self
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.argv.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.argv
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it to its end, with all output in the file `log`.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(self, log: &Path) -> Result<(), RunError> {
        self.program()?.run(log)
    }

    /// Runs it to its end and returns what it printed.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn output(self, log: &Path) -> Result<String, RunError> {
        self.program()?.output(log)
    }

    fn program(self) -> Result<Program, RunError> {
        let own = std::env::current_exe().map_err(|source| RunError::Start {
            program: self.name.clone(),
            source,
        })?;
        let mut program = Program::new(own)
            .named(&self.name)
            .arg("inside")
            .args(&self.options)
            .arg("--")
            .args(&self.argv);
        for (name, value) in &self.env {
            program = program.env(name, value);
        }
        Ok(program)
    }
}

/// The hidden command: becomes what [`Inside`] asked for and returns the program's exit code.
///
/// # Errors
/// A namespace, a mount or the program itself is refused.
pub fn enter(args: &InsideArgs) -> anyhow::Result<u8> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID)
        .context("cannot leave the host's namespaces")?;
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None::<&str>,
    )
    .context("cannot make the mounts private")?;
    lay_out(args)?;
    nix::unistd::chroot(&args.root).with_context(|| format!("cannot enter {}", args.root.display()))?;
    std::env::set_current_dir("/").context("cannot enter the tree")?;
    let Some((program, rest)) = args.argv.split_first() else {
        bail!("no program given")
    };
    let status = Command::new(program).args(rest).status().with_context(|| {
        format!(
            "cannot start `{}` in the tree {}",
            program.display(),
            args.root.display()
        )
    })?;
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(u8::try_from(code).unwrap_or(1))
}

fn lay_out(args: &InsideArgs) -> anyhow::Result<()> {
    if args.read_only {
        bind(&args.root, &args.root)?;
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        mount(None::<&str>, &args.root, None::<&str>, flags, None::<&str>)
            .context("cannot protect the tree")?;
    }
    for (place, mode) in [
        ("run", "mode=0755"),
        ("tmp", "mode=1777"),
        ("mnt", "mode=0755"),
        ("dev", "mode=0755"),
    ] {
        tmpfs(&args.root.join(place), mode)?;
    }
    let var_tmp = args.root.join("var/tmp");
    match &args.scratch {
        Some(scratch) => bind(scratch, &var_tmp)?,
        None => tmpfs(&var_tmp, "mode=1777")?,
    }
    for device in DEVICES {
        let node = args.root.join("dev").join(device);
        fsx::write(&node, b"")?;
        bind(&Path::new("/dev").join(device), &node)?;
    }
    std::os::unix::fs::symlink("/proc/self/fd", args.root.join("dev/fd")).context("cannot link /dev/fd")?;
    bind(Path::new("/proc"), &args.root.join("proc"))?;
    for pair in args.bind.chunks_exact(2) {
        let (host, place) = (Path::new(&pair[0]), args.root.join("mnt").join(&pair[1]));
        if host.is_dir() {
            fsx::create_dir_all(&place)?;
        } else {
            fsx::write(&place, b"")?;
        }
        bind(host, &place)?;
    }
    Ok(())
}

fn tmpfs(place: &Path, mode: &str) -> anyhow::Result<()> {
    fsx::create_dir_all(place)?;
    mount(
        Some("tmpfs"),
        place,
        Some("tmpfs"),
        MsFlags::MS_NOSUID,
        Some(mode),
    )
    .with_context(|| format!("cannot mount an empty file system on {}", place.display()))
}

fn bind(from: &Path, to: &Path) -> anyhow::Result<()> {
    mount(
        Some(from),
        to,
        None::<&str>,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        None::<&str>,
    )
    .with_context(|| format!("cannot show {} as {}", from.display(), to.display()))
}
