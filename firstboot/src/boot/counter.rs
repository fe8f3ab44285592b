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
    // What came from the network has no counter, and no next boot has this commit.
    if boot.kind == BootKind::Net || !waits && !should_be_blessed {
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
mod tests;
