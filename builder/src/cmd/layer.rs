//! `dtnforge layer PROFILE...`: profiles for hosts that run already, alone or with the agent.

use super::Failure;
use super::profile::{CatalogArgs, SiteArgs, find};
use crate::cache::Cache;
use crate::fsx;
use crate::image::agent;
use crate::package::{self, Content, Label};
use anyhow::{Context as _, anyhow};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::envelope::Envelope;
use dtnforge_profiles::layer::{self, Index, Layer};
use serde::Serialize;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Form of the JSON answer.
const SCHEMA: u32 = 1;

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The layers and their index, for `dtn-firstboot install-layer`
    Layer,
    /// Agent, units and layers as a tar of the root directory
    Tar,
    /// Agent, units and layers as a Debian package
    Deb,
    /// Agent, units and layers as an RPM package
    Rpm,
    /// Agent, units and layers as a system extension
    Sysext,
}

/// Arguments of `dtnforge layer`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: dtnforge layer dtn-100g-nvme dtn-25g-nvme --format deb --role dtn --out packages/\n\
The same inputs give the same bytes; SOURCE_DATE_EPOCH is the time stamp of all files in a package (default 0)."
)]
pub struct LayerArgs {
    /// Names of profiles
    #[arg(required = true, value_name = "PROFILE")]
    profiles: Vec<String>,
    /// What to make
    #[arg(long, value_enum, default_value = "layer")]
    format: Format,
    /// Directory for the files
    #[arg(long, value_name = "DIR", default_value = "out/layer")]
    out: PathBuf,
    /// The agent, a static program [default: dtn-firstboot beside this program]
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    /// Counts packages of the same version
    #[arg(long, value_name = "N", default_value = "1")]
    revision: NonZeroU32,
    /// Who answers for the package
    #[arg(long, value_name = "NAME", default_value = "dtnforge <root@localhost>", value_parser = maintainer)]
    maintainer: String,
    /// Directory of the cache, where the tools for a system extension are
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

/// One line of a control file: `Name <address>`.
fn maintainer(text: &str) -> Result<String, String> {
    let is_form = text
        .split_once(" <")
        .is_some_and(|(name, rest)| !name.is_empty() && rest.ends_with('>'));
    if is_form && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    Err("expected `Name <address>` on one line".to_owned())
}

/// A file that was written.
#[derive(Debug, Serialize)]
struct Written {
    path: PathBuf,
    bytes: u64,
    sha256: Digest,
}

/// Makes the files.
///
/// # Errors
/// [`Failure::BadInput`] for a profile, a site or an agent that is wrong, before anything is written.
pub fn run(args: &LayerArgs) -> Result<(), Failure> {
    let catalog = args.catalog.load()?;
    let site = args.site.load()?;
    let mut layers: Vec<Layer> = Vec::new();
    for name in &args.profiles {
        let profile = find::profile(&catalog, name)?;
        if !layers.iter().any(|layer| layer.manifest.profile == profile.name) {
            layers.push(layer::build(profile, &site)?);
        }
    }
    let written = match args.format {
        Format::Layer => bare(&layers, &args.out)?,
        format => vec![packed(args, format, layers)?],
    };
    show(&written, args.json)
}

fn bare(layers: &[Layer], out: &Path) -> Result<Vec<Written>, Failure> {
    let mut written = Vec::new();
    for layer in layers {
        written.push(write(&out.join(layer.file_name()), &layer.bytes)?);
    }
    let index = Index::of(layers).to_text()?;
    written.push(write(&out.join("index.json"), index.as_bytes())?);
    Ok(written)
}

fn packed(args: &LayerArgs, format: Format, layers: Vec<Layer>) -> Result<Written, Failure> {
    let bad = |error: anyhow::Error| Failure::BadInput(error);
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok();
    let label = Label {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: args.revision,
        maintainer: args.maintainer.clone(),
        time: package::time(epoch.as_deref()).map_err(|why| bad(anyhow!(why)))?,
    };
    let program = args.agent.clone().unwrap_or_else(agent::default_path);
    agent::check(&program).map_err(|error| bad(error.into()))?;
    let content = Content {
        agent: fsx::read(&program)?,
        layers,
        site: args.site.text()?,
    };
    let tree = package::tree(&content)?;
    let (name, version) = (package::NAME, label.full_version());
    let path = |file: String| args.out.join(file);
    match format {
        Format::Deb => write(
            &path(format!("{name}_{version}_amd64.deb")),
            &package::deb(&tree, &label)?,
        ),
        Format::Rpm => write(
            &path(format!("{name}-{version}.x86_64.rpm")),
            &package::rpm(&tree, &label)?,
        ),
        Format::Layer | Format::Tar => write(
            &path(format!("{name}-{version}.tar.zst")),
            &package::tarball(&tree, &label)?,
        ),
        Format::Sysext => {
            // systemd takes the extension's name from that of its file.
            let target = path(format!("{name}.raw"));
            fsx::create_dir_all(&args.out)?;
            let cache = Cache::open(args.cache.as_deref())?;
            package::sysext(&cache, &tree, &label, &target)?;
            Ok(described(&target, &fsx::read(&target)?))
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<Written, Failure> {
    if let Some(directory) = path.parent() {
        fsx::create_dir_all(directory)?;
    }
    fsx::write_atomically(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(described(path, bytes))
}

fn described(path: &Path, bytes: &[u8]) -> Written {
    Written {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        sha256: Digest::of(bytes),
    }
}

fn show(written: &[Written], json: bool) -> Result<(), Failure> {
    if json {
        print!("{}", Envelope::new(SCHEMA, written).to_text()?);
        return Ok(());
    }
    for file in written {
        println!("{}  {}", file.sha256, file.path.display());
    }
    Ok(())
}
