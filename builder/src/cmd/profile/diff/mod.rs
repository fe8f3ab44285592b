//! `dtnforge profile diff A B`: what differs, with the reasons of both sides.

mod compared;

use self::compared::Compared;
use super::report::Report;
use super::{CatalogArgs, Failure, SiteArgs, bad, find, print, print_json, read};
use anyhow::{Context as _, anyhow};
use dtnforge_profiles::catalog::{Catalog, CatalogError, KnobTemplate, Profile};
use dtnforge_profiles::compare::{Row, Side, compare};
use dtnforge_profiles::conclude::SpeedClass;
use dtnforge_profiles::published::{Audience, Library, Published};
use dtnforge_profiles::site::Site;
use std::path::{Path, PathBuf};

/// Arguments of `dtnforge profile diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  dtnforge profile diff dtn-25g-nvme dtn-100g-nvme
  dtnforge profile diff dtn-100g-nvme osg-script
  dtnforge profile diff dtn-100g-nvme /etc/sysctl.d/90-site.conf --host my-host.toml --role dtn")]
pub(super) struct DiffArgs {
    /// A profile by name or file (.toml), a file of sysctl.d, or a name of `profile list --published`
    left: String,
    /// The same
    right: String,
    /// Facts of a host: profiles are compared by their plans for it
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a name on the command line stands for.
enum Named<'a> {
    Profile(Box<Profile>),
    Published(&'a Published),
    SysctlD { name: String, text: String },
}

pub(super) fn run(args: &DiffArgs) -> Result<(), Failure> {
    let site = args.site.load()?;
    let catalog = args.catalog.load()?;
    let library = Library::embedded().map_err(bad)?;
    let host = match &args.host {
        Some(path) => Some(Report::load(path, site.clone())?),
        None => None,
    };
    let world = World {
        site,
        host,
        library: &library,
    };
    let (left, right) = (
        named(&args.left, &catalog, &library)?,
        named(&args.right, &catalog, &library)?,
    );
    let compared = world.compare(&left, &right)?;
    if args.json {
        print_json(compared)
    } else {
        print(&compared.text())
    }
}

fn named<'a>(name: &str, catalog: &Catalog, library: &'a Library) -> Result<Named<'a>, Failure> {
    if let Some(profile) = catalog.get(name) {
        return Ok(Named::Profile(Box::new(profile.clone())));
    }
    if let Some(published) = library.get(name) {
        return Ok(Named::Published(published));
    }
    let path = Path::new(name);
    if !path.is_file() {
        let published: Vec<_> = library.all().map(|published| published.name.as_str()).collect();
        return Err(bad(anyhow!(
            "{name:?} is neither a file, nor a profile ({}), nor published ({})",
            find::names(catalog),
            published.join(", ")
        )));
    }
    let text = read::text(path)?;
    if path.extension().is_some_and(|ext| ext == "toml") {
        let profile = Profile::parse(name, &text).map_err(|problems| bad(CatalogError::Invalid(problems)))?;
        return Ok(Named::Profile(Box::new(profile)));
    }
    Ok(Named::SysctlD {
        name: name.to_owned(),
        text,
    })
}

/// What both sides are looked at with.
struct World<'a> {
    site: Site,
    host: Option<Report>,
    library: &'a Library,
}

impl World<'_> {
    fn compare(&self, left: &Named<'_>, right: &Named<'_>) -> Result<Compared, Failure> {
        // A profile says for which hosts it is, and what others publish is taken for the same.
        let for_hosts = self
            .audience(left)
            .or_else(|| self.audience(right))
            .unwrap_or(Audience {
                role: self.site.role,
                link: self.site.link_mbps.map(SpeedClass::of),
            });
        let (left_side, right_side) = (self.side(left, for_hosts)?, self.side(right, for_hosts)?);
        let rows = compare(&left_side, &right_side, &self.library.defaults());
        let explain = |row: &Row| self.explained(left, right, &row.knob, for_hosts);
        let any_published = [left, right]
            .iter()
            .any(|named| matches!(named, Named::Published(_)));
        let for_hosts = any_published.then_some(for_hosts);
        Ok(Compared::of((&left_side, &right_side), for_hosts, rows, explain))
    }

    fn audience(&self, named: &Named<'_>) -> Option<Audience> {
        let Named::Profile(profile) = named else {
            return None;
        };
        let mut audience = Audience::of_profile(profile, &self.site);
        if let Some(host) = &self.host {
            audience.link = Some(host.seen.speed_class);
        }
        Some(audience)
    }

    fn side(&self, named: &Named<'_>, for_hosts: Audience) -> Result<Side, Failure> {
        match (named, &self.host) {
            (Named::Profile(profile), Some(host)) => Ok(Side::of_plan(&host.plan(profile)?)),
            (Named::Profile(profile), None) => Ok(Side::of_profile(profile, &self.site, self.library)),
            (Named::Published(published), _) => {
                let set = published.for_host(for_hosts, self.site.rtt_ms);
                let set = set.ok_or_else(|| bad(anyhow!(nothing_for(published, for_hosts))))?;
                Ok(Side::of_published(published, set))
            }
            (Named::SysctlD { name, text }, _) => Side::of_sysctl_d(name, text)
                .with_context(|| name.clone())
                .map_err(Failure::BadInput),
        }
    }

    fn explained(
        &self,
        left: &Named<'_>,
        right: &Named<'_>,
        knob: &str,
        for_hosts: Audience,
    ) -> Option<String> {
        let published = match (left, right) {
            (Named::Profile(_), Named::Published(other)) | (Named::Published(other), Named::Profile(_)) => {
                other
            }
            _ => return None,
        };
        let knob = KnobTemplate::parse(knob).ok()?;
        let (_, difference) = self.library.differences.find(&knob, &published.name, for_hosts)?;
        Some(difference.why.clone())
    }
}

fn nothing_for(published: &Published, hosts: Audience) -> String {
    let has: Vec<String> = published
        .sets
        .iter()
        .map(|set| {
            let roles: Vec<_> = set.roles.iter().map(|role| role.name()).collect();
            let links: Vec<_> = set.links.iter().map(|link| link.name()).collect();
            format!("{} {}", or_any(&roles, "role"), or_any(&links, "link"))
        })
        .collect();
    let role = hosts
        .role
        .map_or("no role".to_owned(), |role| format!("role {role}"));
    let link = hosts
        .link
        .map_or("no link speed".to_owned(), |link| format!("a {link} link"));
    format!(
        "{} has nothing for {role} and {link}; it has {}\nhint: say --role and --link-mbps",
        published.name,
        has.join("; ")
    )
}

fn or_any(names: &[&str], what: &str) -> String {
    if names.is_empty() {
        format!("any {what}")
    } else {
        names.join("/")
    }
}
