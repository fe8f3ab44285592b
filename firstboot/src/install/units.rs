//! What is placed outside of `/etc/dtnforge`: units, their links, a generator, and the ways by which tuned finds ours.

use super::place::Program;
use crate::host::Host;
use dtnforge_profiles::installed_units::{GENERATOR, GENERATOR_NAME, PROGRAM, UNITS};

const DIRECTORY: &str = "/etc/systemd/system";
const GENERATORS: &str = "/etc/systemd/system-generators";

/// Something to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// Absolute path.
    pub(super) path: String,
    /// What it is.
    pub(super) content: Content,
}

/// A file or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A file with this text and mode.
    File(String, u32),
    /// A link to this place.
    Link(String),
}

/// The units and what belongs to them; none where a package of ours has brought them.
pub(super) fn units(host: &Host, program: &Program) -> Vec<Item> {
    if host
        .path("/usr/lib/systemd/system/dtn-firstboot.service")
        .exists()
    {
        return Vec::new();
    }
    let text = |text: &str| text.replace(PROGRAM, program.path());
    let mut items = vec![Item {
        path: format!("{GENERATORS}/{GENERATOR_NAME}"),
        content: Content::File(text(GENERATOR), 0o755),
    }];
    for unit in UNITS {
        let name = unit.name;
        items.push(Item {
            path: format!("{DIRECTORY}/{name}"),
            content: Content::File(text(unit.text), 0o644),
        });
        items.extend(unit.wanted_by.map(|target| Item {
            path: format!("{DIRECTORY}/{target}.wants/{name}"),
            content: Content::Link(format!("../{name}")),
        }));
    }
    items
}

/// Where tuned looks for the profile that a plan of `profile` has under `/run`. Up to 2.23 it has no setting for more
/// directories, so a link leads there; without tuned there is none.
pub(super) fn tuned_link(host: &Host, profile: &str) -> Option<Item> {
    let directory = if host.path("/usr/lib/tuned/profiles").is_dir() {
        "/etc/tuned/profiles"
    } else if host.path("/usr/lib/tuned").is_dir() {
        "/etc/tuned"
    } else {
        return None;
    };
    let name = format!("dtnforge-{profile}");
    Some(Item {
        path: format!("{directory}/{name}"),
        content: Content::Link(format!(
            "/run/{}/{name}",
            dtnforge_profiles::render::TUNED_PROFILES
        )),
    })
}
