//! What is placed outside of `/etc/dtnforge`: units, their links, a generator, and the ways by which tuned finds ours.

use super::place::Program;
use crate::host::Host;

const UNITS: &str = "/etc/systemd/system";
const PROGRAM: &str = "/usr/bin/dtn-firstboot";

/// Name in the directory of units, text, and the target that wants it.
type Unit = (&'static str, &'static str, Option<&'static str>);

macro_rules! overlay {
    ($path:literal) => {
        include_str!(concat!("../../../overlays/", $path))
    };
}

const ALL: [Unit; 6] = [
    (
        "dtn-firstboot-early.service",
        overlay!("agent/usr/lib/systemd/system/dtn-firstboot-early.service"),
        Some("sysinit.target"),
    ),
    (
        "dtn-firstboot.service",
        overlay!("agent/usr/lib/systemd/system/dtn-firstboot.service"),
        Some("multi-user.target"),
    ),
    (
        "dtn-verdict.service",
        overlay!("agent/usr/lib/systemd/system/dtn-verdict.service"),
        None,
    ),
    (
        "dtnforge-verdict@.target",
        overlay!("agent/usr/lib/systemd/system/dtnforge-verdict@.target"),
        None,
    ),
    (
        "dtn-tuned.service",
        overlay!("installed/usr/lib/systemd/system/dtn-tuned.service"),
        Some("multi-user.target"),
    ),
    (
        "tuned.service.d/60-dtnforge.conf",
        overlay!("installed/usr/lib/systemd/system/tuned.service.d/60-dtnforge.conf"),
        None,
    ),
];
const GENERATOR: &str = overlay!("agent/usr/lib/systemd/system-generators/dtnforge-services");

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
        path: "/etc/systemd/system-generators/dtnforge-services".to_owned(),
        content: Content::File(text(GENERATOR), 0o755),
    }];
    for (name, unit, wanted_by) in ALL {
        items.push(Item {
            path: format!("{UNITS}/{name}"),
            content: Content::File(text(unit), 0o644),
        });
        items.extend(wanted_by.map(|target| Item {
            path: format!("{UNITS}/{target}.wants/{name}"),
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
