//! The targets that say what became of a node: `dtnforge-verdict@committed.target` and so on. One is active at a time.

use crate::boot::{self, Mode, Words};
use crate::host::{CommandError, Host};
use crate::store;
use dtnforge_profiles::state::State;
use std::time::Duration;

/// The states that stay, as the instances of the target are named.
pub const STATES: [&str; 6] = [
    "committed",
    "rejected",
    "stock",
    "fallback",
    "held",
    "rollback-unverified",
];

/// Time to hand a job to systemd, which does not wait for the job.
const COMMAND: Duration = Duration::from_secs(10);

/// Starts the target of the state on disk and stops the others; does nothing in the middle of an attempt. Who waits for
/// a target is the site's business: what goes wrong is said and stops nothing.
pub fn announce(host: &Host) {
    // Without systemd there is nobody to tell.
    if !host.path("/run/systemd/system").is_dir() {
        return;
    }
    let state = store::load(host).file.state;
    if let Some(name) = instance(&state, boot::words(host))
        && let Err(error) = enter(host, name)
    {
        log::warn!("the units that wait for {} were not told: {error}", target(name));
    }
}

/// What this node is in this boot; `None` in the middle of an attempt.
fn instance(state: &State, words: Words) -> Option<&'static str> {
    if words.hold {
        return Some("held");
    }
    let name = match state {
        State::Baseline { .. } | State::Trial { .. } => return None,
        State::Fallback(_) => "fallback",
        // What is committed stays so, and is not in place in a boot of the entry that never tunes.
        _ if words.mode == Mode::Stock => "stock",
        state => state.name(),
    };
    STATES.into_iter().find(|known| *known == name)
}

fn enter(host: &Host, name: &str) -> Result<(), CommandError> {
    let others: Vec<String> = STATES
        .iter()
        .filter(|state| **state != name)
        .map(|state| target(state))
        .collect();
    let stop = ["stop", "--no-block"].into_iter();
    let stop: Vec<&str> = stop.chain(others.iter().map(String::as_str)).collect();
    host.run("systemctl", &stop, COMMAND)?;
    host.run("systemctl", &["start", "--no-block", &target(name)], COMMAND)?;
    Ok(())
}

fn target(name: &str) -> String {
    format!("dtnforge-verdict@{name}.target")
}

#[cfg(test)]
mod tests {
    use super::super::testing::Node;
    use super::*;
    use dtnforge_profiles::digest::Digest;

    const TUNED: Words = Words {
        mode: Mode::Tuned,
        hold: false,
    };

    fn stock() -> State {
        State::Stock { why: "new".into() }
    }

    #[test]
    fn every_state_that_stays_has_its_target_and_an_attempt_has_none() {
        let unverified = State::RollbackUnverified { what: vec![] };
        assert_eq!(instance(&stock(), TUNED), Some("stock"));
        assert_eq!(instance(&unverified, TUNED), Some("rollback-unverified"));
        let held = State::Held {
            previous: Box::new(stock()),
        };
        assert_eq!(instance(&held, TUNED), Some("held"));
        let baseline = State::Baseline {
            boot_id: "b".into(),
            layer: Digest::of(b"l"),
            previous: None,
        };
        assert_eq!(instance(&baseline, TUNED), None);
    }

    #[test]
    fn a_boot_that_is_held_or_never_tunes_says_so_whatever_is_committed() {
        let hold = Words { hold: true, ..TUNED };
        assert_eq!(instance(&stock(), hold), Some("held"));
        let stock_entry = Words {
            mode: Mode::Stock,
            ..TUNED
        };
        let unverified = State::RollbackUnverified { what: vec![] };
        assert_eq!(instance(&unverified, stock_entry), Some("stock"));
    }

    #[test]
    fn the_target_of_the_state_is_started_and_the_others_are_stopped_without_waiting() {
        let node = Node::new();
        node.systemctl("");
        announce(&node.host);
        assert_eq!(
            node.told(),
            "stop --no-block dtnforge-verdict@committed.target dtnforge-verdict@rejected.target \
             dtnforge-verdict@fallback.target dtnforge-verdict@held.target \
             dtnforge-verdict@rollback-unverified.target\n\
             start --no-block dtnforge-verdict@stock.target\n"
        );
    }

    #[test]
    fn without_systemd_nobody_is_told() {
        let node = Node::new();
        node.systemctl("");
        std::fs::remove_dir(node.host.path("/run/systemd/system")).unwrap();
        announce(&node.host);
        assert_eq!(node.told(), "");
    }
}
