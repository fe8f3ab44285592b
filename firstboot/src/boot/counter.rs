//! Moving the boot counter: to arm it, to give a try back, to take one again.
//!
//! The boot loader counts a try before it starts the kernel; we only ever rename the file again. Each function first
//! looks at what the name says now, so that doing it twice does nothing the second time.

use crate::esp::{Access, Esp, EspError};
use crate::host::Host;
use dtnforge_profiles::bootcount::{Counter, EntryName};
use dtnforge_profiles::bootkind::STUCK;
use dtnforge_profiles::state::{Armed, Boot, BootEnd, BootKind, Reached, StateFile};

/// Gives the tuned entry all its tries, whatever it has now. [`note_armed`] is to follow in the state.
///
/// # Errors
/// When it cannot be done.
pub fn arm(host: &Host) -> Result<EntryName, EspError> {
    Esp::open(host, Access::Write)?.set_counter(Some(Counter::ARMED))
}

/// Notes in the state that the counter was armed in `boot` at `at`: the boots after it are its tries.
pub fn note_armed(file: &mut StateFile, boot: &Boot, at: i64) {
    file.counting.failure = None;
    file.counting.armed = Some(Armed {
        boot_id: boot.boot_id.clone(),
        at,
    });
}

/// What was done for a commit that no counted boot has proved yet.
#[derive(Debug, PartialEq, Eq)]
pub enum Arming {
    /// Nothing has to be armed: there is no such commit.
    NotNeeded,
    /// The counter was armed: the next boot is counted.
    Armed,
    /// It has a counter already.
    Counted(EntryName),
    /// This boot was good, and its counter is still there: it was not blessed.
    NotBlessed(EntryName),
    /// It has a counter, and the boot loader did not count this boot: it could not.
    Stuck(EntryName),
    /// It could not be armed, for this reason. The commit is not put in place until it is.
    Failed(String),
}

/// Arms the counter when a commit waits for a counted boot to prove it. `file` is the state as it is now;
/// [`Arming::note`] is to follow in it.
pub fn arm_for_commit(host: &Host, file: &StateFile, boot: &Boot) -> Arming {
    let waits = file
        .state
        .commit()
        .is_some_and(|commit| commit.proved_in_boot.is_none());
    let was_good = file
        .boot(&boot.boot_id)
        .is_some_and(|record| record.reached == Reached::Good);
    let should_be_blessed = was_good && boot.is_counted();
    if !waits && !should_be_blessed {
        return Arming::NotNeeded;
    }
    match Esp::find_tuned_entry(host) {
        Ok(entry) if should_be_blessed && entry.counter == boot.counter() => Arming::NotBlessed(entry),
        _ if !waits => Arming::NotNeeded,
        Ok(entry) if entry.counter.is_some() && was_not_counted(file, boot) => Arming::Stuck(entry),
        Ok(entry) if entry.counter.is_some() => Arming::Counted(entry),
        Ok(_) => arm(host).map_or_else(|error| Arming::Failed(error.to_string()), |_| Arming::Armed),
        Err(error) => Arming::Failed(error.to_string()),
    }
}

/// Whether the boot loader should have counted this boot, since the entry had its counter before it.
fn was_not_counted(file: &StateFile, boot: &Boot) -> bool {
    let armed_in_this_boot = file
        .counting
        .armed
        .as_ref()
        .is_some_and(|armed| armed.boot_id == boot.boot_id);
    boot.kind == BootKind::Firmware
        && boot.is_tuned_entry()
        && boot.counter().is_none()
        && !armed_in_this_boot
}

impl Arming {
    /// Notes in the state what came of it.
    pub fn note(&self, file: &mut StateFile, boot: &Boot, at: i64) {
        match self {
            Arming::Armed => note_armed(file, boot, at),
            Arming::NotNeeded | Arming::Counted(_) => file.counting.failure = None,
            Arming::Failed(why) => file.counting.failure = Some(why.clone()),
            Arming::Stuck(_) => {
                file.counting.failure = Some(STUCK.to_owned());
                let record = file.boot_mut(boot);
                record.stuck = true;
                record.reason.get_or_insert_with(|| STUCK.to_owned());
            }
            Arming::NotBlessed(entry) => {
                let record = file.boot_mut(boot);
                record.end = Some(BootEnd::Failed);
                record.reason = Some(format!(
                    "the boot was good, but its counter was not taken off ({entry}): see `systemctl status systemd-bless-boot`"
                ));
            }
        }
    }

    /// Whether it is what it should be.
    pub fn is_fine(&self) -> bool {
        !matches!(self, Arming::Failed(_) | Arming::NotBlessed(_) | Arming::Stuck(_))
    }
}

impl std::fmt::Display for Arming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arming::NotNeeded => f.write_str("no commit waits for a counted boot"),
            Arming::Armed => f.write_str("the boot counter is armed: the next boot proves the commit"),
            Arming::Counted(entry) => write!(f, "the next boot is counted: {entry}"),
            Arming::Stuck(entry) => write!(f, "{STUCK}: {entry}"),
            Arming::NotBlessed(entry) => {
                write!(
                    f,
                    "this boot was good, but its counter was not taken off: {entry}"
                )
            }
            Arming::Failed(why) => write!(
                f,
                "the boot counter could not be armed, so the commit is not put in place on later boots: {why}"
            ),
        }
    }
}

/// Gives this boot's try back: it was not what tuning could be blamed for. Returns the entry as it is then; `None`
/// when there was nothing to give back (not counted, blessed, armed again, given back before).
///
/// # Errors
/// When the entry cannot be renamed.
pub fn give_back(host: &Host, boot: &Boot) -> Result<Option<EntryName>, EspError> {
    move_counter(
        host,
        boot,
        boot.counter(),
        boot.counter().and_then(Counter::given_back),
    )
}

/// Takes the try again that [`give_back`] gave back, because this boot is good after all: blessing looks for the file
/// under the name that the boot loader gave it.
///
/// # Errors
/// When the entry cannot be renamed.
pub fn take_again(host: &Host, boot: &Boot) -> Result<Option<EntryName>, EspError> {
    move_counter(
        host,
        boot,
        boot.counter().and_then(Counter::given_back),
        boot.counter(),
    )
}

fn move_counter(
    host: &Host,
    boot: &Boot,
    from: Option<Counter>,
    to: Option<Counter>,
) -> Result<Option<EntryName>, EspError> {
    if !boot.is_counted() || from.is_none() || to.is_none() {
        return Ok(None);
    }
    let esp = Esp::open(host, Access::Write)?;
    match esp.tuned_entry()? {
        Some(entry) if entry.counter == from => esp.set_counter(to).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::esp::tests::{host, listed};
    use dtnforge_profiles::bootkind::Seen;
    use dtnforge_profiles::state;
    use std::fs;

    fn counted() -> Boot {
        let seen = Seen {
            boot_id: "b2".into(),
            selected: Some("dtnforge+3.efi".into()),
            counted: Some(r"\EFI\Linux\dtnforge+2-1.efi".into()),
            from_disk: true,
            ..Seen::default()
        };
        seen.record(5)
    }

    fn committed() -> StateFile {
        let text = include_bytes!("../../../profiles/src/state/committed.json");
        state::parse(text).unwrap()
    }

    /// Arms and notes what came of it, as the callers do.
    fn arm_and_note(host: &Host, file: &mut StateFile, at: i64) -> Arming {
        let arming = arm_for_commit(host, file, &counted());
        arming.note(file, &counted(), at);
        arming
    }

    #[test]
    fn a_commit_that_waits_for_its_proof_arms_the_counter_once() {
        let (_dir, host) = host(&["dtnforge.efi", "stock.efi"]);
        let mut file = committed();
        assert_eq!(arm_and_note(&host, &mut file, 9), Arming::Armed);
        assert_eq!(listed(&host), ["dtnforge+3.efi", "stock.efi"]);
        assert_eq!(file.counting.armed.as_ref().unwrap().boot_id, "b2");
        let again = arm_and_note(&host, &mut file, 10);
        assert_eq!(again, Arming::Counted(EntryName::parse("dtnforge+3.efi")));
        assert_eq!(file.counting.armed.as_ref().unwrap().at, 9);
    }

    #[test]
    fn a_proved_commit_or_none_leaves_the_counter_alone() {
        let (_dir, host) = host(&["dtnforge.efi"]);
        let mut proved = committed();
        if let Some(commit) = proved.state.commit_mut() {
            commit.proved_in_boot = Some("b1".into());
        }
        for mut file in [proved, StateFile::default()] {
            assert_eq!(arm_and_note(&host, &mut file, 9), Arming::NotNeeded);
        }
        assert_eq!(listed(&host), ["dtnforge.efi"]);
    }

    #[test]
    fn a_counter_that_cannot_be_armed_is_a_reason_that_is_kept_until_it_can() {
        let (_dir, host) = host(&["stock.efi"]);
        let mut file = committed();
        let arming = arm_and_note(&host, &mut file, 9);
        assert!(!arming.is_fine());
        let why = file.counting.failure.clone().unwrap();
        assert!(why.contains("has no dtnforge*.efi"), "{why}");
        assert_eq!(file.counting.armed, None);
        fs::write(host.path("/boot/EFI/Linux/dtnforge.efi"), "").unwrap();
        assert_eq!(arm_and_note(&host, &mut file, 10), Arming::Armed);
        assert_eq!(file.counting.failure, None);
    }

    #[test]
    fn a_counter_that_the_boot_loader_left_alone_is_named() {
        let (_dir, host) = host(&["dtnforge+3.efi"]);
        let uncounted = Boot {
            tries_left: None,
            tries_done: None,
            ..counted()
        };
        let mut file = committed();
        let arming = arm_for_commit(&host, &file, &uncounted);
        assert_eq!(arming, Arming::Stuck(EntryName::parse("dtnforge+3.efi")));
        arming.note(&mut file, &uncounted, 9);
        assert!(file.boot("b2").unwrap().stuck);
        assert_eq!(file.counting.failure.as_deref(), Some(STUCK));
        // Armed in this very boot: then it is right that nobody counted it.
        note_armed(&mut file, &uncounted, 9);
        let arming = arm_for_commit(&host, &file, &uncounted);
        assert_eq!(arming, Arming::Counted(EntryName::parse("dtnforge+3.efi")));
    }

    #[test]
    fn a_good_boot_that_was_not_blessed_says_so() {
        let (_dir, host) = host(&["dtnforge+2-1.efi"]);
        let mut file = committed();
        file.judged_good(&counted());
        let arming = arm_and_note(&host, &mut file, 9);
        assert_eq!(arming, Arming::NotBlessed(EntryName::parse("dtnforge+2-1.efi")));
        let record = file.boot("b2").unwrap();
        assert_eq!(record.end, Some(BootEnd::Failed));
        assert!(record.reason.as_ref().unwrap().contains("dtnforge+2-1.efi"));
    }

    #[test]
    fn a_try_is_given_back_once_and_can_be_taken_again() {
        let (_dir, host) = host(&["dtnforge+2-1.efi"]);
        let boot = counted();
        assert_eq!(take_again(&host, &boot).unwrap(), None, "it was not given back");
        let entry = give_back(&host, &boot).unwrap().unwrap();
        assert_eq!(entry.to_string(), "dtnforge+3.efi");
        assert_eq!(give_back(&host, &boot).unwrap(), None);
        take_again(&host, &boot).unwrap().unwrap();
        assert_eq!(listed(&host), ["dtnforge+2-1.efi"]);
    }

    #[test]
    fn a_blessed_entry_and_a_boot_that_does_not_count_give_nothing_back() {
        let (_dir, host) = host(&["dtnforge.efi"]);
        assert_eq!(give_back(&host, &counted()).unwrap(), None);
        fs::rename(
            host.path("/boot/EFI/Linux/dtnforge.efi"),
            host.path("/boot/EFI/Linux/dtnforge+2-1.efi"),
        )
        .unwrap();
        let kexec = Boot {
            kind: state::BootKind::Kexec,
            ..counted()
        };
        assert_eq!(give_back(&host, &kexec).unwrap(), None);
        assert_eq!(listed(&host), ["dtnforge+2-1.efi"]);
    }

    #[test]
    fn arming_gives_an_exhausted_entry_all_its_tries() {
        let (_dir, host) = host(&["dtnforge+0-3.efi"]);
        assert_eq!(arm(&host).unwrap().to_string(), "dtnforge+3.efi");
        assert_eq!(listed(&host), ["dtnforge+3.efi"]);
    }
}
