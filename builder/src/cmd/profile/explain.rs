//! `dtnforge profile explain`: from the facts of a host to its profile and plan, with every reason.

use super::{CatalogArgs, Failure, SiteArgs, bad, print_json, read};
use anyhow::Context as _;
use dtnforge_profiles::conclude::{Conclusions, Guest, SpeedClass, StorageClass, conclude};
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::layer;
use dtnforge_profiles::matching::{Ranked, Selection, select};
use dtnforge_profiles::plan::{Plan, make, offline_target};
use dtnforge_profiles::site::Site;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `dtnforge profile explain`.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {
    /// Facts of the host, TOML or JSON, as `dtn-firstboot detect` prints them
    #[arg(long, value_name = "FILE")]
    host: PathBuf,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer. Keys are only ever added.
#[derive(Serialize)]
struct Explained {
    data_nics: Vec<String>,
    speed_class: SpeedClass,
    link_mbps: Option<u32>,
    link_stated: bool,
    storage_class: StorageClass,
    data_disks: Vec<String>,
    virtualised: Guest,
    virtualised_sign: String,
    numa_node: Option<i64>,
    cannot_tell: Vec<String>,
    findings: Vec<String>,
    profile: Option<String>,
    why: Vec<String>,
    ranked: Vec<Ranked>,
    plan: Option<Plan>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let text = read(&args.host)?;
    let facts = Facts::read(&text)
        .with_context(|| args.host.display().to_string())
        .map_err(Failure::BadInput)?;
    let (site, catalog) = (args.site.load()?, args.catalog.load()?);
    let seen = conclude(&facts, &site);
    let selection = select(&catalog, &seen, &site);
    let plan = plan_of(&selection, &facts, &seen, &site)?;
    let explained = Explained::of(seen, selection, plan);
    if args.json {
        return print_json(explained);
    }
    explained.print();
    Ok(())
}

fn plan_of(
    selection: &Selection<'_>,
    facts: &Facts,
    seen: &Conclusions,
    site: &Site,
) -> Result<Option<Plan>, Failure> {
    let Some(profile) = selection.chosen else {
        return Ok(None);
    };
    let digest: Digest = layer::build(profile, site).map_err(bad)?.digest;
    Ok(Some(make(
        profile,
        &digest,
        facts,
        seen,
        site,
        &offline_target(facts),
    )))
}

impl Explained {
    fn of(seen: Conclusions, selection: Selection<'_>, plan: Option<Plan>) -> Self {
        let mut why = seen.why;
        why.push(format!("profile: {}", selection.why));
        Self {
            data_nics: seen.data_nics,
            speed_class: seen.speed_class,
            link_mbps: seen.link_mbps,
            link_stated: seen.link_stated,
            storage_class: seen.storage_class,
            data_disks: seen.data_disks,
            virtualised: seen.virtualised.guest,
            virtualised_sign: seen.virtualised.sign,
            numa_node: seen.numa_node,
            cannot_tell: seen.cannot_tell,
            findings: seen.findings,
            profile: selection.chosen.map(|profile| profile.name.clone()),
            why,
            ranked: selection.ranked,
            plan,
        }
    }

    fn print(&self) {
        for why in &self.why {
            println!("{why}");
        }
        if !self.cannot_tell.is_empty() {
            println!("not certain: {}", self.cannot_tell.join(", "));
        }
        for finding in &self.findings {
            println!("finding: {finding}");
        }
        for ranked in self
            .ranked
            .iter()
            .filter(|ranked| Some(&ranked.name) != self.profile.as_ref())
        {
            println!("not {}: {}", ranked.name, against(ranked));
        }
        self.plan.iter().for_each(print_plan);
    }
}

fn against(ranked: &Ranked) -> String {
    match ranked.against.is_empty() {
        true => "it fits too, and asks for less".to_owned(),
        false => ranked.against.join(", "),
    }
}

fn print_plan(plan: &Plan) {
    println!("\nplan for {}, layer {}:", plan.profile, plan.layer.short());
    for step in &plan.steps {
        println!("  {} = {}  [{}] {}", step.knob, step.to, step.group, step.why);
        if let Some(lowered) = &step.lowered {
            println!("      lowered from {}: {}", lowered.asked, lowered.why);
        }
    }
    for skipped in &plan.skipped {
        println!("  skipped {}: {}", skipped.knob, skipped.why);
    }
}
