//! Whether this host has what the agent needs, found out without changing anything: for a site that wants to know in a
//! minute, before a maintenance window, what will work on its hosts.

mod kernel;
mod places;
mod programs;
mod text;

use crate::door::{Door, Doors};
use crate::flow::look;
use crate::host::Host;
use dtnforge_profiles::knob::{KnobId, REGISTRY};
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::selftest::{Answer, Item, Need, Selftest};
use std::time::Duration;
pub use text::render;

/// Looks at everything. Reads only, and runs programs only to ask for their version or for what there is.
pub fn selftest(host: &Host) -> Selftest {
    let mut items = vec![root()];
    items.extend(kernel::items(host));
    items.extend(programs::items(host));
    items.push(sysctls(host));
    items.push(profile(host));
    items.extend(places::items(host));
    Selftest::of(items)
}

fn item(name: &str, need: Need, there: Answer, found: impl Into<String>, without: &str) -> Item {
    Item {
        name: name.to_owned(),
        need,
        there,
        found: found.into(),
        without: without.to_owned(),
    }
}

fn yes_or_no(is_there: bool) -> Answer {
    if is_there { Answer::Yes } else { Answer::No }
}

fn root() -> Item {
    let user = nix::unistd::geteuid();
    let (there, found) = if user.is_root() {
        (Answer::Yes, "we run as root".to_owned())
    } else {
        (
            Answer::CannotTell,
            format!("we run as user {user}; as root more can be told"),
        )
    };
    item("root", Need::Trial, there, found, "nothing can be written")
}

/// Whether the sysctls that profiles set can be read.
fn sysctls(host: &Host) -> Item {
    let doors = Doors::new(host);
    let knobs: Vec<KnobId> = REGISTRY
        .iter()
        .filter_map(|definition| definition.pattern.parse().ok())
        .filter(|knob| matches!(knob, KnobId::Sysctl(key) if !key.contains('<')))
        .collect();
    let absent: Vec<String> = knobs
        .iter()
        .filter(|knob| !matches!(doors.read(knob), Ok(Reading::Is(_))))
        .map(ToString::to_string)
        .collect();
    let found = if absent.is_empty() {
        format!("all {} can be read", knobs.len())
    } else {
        format!(
            "{} of {} cannot be read: {}",
            absent.len(),
            knobs.len(),
            absent.join(", ")
        )
    };
    let there = yes_or_no(absent.len() < knobs.len());
    item(
        "sysctls",
        Need::Trial,
        there,
        found,
        "a plan leaves out what cannot be read",
    )
}

/// Whether a profile matches, as a trial would ask.
fn profile(host: &Host) -> Item {
    let (there, found) = match look::look(host, Duration::ZERO) {
        Ok(look) => {
            let plan = look.plan(host, &Doors::new(host));
            let (name, steps) = (plan.profile, plan.steps.len());
            (
                Answer::Yes,
                format!(
                    "{name}: {steps} knobs to change, {} left out; see `dtn-firstboot plan`",
                    plan.skipped.len()
                ),
            )
        }
        Err(why) => (Answer::No, why.replace('\n', "; ")),
    };
    item(
        "profile",
        Need::Trial,
        there,
        found,
        "nothing is tried; say `role` in /etc/dtnforge/site.toml and give it a layer with install-layer",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_host_lacks_nearly_everything_and_nothing_is_made_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(dir.path()));
        let answer = selftest(&host);
        assert!(!answer.ready);
        let there = |name: &str| answer.items.iter().find(|item| item.name == name).unwrap().there;
        for name in ["kernel", "systemd", "program:tc", "sysctls", "profile"] {
            assert_eq!(there(name), Answer::No, "{name}");
        }
        let mut names: Vec<&str> = answer.items.iter().map(|item| item.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a name stands twice");
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            0,
            "something was made"
        );
    }
}
