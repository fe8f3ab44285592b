//! Opening the ways into a node that stays up although its boot failed.
//!
//! The boot's own order does not hold any more: a unit that the network or sshd require, or wait for, may be the one that
//! failed or hangs. So they are started without their dependencies; those that are not installed are passed over.

use crate::host::Host;
use std::time::Duration;

const NETWORK: &str = "systemd-networkd.service";
/// sshd needs its keys before it starts, so their end is waited for.
const HOST_KEYS: &str = "dtn-hostkeys.service";
/// sshd, under the names that it has on Debian and elsewhere.
const SSHD: [&str; 2] = ["ssh.service", "sshd.service"];
/// All that would have come.
const REST: &str = "multi-user.target";
/// Made when the rest was asked for: once is enough, since what fails again would ask for it again.
const ASKED: &str = "/run/dtnforge/rest-asked-for";
/// Time to hand a job to systemd.
const COMMAND: Duration = Duration::from_secs(10);
/// Time to make the host keys on a slow machine.
const KEYS: Duration = Duration::from_secs(60);

/// Starts the network and sshd; `with_rest` also what else a boot starts, once. Returns what could not be asked for.
pub fn open(host: &Host, with_rest: bool) -> Vec<String> {
    let start = |unit: &str, how: &[&str], limit| {
        let args = [&["start", "--job-mode=ignore-dependencies"], how, &[unit]].concat();
        let started = host.run("systemctl", &args, limit);
        started.err().map(|error| format!("{unit}: {error}"))
    };
    let network = start(NETWORK, &["--no-block"], COMMAND);
    let keys = start(HOST_KEYS, &[], KEYS);
    let sshd = SSHD.map(|unit| start(unit, &["--no-block"], COMMAND));
    let mut problems: Vec<String> = [network, keys].into_iter().chain(sshd).flatten().collect();
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
