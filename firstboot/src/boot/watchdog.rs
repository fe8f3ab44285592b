//! Did a watchdog reset the machine before this boot?

use crate::host::Host;
use std::fs;

const DIR: &str = "/sys/class/watchdog";
/// `WDIOF_CARDRESET`: the card reset the machine.
const CARD_RESET: u32 = 0x0020;

/// Whether some watchdog says so. The software watchdog never does: it forgets with the kernel.
pub fn reset_the_machine(host: &Host) -> bool {
    let Ok(devices) = fs::read_dir(host.path(DIR)) else {
        return false;
    };
    devices.flatten().any(|device| {
        let text = fs::read_to_string(device.path().join("bootstatus")).unwrap_or_default();
        text.trim()
            .parse::<u32>()
            .is_ok_and(|flags| flags & CARD_RESET != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_reset_flag_of_any_watchdog_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        assert!(!reset_the_machine(&host));
        for (name, flags, expected) in [("watchdog0", "0\n", false), ("watchdog1", "33\n", true)] {
            let device = host.path(&format!("{DIR}/{name}"));
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("bootstatus"), flags).unwrap();
            assert_eq!(reset_the_machine(&host), expected, "{name}");
        }
    }
}
