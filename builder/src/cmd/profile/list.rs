//! `dtnforge profile list`: one line for each profile, or for each publication that they can be compared with.

use super::{CatalogArgs, Failure, bad, print, print_json, table};
use dtnforge_profiles::catalog::{Profile, Wanted};
use dtnforge_profiles::published::Library;
use serde::Serialize;

/// Arguments of `dtnforge profile list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtnforge profile list")]
pub(super) struct ListArgs {
    /// List what others publish instead: names for `profile diff`
    #[arg(long)]
    published: bool,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    title: &'a str,
    roles: Vec<&'a str>,
    link: String,
    storage: Vec<&'a str>,
    virtualised: Wanted,
    knobs: usize,
}

pub(super) fn run(args: &ListArgs) -> Result<(), Failure> {
    if args.published {
        return list_published(args.json);
    }
    let catalog = args.catalog.load()?;
    let listed: Vec<Listed<'_>> = catalog.profiles().map(Listed::of).collect();
    if args.json {
        return print_json(listed);
    }
    let head = ["NAME", "ROLE", "LINK", "STORAGE", "GUEST", "VALUES", "TITLE"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    rows.extend(listed.iter().map(Listed::row));
    print(&table(&rows))
}

#[derive(Serialize)]
struct ListedPublished<'a> {
    name: &'a str,
    title: &'a str,
    source: &'a str,
    note: Option<&'a str>,
}

fn list_published(json: bool) -> Result<(), Failure> {
    let library = Library::embedded().map_err(bad)?;
    let listed: Vec<ListedPublished<'_>> = library
        .all()
        .map(|published| ListedPublished {
            name: &published.name,
            title: &published.title,
            source: &published.source,
            note: published.note.as_deref(),
        })
        .collect();
    if json {
        return print_json(listed);
    }
    let mut rows = vec![["NAME", "TITLE", "SOURCE"].map(str::to_owned).to_vec()];
    rows.extend(
        listed
            .iter()
            .map(|one| [one.name, one.title, one.source].map(str::to_owned).to_vec()),
    );
    print(&table(&rows))
}

impl<'a> Listed<'a> {
    fn of(profile: &'a Profile) -> Self {
        Self {
            name: &profile.name,
            title: &profile.title,
            roles: profile.roles.iter().map(|role| role.name()).collect(),
            link: link_of(profile),
            storage: profile
                .matching
                .storage
                .iter()
                .map(|class| class.name())
                .collect(),
            virtualised: profile.matching.virtualised,
            knobs: profile.knobs.len(),
        }
    }

    fn row(&self) -> Vec<String> {
        let any = |names: &[&str]| {
            if names.is_empty() {
                "-".to_owned()
            } else {
                names.join(",")
            }
        };
        let guest = match self.virtualised {
            Wanted::Yes => "yes",
            Wanted::No => "no",
            Wanted::Any => "-",
        };
        vec![
            self.name.to_owned(),
            any(&self.roles),
            self.link.clone(),
            any(&self.storage),
            guest.to_owned(),
            self.knobs.to_string(),
            self.title.to_owned(),
        ]
    }
}

fn link_of(profile: &Profile) -> String {
    let matching = &profile.matching;
    let classes: Vec<_> = matching.speed_classes.iter().map(|class| class.name()).collect();
    match (classes.is_empty(), matching.min_mbps, matching.max_mbps) {
        (false, ..) => classes.join(","),
        (true, None, None) => "-".to_owned(),
        (true, Some(1), None) => "any known".to_owned(),
        (true, min, max) => {
            let max = max.map(|mbps| mbps.to_string()).unwrap_or_default();
            format!("{}..{max} Mb/s", min.unwrap_or(1))
        }
    }
}
