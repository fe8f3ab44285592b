//! `dtnforge profile check`: all mistakes at once, in profiles before an image carries them, and in what a host has
//! already.

mod gather;
mod show;

use super::{Failure, SiteArgs, bad, print_json};
use anyhow::anyhow;
use dtnforge_profiles::catalog::CatalogError;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::layer;
use dtnforge_profiles::lint::{self, Finding, Input, Lint, NotJudged, Report, Severity};
use dtnforge_profiles::site::SiteFile;
use serde::Serialize;
use std::path::PathBuf;

/// What is read, examples and exit codes.
const AFTER: &str = "\
Without a file, the built-in catalog is looked at. Files of a host are read, never run or changed; an unpacked copy will do, \
as long as the paths end in the directories that count (etc/sysctl.d, usr/lib/sysctl.d, ...). A lint that would have to know \
the host says so, unless --host has its facts (dtn-firstboot detect --toml).

Examples:
  dtnforge profile check
  dtnforge profile check --catalog site/profiles
  dtnforge profile check --sysctl /etc/sysctl.d --sysctl /usr/lib/sysctl.d
  dtnforge profile check --sysctl /etc/sysctl.d --tuned /etc/tuned/site --host facts.toml
  dtnforge profile check --script /etc/rc.local --role dtn --link-mbps 25000
  dtnforge profile check --explain root-qdisc-replaces-mq

Exit codes: 0 nothing found, or warnings only; 1 an error was found (with --strict: anything); 2 a file cannot be read, or \
is no profile.";

/// Arguments of `dtnforge profile check`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(super) struct CheckArgs {
    /// A profile, or a directory of profiles
    path: Option<PathBuf>,
    /// A directory of profiles, held against the built-in catalog that it is laid over
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    catalog: Option<PathBuf>,
    /// A file in the syntax of sysctl.d, or a directory of them; may be given several times
    #[arg(long, value_name = "PATH")]
    sysctl: Vec<PathBuf>,
    /// A tuned.conf, the directory of a profile, or a directory of profiles; may be given several times
    #[arg(long, value_name = "PATH")]
    tuned: Vec<PathBuf>,
    /// udev rules, or a directory of them; may be given several times
    #[arg(long, value_name = "PATH")]
    udev: Vec<PathBuf>,
    /// A shell script, rc.local or a systemd unit that sets values; may be given several times
    #[arg(long, value_name = "FILE")]
    script: Vec<PathBuf>,
    /// Facts of the host that the files are for, TOML or JSON
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    /// Fail for warnings too
    #[arg(long)]
    strict: bool,
    /// List all lints
    #[arg(long, conflicts_with_all = ["explain", "path", "sysctl", "tuned", "udev", "script", "host"])]
    list: bool,
    /// Show a lint: what it finds, why, where that is written, and examples
    #[arg(long, value_name = "ID")]
    explain: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer. Keys are only ever added.
#[derive(Serialize)]
struct Checked {
    findings: Vec<Finding>,
    not_judged: Vec<NotJudged>,
    errors: usize,
    warnings: usize,
    /// How many files were looked at.
    files: usize,
    /// The profiles that were looked at and are free of errors.
    profiles: Vec<Packed>,
}

/// A profile as a build would pack it.
#[derive(Serialize)]
struct Packed {
    name: String,
    values: usize,
    layer: String,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    if let Some(id) = &args.explain {
        return show::explain(lint_of(id)?, args.json);
    }
    if args.list {
        return show::list(args.json);
    }
    let input = gather::input(args)?;
    let report = lint::check(&input);
    let exit = report.exit(args.strict);
    let profiles = packed(&input, &report)?;
    let checked = Checked {
        errors: report.count(Severity::Error),
        warnings: report.count(Severity::Warning),
        files: files(&input),
        findings: report.findings,
        not_judged: report.not_judged,
        profiles,
    };
    if args.json {
        print_json(&checked)?;
    } else {
        show::report(&checked)?;
    }
    match exit {
        Exit::Ok => Ok(()),
        other => Err(Failure::Told(other.code())),
    }
}

fn files(input: &Input) -> usize {
    let kinds = [
        &input.profiles,
        &input.sysctl,
        &input.tuned,
        &input.udev,
        &input.scripts,
    ];
    kinds.into_iter().map(Vec::len).sum()
}

fn lint_of(id: &str) -> Result<&'static Lint, Failure> {
    lint::find(id).ok_or_else(|| {
        let near = lint::nearest(id).map(|near| format!("did you mean {near}? "));
        let hint = near.unwrap_or_default();
        bad(anyhow!(
            "no lint {id:?}\nhint: {hint}`dtnforge profile check --list` has them all"
        ))
    })
}

/// The layer of each profile, when there are profiles and no errors: one that cannot be packed would fail the build only
/// much later.
fn packed(input: &Input, report: &Report) -> Result<Vec<Packed>, Failure> {
    if report.count(Severity::Error) > 0 || input.profiles.is_empty() {
        return Ok(Vec::new());
    }
    let files: Vec<(&str, &str)> = input
        .profiles
        .iter()
        .map(|source| (source.path.as_str(), source.text.as_str()))
        .collect();
    let bases = input.beneath.clone().bases_only();
    let catalog = bases.with_files(&files);
    let catalog = catalog.map_err(|problems| bad(CatalogError::Invalid(problems)))?;
    let site = SiteFile::default().check().map_err(bad)?;
    let mut packed = Vec::new();
    for profile in catalog.profiles() {
        let layer = layer::build(profile, &site).map_err(bad)?;
        packed.push(Packed {
            name: profile.name.clone(),
            values: profile.knobs.len(),
            layer: layer.digest.short().to_string(),
        });
    }
    Ok(packed)
}
