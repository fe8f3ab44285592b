//! `dtnforge seed`: cloud-init seeds for the nodes of a table.

use super::Failure;
use crate::seed::{self, Format, Made, Node, OutputError, Seed};
use anyhow::{Context as _, anyhow};
use dtnforge_profiles::envelope::Envelope;
use dtnforge_profiles::suggest;
use serde::Serialize;
use std::path::PathBuf;

/// Form of the JSON answer.
const SCHEMA: u32 = 1;

/// Arguments of `dtnforge seed`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The whole table is checked before anything is written. The same table gives the same bytes. A seed with a password hash can \
be read by its owner only.

Example: dtnforge seed nodes.toml --out seeds/
For a web server: dtnforge seed nodes.toml --out seeds/ --format http --url http://192.0.2.1:8080
A table with comments on every key: docs/seeds.md"
)]
pub struct SeedArgs {
    /// Table of nodes, TOML
    table: PathBuf,
    /// Directory for the seeds
    #[arg(long, value_name = "DIR", default_value = "out/seeds")]
    out: PathBuf,
    /// Form of each seed
    #[arg(long, value_enum, default_value = "iso")]
    format: Format,
    /// Only this node; may be repeated
    #[arg(long, value_name = "NAME")]
    node: Vec<String>,
    /// Address where the tree will be served, for the kernel words of --format http
    #[arg(long, value_name = "URL", required_if_eq("format", "http"), value_parser = url)]
    url: Option<String>,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

/// An address that stays one word of a kernel command line and one value of `ds=`.
fn url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_~:/[]%".contains(c);
    match rest {
        Some(rest) if !rest.is_empty() && rest.chars().all(plain) => Ok(text.to_owned()),
        _ => Err("expected http://HOST or https://HOST, with a port and a path where needed".to_owned()),
    }
}

/// The answer of `--json`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    seeds: &'a [Made],
}

/// Makes the seeds.
///
/// # Errors
/// [`Failure::BadInput`] for a table or a name that is wrong, or for files of others in the way: nothing is written then.
pub fn run(args: &SeedArgs) -> Result<(), Failure> {
    let bad = |error: anyhow::Error| Failure::BadInput(error);
    if args.url.is_some() && args.format != Format::Http {
        return Err(bad(anyhow!("--url is for --format http only")));
    }
    let nodes = seed::load(&args.table).map_err(|error| bad(error.into()))?;
    let chosen = choose(&nodes, &args.node).map_err(bad)?;
    let seeds: Result<Vec<Seed>, _> = chosen.into_iter().map(Seed::of).collect();
    let seeds = seeds.context("the site's decisions cannot be written as TOML")?;
    let made = seed::output::write(&seeds, args.format, &args.out, args.url.as_deref());
    let made = made.map_err(|error| match error {
        OutputError::Foreign(_) => bad(error.into()),
        OutputError::File(_) => Failure::Failed(error.into()),
    })?;
    if args.json {
        print!("{}", Envelope::new(SCHEMA, Answer { seeds: &made }).to_text()?);
    } else {
        print!("{}", text(&made));
    }
    Ok(())
}

/// The nodes of these names, or all of them, in the order of the table.
fn choose<'a>(nodes: &'a [Node], names: &[String]) -> anyhow::Result<Vec<&'a Node>> {
    let known = || nodes.iter().map(|node| node.name.as_str());
    if let Some(name) = names.iter().find(|name| known().all(|known| known != **name)) {
        let hint = suggest::nearest(name, known()).map(|near| format!("\nhint: did you mean `{near}`?"));
        return Err(anyhow!(
            "--node {name:?}: the table has no such node{}",
            hint.unwrap_or_default()
        ));
    }
    let wanted = |node: &&Node| names.is_empty() || names.contains(&node.name);
    Ok(nodes.iter().filter(wanted).collect())
}

fn text(made: &[Made]) -> String {
    let mut lines = Vec::new();
    for made in made {
        let secret = if made.secret {
            "  (holds a password hash: readable by its owner only)"
        } else {
            ""
        };
        lines.push(format!("{}: {}{secret}", made.node, made.path.display()));
        if let Some(words) = &made.kernel_words {
            lines.push(format!("  kernel command line, or SMBIOS serial number: {words}"));
        }
    }
    let netplan: Vec<&str> = made
        .iter()
        .filter(|made| made.needs_netplan)
        .map(|made| made.node.as_str())
        .collect();
    if !netplan.is_empty() {
        lines.push(format!(
            "note: a bond, a VLAN or policy routing needs the package netplan.io in the image: {}",
            netplan.join(", ")
        ));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_one_word_without_what_ends_a_value() {
        for good in ["http://192.0.2.1:8080", "https://[2001:db8::1]/seeds/"] {
            assert_eq!(url(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "ftp://x",
            "http://",
            "http://a b",
            "http://a;i=x",
            "http://a\"",
            "http://a\n",
        ] {
            assert!(url(bad).unwrap_err().contains("expected http://HOST"), "{bad:?}");
        }
    }
}
