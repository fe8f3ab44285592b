//! Opening the ways into a node that stays up although its boot failed.
//!
//! The boot's own order does not hold any more: a unit that the network or sshd require may be the one that failed. So
//! they are started without their requirements; those that are not installed are passed over.

use crate::host::Host;
use std::time::Duration;

/// The network, the host keys, and sshd under the names that it has on Debian and elsewhere.
const UNITS: [&str; 4] = [
    "systemd-networkd.service",
    "dtn-hostkeys.service",
    "ssh.service",
    "sshd.service",
];
/// All that would have come.
const REST: &str = "multi-user.target";
/// Made when the rest was asked for: once is enough, since what fails again would ask for it again.
const ASKED: &str = "/run/dtnforge/rest-asked-for";
/// Time to hand a job to systemd.
const COMMAND: Duration = Duration::from_secs(10);

/// Starts the network and sshd; `with_rest` also what else a boot starts, once. Returns what could not be asked for.
pub fn open(host: &Host, with_rest: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for unit in UNITS {
        let args = ["start", "--no-block", "--job-mode=ignore-requirements", unit];
        if let Err(error) = host.run("systemctl", &args, COMMAND) {
            log::debug!("{error}");
            problems.push(format!("{unit}: {error}"));
        }
    }
    if with_rest
        && first_time(host)
        && let Err(error) = host.run("systemctl", &["start", "--no-block", REST], COMMAND)
    {
        problems.push(format!("{REST}: {error}"));
    }
    problems
}

/// Whether this is the first time in this boot of userspace. Where that cannot be noted it counts as a later one.
fn first_time(host: &Host) -> bool {
    let mark = host.path(ASKED);
    let made = || {
        if let Some(directory) = mark.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::File::create_new(&mark)
    };
    made().is_ok()
}
