//! Rebooting a node whose boot was given up: as orderly as it can be had.

use crate::detect::Clock;
use crate::host::Host;
use std::time::Duration;

/// How long an orderly shutdown may take: each unit has up to 90 s to stop, and one that hangs is why we are here.
const ORDERLY: Duration = Duration::from_secs(150);
/// How long a shutdown that only kills and unmounts may take.
const FORCED: Duration = Duration::from_secs(60);
/// Time to hand the wish to systemd.
const COMMAND: Duration = Duration::from_secs(20);

/// The ways to reboot and how long each may take, the kindest first. The last one does not ask systemd.
const WAYS: [(&[&str], Duration); 3] = [
    (&["--no-block", "reboot"], ORDERLY),
    (&["reboot", "--force"], FORCED),
    (&["reboot", "--force", "--force"], FORCED),
];

/// Hands the wish to systemd, and returns while the node goes down. For a process whose own unit ends in an orderly
/// shutdown and must not hold it up.
///
/// # Errors
/// What each way said, when systemd takes none.
pub fn ask_for_reboot(host: &Host) -> Result<(), String> {
    let mut said = Vec::new();
    for (args, _) in WAYS {
        match host.run("systemctl", args, COMMAND) {
            Ok(_) => return Ok(()),
            Err(error) => said.push(error.to_string()),
        }
    }
    Err(said.join("; "))
}

/// Reboots. Returns only when the machine did not go down.
///
/// # Errors
/// What each way said.
pub fn reboot(host: &Host, clock: &dyn Clock) -> Result<(), String> {
    let mut said = Vec::new();
    for (args, patience) in WAYS {
        match host.run("systemctl", args, COMMAND) {
            // This process ends with the machine; it wakes up here only when the machine does not end.
            Ok(_) => {
                clock.sleep(patience);
                said.push(format!(
                    "systemctl {}: not down after {} s",
                    args.join(" "),
                    patience.as_secs()
                ));
            }
            Err(error) => said.push(error.to_string()),
        }
    }
    Err(format!("the node does not reboot: {}", said.join("; ")))
}
