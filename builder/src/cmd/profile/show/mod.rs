//! `dtnforge profile show NAME`: for which hosts a profile is, and every value with its reason, source and origin.

mod text;

use super::{CatalogArgs, Failure, SiteArgs, find, print, print_json};
use dtnforge_profiles::catalog::{Advice, Buffer, Profile, Wanted};
use dtnforge_profiles::plan::{Origin, Resolved, resolve};
use dtnforge_profiles::site::Site;
use serde::Serialize;

/// Arguments of `dtnforge profile show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  dtnforge profile show dtn-100g-nvme
  dtnforge profile show dtn-vm --resolved --link-mbps 10000")]
pub(super) struct ShowArgs {
    /// Name of the profile
    name: String,
    /// By group, with the numbers of the buffer formula, the choices of the site, and where each value comes from
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

/// The answer. Keys are only ever added.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    title: &'a str,
    roles: Vec<&'static str>,
    links: Vec<&'static str>,
    min_mbps: Option<u32>,
    max_mbps: Option<u32>,
    storage: Vec<&'static str>,
    virtualised: Wanted,
    drivers: &'a [String],
    buffer: Option<Formula>,
    tuned: Option<Tuned>,
    values: Vec<Line<'a>>,
    advice: &'a [Advice],
}

/// The buffer formula with its inputs.
#[derive(Serialize)]
struct Formula {
    speed_mbps: Option<u32>,
    rtt_ms: u32,
    streams: u32,
    ram_divisor: u32,
    /// The formula, with its result where the speed is known.
    text: String,
}

#[derive(Serialize)]
struct Tuned {
    include: &'static str,
    repeat: Vec<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    knob: String,
    /// As written, `{buffer}` included.
    value: &'a str,
    /// What it comes to; null where that cannot be told without a host.
    resolved: Option<String>,
    /// Why it comes to nothing.
    unresolved: Option<String>,
    unit: &'static str,
    group: &'static str,
    origin: Origin,
    /// With the numbers of the formula.
    why: String,
    #[serde(skip)]
    written_why: &'a str,
    source: &'a str,
}

pub(super) fn run(args: &ShowArgs) -> Result<(), Failure> {
    let catalog = args.catalog.load()?;
    let profile = find::profile(&catalog, &args.name)?;
    let site = args.site.load()?;
    let shown = Shown {
        name: &profile.name,
        title: &profile.title,
        roles: profile.roles.iter().map(|role| role.name()).collect(),
        links: profile
            .matching
            .speed_classes
            .iter()
            .map(|class| class.name())
            .collect(),
        min_mbps: profile.matching.min_mbps,
        max_mbps: profile.matching.max_mbps,
        storage: profile
            .matching
            .storage
            .iter()
            .map(|class| class.name())
            .collect(),
        virtualised: profile.matching.virtualised,
        drivers: &profile.matching.drivers,
        buffer: profile.buffer.as_ref().map(|buffer| Formula::of(buffer, &site)),
        tuned: Tuned::of(profile),
        values: resolve(profile, &site).into_iter().map(Line::of).collect(),
        advice: &profile.advice,
    };
    match (args.json, args.resolved) {
        (true, _) => print_json(shown),
        (false, false) => print(&shown.by_base()),
        (false, true) => print(&shown.by_group()),
    }
}

impl Formula {
    fn of(buffer: &Buffer, site: &Site) -> Self {
        let speed_mbps = buffer.speed_mbps.or(site.link_mbps);
        let (rtt_ms, streams) = (site.rtt_ms, site.streams.unwrap_or(buffer.streams));
        let text = match speed_mbps {
            Some(mbps) => buffer.sized(mbps, rtt_ms, streams).formula,
            None => format!("2 x the speed of the link x {rtt_ms} ms / 8 / {streams} streams"),
        };
        Self {
            speed_mbps,
            rtt_ms,
            streams,
            ram_divisor: buffer.ram_divisor,
            text,
        }
    }
}

impl Tuned {
    fn of(profile: &Profile) -> Option<Self> {
        profile.tuned.as_ref().map(|tuned| Self {
            include: tuned.include.name(),
            repeat: tuned.repeat.iter().map(ToString::to_string).collect(),
        })
    }
}

impl<'a> Line<'a> {
    fn of(resolved: Resolved<'a>) -> Self {
        let (value, unresolved) = match resolved.value {
            Ok(value) => (Some(value.to_string()), None),
            Err(why) => (None, Some(why)),
        };
        Self {
            knob: resolved.line.id.to_string(),
            value: resolved.line.value.as_str(),
            resolved: value,
            unresolved,
            unit: resolved.line.definition.unit,
            group: resolved.line.definition.group.name(),
            origin: resolved.origin,
            why: resolved.why,
            written_why: &resolved.line.why,
            source: &resolved.line.source,
        }
    }
}
