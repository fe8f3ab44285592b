//! `dtnforge profile`: the catalog, and what it means for a host.

mod check;
mod diff;
mod explain;
pub(super) mod find;
mod list;
mod read;
mod render;
mod report;
mod schema;
mod show;

use super::Failure;
use crate::tell::printable;
use anyhow::{Context as _, anyhow};
use dtnforge_profiles::catalog::{Catalog, CatalogError};
use dtnforge_profiles::conclude::StorageClass;
use dtnforge_profiles::envelope::Envelope;
use dtnforge_profiles::site::{Role, SITE_SCHEMA, Site, SiteFile, Switch};
use dtnforge_profiles::suggest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Form of the data in every `--json` answer of `dtnforge profile`.
const SCHEMA: u32 = 1;

/// Arguments of `dtnforge profile`.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    #[command(subcommand)]
    command: ProfileCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProfileCommand {
    /// List all profiles
    List(list::ListArgs),
    /// Show the values of a profile, each with its reason and source
    Show(show::ShowArgs),
    /// Look for mistakes in profiles, and in the files that a host has already
    Check(check::CheckArgs),
    /// Say what follows from the facts of a host: data NICs, profile, plan
    Explain(explain::ExplainArgs),
    /// Compare two profiles, or a profile with a file of sysctl.d or with what others publish
    Diff(diff::DiffArgs),
    /// Write the files of a profile for one host, as they would lie under /run
    Render(render::RenderArgs),
    /// Print the JSON Schema of a kind of file, for editors
    Schema(schema::SchemaArgs),
}

/// Runs `dtnforge profile ...`.
///
/// # Errors
/// A profile, a report or an argument is wrong: [`Failure::BadInput`].
pub fn run(args: &ProfileArgs) -> Result<(), Failure> {
    match &args.command {
        ProfileCommand::List(args) => list::run(args),
        ProfileCommand::Show(args) => show::run(args),
        ProfileCommand::Check(args) => check::run(args),
        ProfileCommand::Explain(args) => explain::run(args),
        ProfileCommand::Diff(args) => diff::run(args),
        ProfileCommand::Render(args) => render::run(args),
        ProfileCommand::Schema(args) => schema::run(args),
    }
}

/// The catalog to be used.
#[derive(Debug, clap::Args)]
pub(super) struct CatalogArgs {
    /// Directory whose profiles replace built-in ones of the same name
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
}

impl CatalogArgs {
    pub(super) fn load(&self) -> Result<Catalog, Failure> {
        let built_in = Catalog::embedded().map_err(|problems| bad(CatalogError::Invalid(problems)))?;
        match &self.catalog {
            Some(dir) => built_in.with_directory(dir).map_err(bad),
            None => Ok(built_in),
        }
    }
}

/// What the site says: a file, and options laid over it.
#[derive(Debug, clap::Args)]
pub(super) struct SiteArgs {
    /// A site.toml
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Role of the host: dtn, perfsonar, xrootd-frontend or remote-processing
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Option<Role>,
    /// Speed of the data link in Mb/s, where the kernel knows none
    #[arg(long, value_name = "N")]
    link_mbps: Option<u32>,
    /// Round-trip time that buffers are made for, ms
    #[arg(long, value_name = "N")]
    rtt_ms: Option<u32>,
    /// Parallel streams that share the link
    #[arg(long, value_name = "N")]
    streams: Option<u32>,
    /// Interface that carries the data, where it cannot be told; may be given several times
    #[arg(long, value_name = "NAME")]
    data_nic: Vec<String>,
    /// What holds the data: nvme, ssd, hdd, nfs, pnfs, cephfs, lustre or beegfs
    #[arg(long, value_name = "CLASS", value_parser = word::<StorageClass>)]
    storage_class: Option<StorageClass>,
    /// cubic, bbr or htcp
    #[arg(long, value_name = "NAME")]
    congestion_control: Option<String>,
    /// MTU of the data ports, byte, where the whole layer 2 network carries it
    #[arg(long, value_name = "N")]
    mtu: Option<u32>,
    /// Pause frames of the data ports: on or off
    #[arg(long, value_name = "SWITCH", value_parser = word::<Switch>)]
    pause: Option<Switch>,
    /// Rate that no flow of a data port exceeds, Mb/s
    #[arg(long, value_name = "N")]
    pacing_mbps: Option<u32>,
}

/// A word as `site.toml` takes it.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(text.into())
}

fn role(name: &str) -> Result<Role, String> {
    let known = || Role::ALL.map(Role::name).join(", ");
    Role::from_name(name).ok_or_else(|| format!("expected one of {}", known()))
}

impl SiteArgs {
    pub(super) fn load(&self) -> Result<Site, Failure> {
        let file = self.file()?.unwrap_or_default();
        file.overlaid_by(self.options()).check().map_err(bad)
    }

    /// The text of a `site.toml` with all of it; `None` when nothing was said.
    pub(super) fn text(&self) -> Result<Option<String>, Failure> {
        let file = self.file()?.unwrap_or_default();
        let all = file.overlaid_by(self.options());
        if all == SiteFile::default() {
            return Ok(None);
        }
        let schema = Some(SITE_SCHEMA);
        Ok(Some(toml::to_string(&SiteFile { schema, ..all })?))
    }

    fn options(&self) -> SiteFile {
        SiteFile {
            role: self.role,
            link_mbps: self.link_mbps,
            rtt_ms: self.rtt_ms,
            streams: self.streams,
            data_nics: (!self.data_nic.is_empty()).then(|| self.data_nic.clone()),
            storage_class: self.storage_class,
            congestion_control: self.congestion_control.clone(),
            mtu: self.mtu,
            pause: self.pause,
            pacing_mbps: self.pacing_mbps,
            ..SiteFile::default()
        }
    }

    /// The file, checked alone: then its name belongs to the error.
    fn file(&self) -> Result<Option<SiteFile>, Failure> {
        let Some(path) = &self.site else {
            return Ok(None);
        };
        let name = || path.display().to_string();
        let file: SiteFile = toml::from_str(&read::text(path)?)
            .map_err(with_suggestion)
            .with_context(name)
            .map_err(Failure::BadInput)?;
        file.clone()
            .check()
            .with_context(name)
            .map_err(Failure::BadInput)?;
        Ok(Some(file))
    }
}

/// What the TOML reader refused, and the key or word that was meant.
fn with_suggestion(error: toml::de::Error) -> anyhow::Error {
    match suggest::for_unknown(error.message()) {
        Some(hint) => anyhow!("{}\nhint: {hint}", error.to_string().trim_end()),
        None => error.into(),
    }
}

fn bad(error: impl Into<anyhow::Error>) -> Failure {
    Failure::BadInput(error.into())
}

/// Prints the envelope of a `--json` answer.
fn print_json(data: impl Serialize) -> Result<(), Failure> {
    print(&Envelope::new(SCHEMA, data).to_text()?)
}

/// Prints to standard output. A reader that went away (`| head`) is no failure of ours.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out
        .write_all(printable(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Columns as wide as their widest cell; the last one is left as it is.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or_default())
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
