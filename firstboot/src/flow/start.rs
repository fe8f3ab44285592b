//! How a run begins: from what is on disk and what the kernel command line says to what is to be done. Pure.

use crate::boot::{Mode, Words};
use dtnforge_profiles::state::{Commit, State, StateFile};

/// What a run does.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Nothing: held on the command line or by an admin.
    Held(&'static str),
    /// Nothing: the entry that never tunes was booted. What is committed stays committed.
    StockEntry,
    /// Nothing in this boot, for this reason: an attempt died, or a rollback could not be verified.
    Stay(String),
    /// Look at the machine; then verify the commit or begin a trial.
    Look,
}

/// Concludes what a state found at start means, and changes it where an attempt died.
///
/// `Baseline` or `Trial` on disk means that the attempt did not end: with a former commit the node is committed
/// again, without one it is stock. It then stays so for the rest of this boot; the next boot may try again.
pub fn begin(file: &mut StateFile, words: Words) -> Start {
    let died = file.state.conclude_dead_attempt();
    if words.hold {
        return Start::Held("dtn-firstboot.hold is on the kernel command line");
    }
    if matches!(file.state, State::Held { .. }) {
        return Start::Held("an admin said `dtn-firstboot hold`");
    }
    if words.mode == Mode::Stock {
        return Start::StockEntry;
    }
    if let Some(why) = died {
        return Start::Stay(why);
    }
    match &file.state {
        State::RollbackUnverified { what } => Start::Stay(format!(
            "a rollback could not be verified ({}); stock until `dtn-firstboot retry`",
            what.join(", ")
        )),
        State::Fallback(fallback) => {
            Start::Stay(format!("{}; stock until `dtn-firstboot retry`", fallback.reason))
        }
        _ => Start::Look,
    }
}

/// Whether a commit is for what this node would be given now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// Same layer, same hardware, same site decisions.
    Fits,
    /// It was made for other hardware.
    OtherHardware,
    /// It was made for another layer, or other decisions of the site.
    Changed(&'static str),
}

/// Compares a commit with the present layer, fingerprint and site digest.
pub fn fit(
    commit: &Commit,
    layer: &dtnforge_profiles::digest::Digest,
    fingerprint: &dtnforge_profiles::digest::Digest,
    site: &dtnforge_profiles::digest::Digest,
) -> Fit {
    if commit.plan.fingerprint != *fingerprint {
        Fit::OtherHardware
    } else if commit.layer != *layer {
        Fit::Changed("the layer changed since the commit")
    } else if commit.site != *site {
        Fit::Changed("the site's settings changed since the commit")
    } else {
        Fit::Fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtnforge_profiles::digest::Digest;

    const TUNED: Words = Words {
        mode: Mode::Tuned,
        hold: false,
    };

    fn trial() -> StateFile {
        let state = State::Trial {
            boot_id: "b1".into(),
            layer: Digest::of(b"layer"),
            profile: "dtn-100g-nvme".into(),
            plan: Digest::of(b"plan"),
            previous: None,
            former: None,
        };
        StateFile {
            state,
            ..StateFile::default()
        }
    }

    #[test]
    fn a_trial_found_at_start_is_an_interrupted_one_and_stays_stock_for_this_boot() {
        let mut file = trial();
        let Start::Stay(why) = begin(&mut file, TUNED) else {
            panic!("expected to stay")
        };
        assert!(
            why.starts_with("interrupted: the trial begun in boot b1"),
            "{why}"
        );
        assert_eq!(file.state.name(), "stock");
        assert_eq!(begin(&mut file, TUNED), Start::Look, "the next run may try again");
    }

    #[test]
    fn the_stock_entry_concludes_the_dead_trial_but_tries_nothing() {
        let mut file = trial();
        assert_eq!(
            begin(
                &mut file,
                Words {
                    mode: Mode::Stock,
                    hold: false
                }
            ),
            Start::StockEntry
        );
        assert_eq!(file.state.name(), "stock");
    }

    #[test]
    fn hold_wins_over_everything() {
        let mut file = StateFile::default();
        assert!(matches!(
            begin(
                &mut file,
                Words {
                    mode: Mode::Tuned,
                    hold: true
                }
            ),
            Start::Held(_)
        ));
    }

    #[test]
    fn an_unverified_rollback_stays_stock_and_names_the_knobs() {
        let state = State::RollbackUnverified {
            what: vec!["sysctl:net.ipv4.tcp_rmem is 1 not 2".into()],
        };
        let mut file = StateFile {
            state,
            ..StateFile::default()
        };
        let Start::Stay(why) = begin(&mut file, TUNED) else {
            panic!("expected to stay")
        };
        assert!(
            why.contains("tcp_rmem is 1 not 2") && why.contains("retry"),
            "{why}"
        );
    }
}
