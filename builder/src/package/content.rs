//! What is in a package.

use super::NAME;
use super::tree::{Entry, Tree};
use dtnforge_profiles::installed_units::{CATALOG, GENERATOR, GENERATOR_NAME, UNITS};
use dtnforge_profiles::layer::{Index, Layer};
use dtnforge_profiles::render::TUNED_PROFILES;

const DIRECTORY: &str = "usr/lib/systemd/system";
const LAYERS: &str = "usr/lib/dtnforge/layers";
/// Directories in which tuned looks for profiles: up to 2.23, and later ones.
const TUNED: [&str; 2] = ["usr/lib/tuned", "usr/lib/tuned/profiles"];

/// What to pack.
#[derive(Debug)]
pub struct Content {
    /// The agent's program.
    pub agent: Vec<u8>,
    /// The layers.
    pub layers: Vec<Layer>,
    /// What the site decides for all hosts that get the package: the text of a `site.toml`.
    pub site: Option<String>,
}

/// The tree of `content`. Units are switched on by links in it, so that no script has to.
///
/// # Errors
/// Never in practice: only when the index of the layers has no JSON form.
pub fn tree(content: &Content) -> Result<Tree, serde_json::Error> {
    let mut tree = Tree::default();
    tree.add("usr/bin/dtn-firstboot", Entry::program(content.agent.clone()));
    for unit in UNITS {
        tree.add(format!("{DIRECTORY}/{}", unit.name), Entry::file(unit.text));
        if let Some(target) = unit.wanted_by {
            let link = format!("{DIRECTORY}/{target}.wants/{}", unit.name);
            tree.add(link, Entry::Link(format!("../{}", unit.name)));
        }
    }
    tree.add(
        format!("usr/lib/systemd/system-generators/{GENERATOR_NAME}"),
        Entry::program(GENERATOR),
    );
    tree.add("usr/lib/systemd/catalog/dtnforge.catalog", Entry::file(CATALOG));
    tree.add(
        format!("{LAYERS}/index.json"),
        Entry::file(Index::of(&content.layers).to_text()?),
    );
    for layer in &content.layers {
        tree.add(
            format!("{LAYERS}/{}", layer.file_name()),
            Entry::file(layer.bytes.clone()),
        );
        let name = format!("dtnforge-{}", layer.manifest.profile);
        for directory in TUNED {
            let target = format!("/run/{TUNED_PROFILES}/{name}");
            tree.add(format!("{directory}/{name}"), Entry::Link(target));
        }
    }
    if let Some(site) = &content.site {
        tree.add(format!("{LAYERS}/site.toml"), Entry::file(site.as_str()));
    }
    tree.add(format!("usr/share/doc/{NAME}/copyright"), Entry::file(COPYRIGHT));
    Ok(tree)
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: dtnforge

Files: *
Copyright: the authors of dtnforge
License: Apache-2.0 or MIT
";
