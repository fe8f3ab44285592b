//! `dtnforge profile explain`: from the facts of a host to its profile and plan, with every reason.

use super::report::Report;
use super::{CatalogArgs, Failure, SiteArgs, print, print_json};
use dtnforge_profiles::conclude::{Conclusions, Guest, SpeedClass, StorageClass};
use dtnforge_profiles::matching::{Ranked, Selection, select};
use dtnforge_profiles::plan::Plan;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `dtnforge profile explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtnforge profile explain --host my-host.toml --role dtn")]
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
    host_mbps: Option<u32>,
    storage_class: StorageClass,
    data_disks: Vec<String>,
    virtualised: Guest,
    virtualised_sign: String,
    numa_node: Option<i64>,
    cannot_tell: Vec<String>,
    ask: Vec<String>,
    findings: Vec<String>,
    profile: Option<String>,
    why: Vec<String>,
    ranked: Vec<Ranked>,
    plan: Option<Plan>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let catalog = args.catalog.load()?;
    let report = Report::load(&args.host, args.site.load()?)?;
    let selection = select(&catalog, &report.seen, &report.site);
    let plan = match selection.chosen {
        Some(profile) => Some(report.plan(profile)?),
        None => None,
    };
    let explained = Explained::of(report.seen, selection, plan);
    if args.json {
        print_json(explained)
    } else {
        print(&explained.text())
    }
}

impl Explained {
    fn of(seen: Conclusions, selection: Selection<'_>, plan: Option<Plan>) -> Self {
        let ask = seen.questions();
        let mut why = seen.why;
        why.push(format!("profile: {}", selection.why));
        Self {
            data_nics: seen.data_nics,
            speed_class: seen.speed_class,
            link_mbps: seen.link_mbps,
            link_stated: seen.link_stated,
            host_mbps: seen.host_mbps,
            storage_class: seen.storage_class,
            data_disks: seen.data_disks,
            virtualised: seen.virtualised.guest,
            virtualised_sign: seen.virtualised.sign,
            numa_node: seen.numa_node,
            cannot_tell: seen.cannot_tell,
            ask,
            findings: seen.findings,
            profile: selection.chosen.map(|profile| profile.name.clone()),
            why,
            ranked: selection.ranked,
            plan,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        for why in &self.why {
            writeln!(text, "{why}")?;
        }
        if !self.cannot_tell.is_empty() {
            writeln!(text, "not certain: {}", self.cannot_tell.join(", "))?;
        }
        for question in &self.ask {
            writeln!(text, "ask: {question}")?;
        }
        for finding in &self.findings {
            writeln!(text, "finding: {finding}")?;
        }
        self.write_others(text)?;
        self.plan.iter().try_for_each(|plan| write_plan(text, plan))
    }
}

impl Explained {
    /// The nearest of the other profiles; the rest is in the JSON answer.
    fn write_others(&self, text: &mut String) -> std::fmt::Result {
        let is_other = |ranked: &&Ranked| Some(&ranked.name) != self.profile.as_ref();
        let others: Vec<&Ranked> = self.ranked.iter().filter(is_other).collect();
        let nearest = others.len().min(NEAREST);
        for ranked in &others[..nearest] {
            writeln!(text, "not {}: {}", ranked.name, against(ranked))?;
        }
        match others.len() - nearest {
            0 => Ok(()),
            more => writeln!(text, "not {more} others, which fit less (all of them: --json)"),
        }
    }
}

/// How many of the profiles that were not chosen are told of.
const NEAREST: usize = 5;

fn against(ranked: &Ranked) -> String {
    match ranked.against.is_empty() {
        true => "it fits too, and asks for less".to_owned(),
        false => ranked.against.join(", "),
    }
}

fn write_plan(text: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(text, "\nplan for {}, layer {}:", plan.profile, plan.layer.short())?;
    for step in &plan.steps {
        writeln!(
            text,
            "  {} = {}  [{}] {}",
            step.knob, step.to, step.group, step.why
        )?;
        if let Some(lowered) = &step.lowered {
            writeln!(text, "      lowered from {}: {}", lowered.asked, lowered.why)?;
        }
    }
    for skipped in &plan.skipped {
        writeln!(text, "  skipped {}: {}", skipped.knob, skipped.why)?;
    }
    Ok(())
}
