//! systemd, tuned and the programs that the agent calls, asked for their versions.

use super::item;
use crate::host::{CommandError, Host};
use dtnforge_profiles::selftest::{Answer, Item, Need, version};
use std::time::Duration;

/// Time for one question: a Python program on a slow machine starts in seconds.
const QUESTION: Duration = Duration::from_secs(10);

/// The oldest systemd that was tried: that of Debian 12 and EL9.
const SYSTEMD: (u32, u32) = (252, 0);

/// Programs, how each is asked, who needs it, and what is missing without.
const PROGRAMS: &[(&str, &[&str], Need, &str)] = &[
    (
        "systemd-run",
        &["--version"],
        Need::Trial,
        "no trial begins: nothing outside of your session would take it back",
    ),
    (
        "tc",
        &["-j", "qdisc", "show", "dev", "lo"],
        Need::Groups,
        "queue disciplines stay as they are",
    ),
    (
        "modprobe",
        &["--version"],
        Need::Groups,
        "what needs a module that is not loaded is left out",
    ),
    (
        "udevadm",
        &["--version"],
        Need::Groups,
        "NIC settings are not put in place at boot",
    ),
    (
        "ip",
        &["-Version"],
        Need::Proof,
        "the local path cannot be measured: TCP groups stay unproved",
    ),
    (
        "iperf3",
        &["--version"],
        Need::Proof,
        "the local path cannot be measured: TCP groups stay unproved",
    ),
];

pub(super) fn items(host: &Host) -> Vec<Item> {
    let mut items = vec![systemd(host), tuned(host)];
    items.extend(PROGRAMS.iter().map(|(name, args, need, without)| {
        let (there, found) = asked(host, name, args);
        item(&format!("program:{name}"), *need, there, found, without)
    }));
    items
}

/// What a program says first, and whether it ran.
fn asked(host: &Host, program: &str, args: &[&str]) -> (Answer, String) {
    match host.run(program, args, QUESTION) {
        Ok(text) => {
            let first = text.lines().next().unwrap_or_default().trim();
            let first = if first.starts_with('[') {
                "it answers in JSON"
            } else {
                first
            };
            (Answer::Yes, first.to_owned())
        }
        Err(CommandError::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            (Answer::No, "not installed".to_owned())
        }
        Err(error) => (Answer::No, error.to_string()),
    }
}

fn systemd(host: &Host) -> Item {
    let (there, found) = match asked(host, "systemctl", &["--version"]) {
        (Answer::Yes, said) => match version(&said) {
            Some(version) if version < SYSTEMD => (Answer::No, format!("{said}; tried from 252 on")),
            Some(_) if !host.path("/run/systemd/system").is_dir() => {
                (Answer::No, format!("{said}; and it is not what runs here"))
            }
            Some(_) => (Answer::Yes, said),
            None => (Answer::CannotTell, said),
        },
        other => other,
    };
    item(
        "systemd",
        Need::Trial,
        there,
        found,
        "a commit is put in place by its units at each boot",
    )
}

fn tuned(host: &Host) -> Item {
    let (there, said) = asked(host, "tuned-adm", &["--version"]);
    let found = match version(&said) {
        Some(version) if there == Answer::Yes && version < (2, 24) => {
            format!("{said}; before 2.24 a link in its own directory leads to our profile")
        }
        _ => said,
    };
    item(
        "tuned",
        Need::Groups,
        there,
        found,
        "CPU and disk settings are left out",
    )
}
