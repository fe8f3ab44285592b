//! `dtnforge profile list`: one line for each profile.

use super::{CatalogArgs, Failure, print_json, print_table};
use dtnforge_profiles::catalog::{Profile, Wanted};
use serde::Serialize;

/// Arguments of `dtnforge profile list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
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
    let catalog = args.catalog.load()?;
    let listed: Vec<Listed<'_>> = catalog.profiles().map(Listed::of).collect();
    if args.json {
        return print_json(listed);
    }
    let head = ["NAME", "ROLE", "LINK", "STORAGE", "GUEST", "VALUES", "TITLE"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    rows.extend(listed.iter().map(Listed::row));
    print_table(&rows);
    Ok(())
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
