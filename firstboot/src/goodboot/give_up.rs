//! What is to be done about a boot that failed. Pure.
//!
//! | situation | deed |
//! |---|---|
//! | somebody asked for rescue, or the boot had come up already | left to whoever is at the console |
//! | sshd missing, and the agent saw in this boot that tuning is not the cause | stays up, with all ways in opened |
//! | counted boot of the tuned entry | reboot: the boot loader's count ends it after three |
//! | tuned entry, not counted any more, a commit in place | the commit is given up on disk, then one reboot |
//! | stock entry, nothing in place, hold, kexec, soft-reboot, picked by hand | stays up, with all ways in opened |

use crate::boot::{Mode, Words};
use dtnforge_profiles::state::{Boot, BootKind, Reached};

/// What the judge names when nothing listens on a port of sshd.
const SSHD: &str = "sshd";

/// What is known when a boot fails.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// What failed, as the unit names it.
    pub what: &'a str,
    /// The words of the kernel command line.
    pub words: Words,
    /// The word by which somebody asked for a rescue or emergency shell on the kernel command line.
    pub rescue_word: Option<&'a str>,
    /// The record of this boot.
    pub boot: &'a Boot,
    /// Whether the early unit put a commit in place that still holds.
    pub commit_active: bool,
    /// Whether the boot had got past all that enters a rescue or emergency mode by itself.
    pub had_come_up: bool,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Store the reason and reboot: the boot is counted.
    Reboot(String),
    /// Store the reason and that nothing is to be put in place any more, then reboot; if that cannot be stored, stay.
    GiveUpCommit(String),
    /// Store the reason, stay up, open all ways in.
    Stay(String),
    /// Do nothing but say it.
    LeaveAlone(String),
}

/// Decides. The text of a deed says why it is that one.
pub fn decide(situation: &Situation<'_>) -> Deed {
    let Situation {
        what,
        words,
        rescue_word,
        boot,
        commit_active,
        had_come_up,
    } = *situation;
    if words.mode == Mode::Foreign {
        return Deed::LeaveAlone("this host was not built by us".to_owned());
    }
    if let Some(word) = rescue_word {
        return Deed::LeaveAlone(format!("`{word}` is on the kernel command line"));
    }
    if boot.reached == Reached::Good || had_come_up && is_rescue(what) {
        return Deed::LeaveAlone("the node had come up before, so somebody asked for this".to_owned());
    }
    if words.hold {
        return Deed::Stay("dtn-firstboot.hold is on the kernel command line".to_owned());
    }
    if words.mode == Mode::Stock {
        return Deed::Stay("there is nothing behind the stock entry to fall back to".to_owned());
    }
    if boot.acquitted && what == SSHD {
        return Deed::Stay(
            "tuning is not the cause: the agent saw the same without it in this boot".to_owned(),
        );
    }
    if boot.is_counted() {
        let left = boot.tries_left.unwrap_or(0);
        return Deed::Reboot(match left {
            0 => "that was the last try of the tuned entry, stock is next".to_owned(),
            1 => "1 try of the tuned entry is left".to_owned(),
            left => format!("{left} tries of the tuned entry are left"),
        });
    }
    let by_itself = matches!(boot.kind, BootKind::Firmware | BootKind::Net | BootKind::Unknown);
    match (by_itself, commit_active) {
        (false, _) => Deed::Stay(format!(
            "this boot is not counted (kind of boot: {})",
            boot.kind.name()
        )),
        (true, true) => {
            Deed::GiveUpCommit("this boot is not counted any more, and a commit is in place in it".to_owned())
        }
        (true, false) => Deed::Stay("nothing of ours is in place in this boot".to_owned()),
    }
}

/// The last word on a kernel command line that asks systemd for a rescue or emergency shell; a later word that asks
/// for something else takes it back, as it does for systemd.
pub fn asked_for_rescue(cmdline: &str) -> Option<&str> {
    let mut asked = None;
    for word in cmdline.split_whitespace() {
        match word {
            "emergency" | "-b" | "rescue" | "single" | "-s" | "s" | "S" | "1" => asked = Some(word),
            "2" | "3" | "4" | "5" => asked = None,
            _ => {
                if let Some(unit) = word.strip_prefix("systemd.unit=") {
                    asked = is_rescue(unit).then_some(word);
                }
            }
        }
    }
    asked
}

/// Whether `what` is rescue or emergency mode.
pub fn is_rescue(what: &str) -> bool {
    matches!(
        what.strip_suffix(".target")
            .or(what.strip_suffix(".service"))
            .unwrap_or(what),
        "rescue" | "emergency"
    )
}

/// What failed, as the beginning of a sentence. A name of ours or of a unit is told in words; anything else is shown
/// as it is, without what could disturb a console.
pub fn described(what: &str) -> String {
    let plain: String = what
        .chars()
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .take(200)
        .collect();
    match plain.as_str() {
        what if is_rescue(what) => {
            let mode = if what.starts_with('e') {
                "emergency"
            } else {
                "rescue"
            };
            format!("{mode} mode was entered")
        }
        SSHD => "nothing listens on a port of sshd".to_owned(),
        "" => "something failed".to_owned(),
        what if what.ends_with(".target") => format!("{what} was not reached"),
        what if what.ends_with(".service") || what.ends_with(".mount") => format!("{what} failed"),
        what => what.to_owned(),
    }
}
