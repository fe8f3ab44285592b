//! `dtnforge profile show NAME`: every value, with its reason and source.

use super::{CatalogArgs, Failure, SiteArgs, find, print, print_json};
use dtnforge_profiles::catalog::Profile;
use dtnforge_profiles::conclude::conclude;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::plan::{make, offline_target};
use dtnforge_profiles::site::Site;
use serde::Serialize;
use std::fmt::Write as _;

/// Arguments of `dtnforge profile show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtnforge profile show dtn-vm --resolved --link-mbps 10000")]
pub(super) struct ShowArgs {
    /// Name of the profile
    name: String,
    /// Put in the results of the buffer formula and the choices of the site
    #[arg(long)]
    resolved: bool,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    title: String,
    values: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    knob: String,
    value: String,
    unit: &'static str,
    group: &'static str,
    why: String,
    source: String,
}

pub(super) fn run(args: &ShowArgs) -> Result<(), Failure> {
    let catalog = args.catalog.load()?;
    let profile = find::profile(&catalog, &args.name)?;
    let mut lines = as_written(profile);
    if args.resolved {
        resolve(&mut lines, profile, &args.site.load()?);
    }
    let shown = Shown {
        name: profile.name.clone(),
        title: profile.title.clone(),
        values: lines,
    };
    if args.json {
        print_json(shown)
    } else {
        print(&shown.text())
    }
}

fn as_written(profile: &Profile) -> Vec<Line> {
    let line = |line: &dtnforge_profiles::catalog::KnobLine| Line {
        knob: line.id.to_string(),
        value: line.value.as_str().to_owned(),
        unit: line.definition.unit,
        group: line.definition.group.name(),
        why: line.why.clone(),
        source: line.source.clone(),
    };
    profile.knobs.iter().map(line).collect()
}

/// Takes values and reasons from the plan for a host of which only the link speed is known.
fn resolve(lines: &mut [Line], profile: &Profile, site: &Site) {
    let facts = Facts::default();
    let mut seen = conclude(&facts, site);
    seen.link_mbps = site.link_mbps;
    let plan = make(
        profile,
        &Digest::of(b""),
        &facts,
        &seen,
        site,
        &offline_target(&facts),
    );
    for line in lines {
        if let Some(step) = plan.steps.iter().find(|step| step.knob.to_string() == line.knob) {
            line.value = step.to.to_string();
            line.why.clone_from(&step.why);
        } else if line.value.contains('{') {
            line.why = "depends on the speed of the link: state it with --link-mbps".to_owned();
        }
    }
}

impl Shown {
    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.name, self.title);
        let mut group = "";
        for line in &self.values {
            if line.group != group {
                group = line.group;
                // Writing to a text cannot fail.
                let _ = writeln!(text, "\n[{group}]");
            }
            let value = format!("{} = {} {}", line.knob, line.value, line.unit);
            let _ = writeln!(
                text,
                "{}\n    {}\n    source: {}",
                value.trim_end(),
                line.why,
                line.source
            );
        }
        text
    }
}
