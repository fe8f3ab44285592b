//! Is there a place where what is proved would be kept? Without one a trial that ends badly would be begun anew by each
//! boot.

use super::context::Context;
use crate::boot::{self, Mode};
use crate::statefs;

/// Why nothing may be tried on a node whose state is gone with this boot. From the network nothing is kept by design:
/// each boot starts stock and is proved anew, unless the watchdog ended the one before, which nobody could count.
pub(super) fn obstacle(context: &Context) -> Option<String> {
    let host = &context.host;
    if boot::is_from_network(host) {
        let why = "the watchdog reset this machine, and a node from the network knows nothing of the boot before: nothing is tried";
        return context.boot.after_watchdog.then(|| why.to_owned());
    }
    let ours = boot::words(host).mode == Mode::Tuned;
    let fault = statefs::fault(host).filter(|_| ours)?;
    Some(format!(
        "{fault}: what is proved could not be kept, so nothing is tried"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use std::fs;

    /// What keeps a node with this command line, mounts and watchdog (`bootstatus`) from a trial.
    fn obstacle_of(cmdline: &str, mounts: &str, bootstatus: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        for (path, text) in [
            ("/proc/cmdline", cmdline),
            ("/proc/self/mounts", mounts),
            ("/proc/sys/kernel/random/boot_id", "b1\n"),
            ("/sys/class/watchdog/watchdog0/bootstatus", bootstatus),
        ] {
            fs::create_dir_all(host.path(path).parent().unwrap()).unwrap();
            fs::write(host.path(path), text).unwrap();
        }
        crate::early::run(&host).unwrap();
        obstacle(&Context::open(host))
    }

    const DISK: &str = "/dev/vda6 /state ext4 rw 0 0\n";
    const MEMORY: &str = "dtn-state /state tmpfs rw 0 0\n";

    #[test]
    fn without_its_state_partition_a_node_of_ours_tries_nothing() {
        assert_eq!(obstacle_of("dtnforge.mode=tuned", DISK, "0"), None);
        assert_eq!(
            obstacle_of("dtnforge.mode=tuned", DISK, "32"),
            None,
            "the counter knows"
        );
        assert_eq!(obstacle_of("quiet", MEMORY, "0"), None, "no node of ours");
        assert_eq!(
            obstacle_of("dtnforge.mode=tuned", MEMORY, "0").unwrap(),
            "the state partition is missing: what is proved could not be kept, so nothing is tried"
        );
    }

    #[test]
    fn a_node_from_the_network_is_proved_anew_unless_the_watchdog_ended_its_last_boot() {
        let words = "dtnforge.mode=tuned dtnforge.boot=net";
        assert_eq!(obstacle_of(words, MEMORY, "0"), None);
        let why = obstacle_of(words, MEMORY, "32").unwrap();
        assert!(why.starts_with("the watchdog reset this machine"), "{why}");
    }
}
