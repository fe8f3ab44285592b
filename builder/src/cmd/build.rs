//! `dtnforge build SPEC`: from a spec to a disk.

use super::Failure;
use crate::cache::Cache;
use crate::image::{self, BuildOptions, Built, agent, catalog};
use crate::spec;
use dtnforge_profiles::envelope::Envelope;
use std::path::PathBuf;

/// Form of the JSON answer.
const SCHEMA: u32 = 1;

/// Arguments of `dtnforge build`.
#[derive(Debug, clap::Args)]
pub struct BuildArgs {
    /// The image spec
    spec: PathBuf,
    /// Where the disk and the manifest go [default: out/NAME in the project]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Directory of the cache
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The agent, a static program [default: dtn-firstboot beside this program]
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    /// Hash the finished files again and compare
    #[arg(long)]
    verify: bool,
    /// Never use the network
    #[arg(long)]
    offline: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Builds.
///
/// # Errors
/// [`Failure::BadInput`] before anything is written, else the stage that failed.
pub fn run(args: &BuildArgs) -> Result<(), Failure> {
    let spec = spec::load(&args.spec).map_err(|error| Failure::BadInput(error.into()))?;
    let content = catalog::content(&spec).map_err(|error| Failure::BadInput(error.into()))?;
    let agent = args.agent.clone().unwrap_or_else(agent::default_path);
    agent::check(&agent).map_err(|error| Failure::BadInput(error.into()))?;
    let options = BuildOptions {
        out: args
            .out
            .clone()
            .unwrap_or_else(|| spec.project.join("out").join(&spec.name)),
        agent,
        offline: args.offline,
        verify: args.verify,
    };
    let cache = Cache::open(args.cache.as_deref())?;
    let json = args.json;
    let built = image::build(&cache, &spec, &content, &options, &move |line| tell(json, line))?;
    if args.json {
        print!("{}", Envelope::new(SCHEMA, &built).to_text()?);
    } else {
        print_text(&built);
    }
    Ok(())
}

/// Progress: on the screen, and out of the way of JSON.
fn tell(json: bool, line: &str) {
    if json {
        eprintln!("{line}")
    } else {
        println!("{line}")
    }
}

fn print_text(built: &Built) {
    for artefact in &built.artefacts {
        println!(
            "{}  {}",
            artefact.sha256,
            built.out.join(&artefact.path).display()
        );
    }
}
