//! `dtn-firstboot boot ended`: an orderly shutdown. A reboot that somebody asks for is not a failed boot.

use super::say;
use crate::boot::counter;
use crate::host::Host;
use crate::{boot, early, store};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::{Boot, BootEnd, Reached};
use log::Level;

/// Notes the end in the marker under `/run`, which a soft-reboot keeps, and in the state, and gives back a try that
/// nothing speaks against. An end that was noted before stays: the first reason is the true one.
///
/// # Errors
/// When the end could not be noted.
pub(super) fn run(host: &Host) -> anyhow::Result<Exit> {
    let this = boot::this(host);
    let mut record = this.clone();
    // One that fails does not keep the others from being done: `/run`, the state and the try have each their own disk.
    let failed = early::read_marker(host).is_some_and(|marker| marker.failed);
    let marked = mark(host);
    let stored = store::change(host, |file| {
        let known = file.boot_mut(&this);
        known.end.get_or_insert(BootEnd::Orderly);
        record = known.clone();
    });
    // What nobody can read afterwards is not given back: a boot that fails each time would come again for ever.
    if stored.is_ok() && may_give_back(&record, failed) {
        match counter::give_back(host, &this) {
            Ok(None) => {}
            Ok(Some(entry)) => say(
                host,
                Level::Info,
                &this.boot_id,
                &format!("shut down before it was judged: {entry}"),
            ),
            Err(error) => say(
                host,
                Level::Warn,
                &this.boot_id,
                &format!("its try could not be given back: {error}"),
            ),
        }
    }
    stored?;
    marked?;
    Ok(Exit::Ok)
}

fn mark(host: &Host) -> anyhow::Result<()> {
    let Some(mut marker) = early::read_marker(host) else {
        return Ok(());
    };
    marker.ended = true;
    early::write_marker(host, &marker)
}

/// A boot that failed has used its try up. One that was good and kept its counter all the same has not.
fn may_give_back(record: &Boot, given_up: bool) -> bool {
    let failed = given_up || record.end == Some(BootEnd::Failed);
    !failed || record.reached == Reached::Good
}

#[cfg(test)]
mod tests {
    use super::super::failed;
    use super::*;
    use crate::boot::efi::tests::set_loader;
    use crate::esp::tests::{host, listed};
    use std::fs;

    fn counted_host() -> (tempfile::TempDir, Host) {
        let (dir, host) = host(&["dtnforge+2-1.efi", "stock.efi"]);
        fs::create_dir_all(host.path("/proc/sys/kernel/random")).unwrap();
        fs::write(host.path("/proc/sys/kernel/random/boot_id"), "b2\n").unwrap();
        set_loader(&host, "LoaderEntrySelected", "dtnforge+3.efi");
        set_loader(&host, "LoaderBootCountPath", r"\EFI\Linux\dtnforge+2-1.efi");
        early::run(&host).unwrap();
        (dir, host)
    }

    #[test]
    fn an_orderly_shutdown_of_a_counted_boot_gives_its_try_back() {
        let (_dir, host) = counted_host();
        run(&host).unwrap();
        let file = store::load(&host).file;
        assert_eq!(file.boot("b2").unwrap().end, Some(BootEnd::Orderly));
        assert_eq!(listed(&host), ["dtnforge+3.efi", "stock.efi"]);
        assert!(early::read_marker(&host).unwrap().ended);
    }

    #[test]
    fn a_boot_that_failed_stays_failed_and_its_try_stays_used() {
        let (_dir, host) = counted_host();
        let this = boot::this(&host);
        store::change(&host, |file| {
            let record = file.boot_mut(&this);
            record.end = Some(BootEnd::Failed);
            record.reason = Some("sshd does not listen".into());
        })
        .unwrap();
        run(&host).unwrap();
        let file = store::load(&host).file;
        assert_eq!(file.boot("b2").unwrap().end, Some(BootEnd::Failed));
        assert_eq!(listed(&host), ["dtnforge+2-1.efi", "stock.efi"]);
    }

    #[test]
    fn a_boot_whose_failure_could_not_be_stored_keeps_its_try_used() {
        let (_dir, host) = counted_host();
        failed::mark(&host, &boot::this(&host), true);
        run(&host).unwrap();
        assert_eq!(listed(&host), ["dtnforge+2-1.efi", "stock.efi"]);
    }

    #[test]
    fn a_try_whose_end_cannot_be_stored_is_not_given_back() {
        let (_dir, host) = counted_host();
        fs::create_dir_all(host.path("/etc/dtnforge/state.json.new")).unwrap();
        let error = run(&host).unwrap_err();
        assert!(format!("{error:#}").contains("state.json"), "{error:#}");
        assert_eq!(listed(&host), ["dtnforge+2-1.efi", "stock.efi"]);
    }

    #[test]
    fn after_a_soft_reboot_there_are_two_records_and_the_second_does_not_count() {
        let (_dir, host) = counted_host();
        run(&host).unwrap();
        // A second later by the clock, so that the records differ.
        store::change(&host, |file| file.boots[0].at -= 1).unwrap();
        early::run(&host).unwrap();
        let file = store::load(&host).file;
        let kinds: Vec<&str> = file.boots.iter().map(|boot| boot.kind.name()).collect();
        assert_eq!(kinds, ["firmware", "soft"]);
        assert!(!boot::this(&host).is_counted());
        run(&host).unwrap();
        assert_eq!(listed(&host), ["dtnforge+3.efi", "stock.efi"]);
    }

    #[test]
    fn the_early_step_repeated_by_hand_is_no_second_boot() {
        let (_dir, host) = counted_host();
        early::run(&host).unwrap();
        let file = store::load(&host).file;
        assert_eq!(file.boots.len(), 1);
        assert!(boot::this(&host).is_counted());
    }
}
