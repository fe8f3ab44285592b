//! `dtnforge profile render NAME --host FACTS`: the native files, as the agent would place them under `/run`.

use super::report::Report;
use super::{CatalogArgs, Failure, SiteArgs, bad, find, print, print_json};
use crate::fsx;
use anyhow::anyhow;
use dtnforge_profiles::plan::{Plan, Skipped};
use dtnforge_profiles::render::{NativeFile, files};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `dtnforge profile render`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: dtnforge profile render dtn-100g-nvme --host my-host.toml --role dtn --out run/"
)]
pub(super) struct RenderArgs {
    /// Name of the profile
    name: String,
    /// Facts of the host, TOML or JSON, as `dtn-firstboot detect` prints them
    #[arg(long, value_name = "FILE")]
    host: PathBuf,
    /// Directory for the files, in place of /run; new or empty. Without it they are printed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Rendered<'a> {
    profile: &'a str,
    files: Vec<File<'a>>,
    skipped: &'a [Skipped],
}

/// A file, by its path below `/run`.
#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    group: Option<&'static str>,
    text: &'a str,
}

pub(super) fn run(args: &RenderArgs) -> Result<(), Failure> {
    let catalog = args.catalog.load()?;
    let profile = find::profile(&catalog, &args.name)?;
    let plan = Report::load(&args.host, args.site.load()?)?.plan(profile)?;
    let files = files(&plan).map_err(bad)?;
    if let Some(out) = &args.out {
        place(out, &files)?;
    }
    let shown = Rendered::of(&plan, &files);
    match (args.json, &args.out) {
        (true, _) => print_json(shown),
        (false, None) => print(&shown.text()),
        (false, Some(out)) => print(&shown.list(out)),
    }
}

fn place(out: &Path, files: &[NativeFile]) -> Result<(), Failure> {
    // A file of an earlier call would look like one of this profile.
    if out.exists() && !fsx::list(out)?.is_empty() {
        let what = format!("{} is not an empty directory", out.display());
        return Err(bad(anyhow!("{what}\nhint: name a new one, or empty it first")));
    }
    fsx::create_dir_all(out)?;
    for file in files {
        fsx::write(&out.join(&file.path), file.text.as_bytes())?;
    }
    Ok(())
}

impl<'a> Rendered<'a> {
    fn of(plan: &'a Plan, files: &'a [NativeFile]) -> Self {
        let file = |file: &'a NativeFile| File {
            path: &file.path,
            group: file.group.map(|group| group.name()),
            text: &file.text,
        };
        Self {
            profile: &plan.profile,
            files: files.iter().map(file).collect(),
            skipped: &plan.skipped,
        }
    }

    /// Every file under its path, then what has no file.
    fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "==> /run/{} <==\n{}", file.path, file.text);
        }
        text + &self.left_out()
    }

    fn list(&self, out: &Path) -> String {
        let path = |file: &File<'_>| format!("{}\n", out.join(file.path).display());
        self.files.iter().map(path).collect::<String>() + &self.left_out()
    }

    fn left_out(&self) -> String {
        let line = |skipped: &Skipped| format!("left out: {}: {}\n", skipped.knob, skipped.why);
        self.skipped.iter().map(line).collect()
    }
}
