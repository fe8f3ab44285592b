//! The host held against what it should be: `dtn-firstboot audit`. Reads only.
//!
//! On a committed node that is the committed plan. On any other host it is the plan that the matching profile would
//! have here, so that an admin sees what a trial would change and who set what is there now.

mod reference;
mod rows;
mod text;

pub use text::render;

use crate::boot;
use crate::door::Doors;
use crate::early;
use crate::host::Host;
use crate::owner::Owners;
use crate::store::Loaded;
use dtnforge_profiles::audit::{Audit, Counts};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::state::{Commit, State};

/// Holds the host against its commit, or against the profile that matches.
///
/// # Errors
/// Why there is nothing to hold it against, one sentence: no role, no layer, no profile that fits.
pub fn audit(host: &Host, loaded: &Loaded, doors: &Doors) -> Result<Audit, String> {
    let state = &loaded.file.state;
    let reference = match state {
        State::Committed(commit) => reference::of_commit(commit, doors),
        _ => reference::of_profile(host, doors)?,
    };
    let live = live_commit(host, state);
    let owners = Owners::read(host, doors, live.map(|commit| &commit.plan));
    let rows = rows::make(host, &owners, &reference);
    let knobs: Vec<KnobId> = reference
        .entries
        .iter()
        .map(|entry| entry.step.knob.clone())
        .collect();
    let mut warnings = warnings(host, loaded);
    warnings.extend(owners.warnings(&knobs));
    Ok(Audit {
        state: state.name().to_owned(),
        against: reference.against,
        profile: reference.profile,
        layer: reference.layer,
        why: reference.why,
        counts: Counts::of(&rows),
        rows,
        warnings,
    })
}

/// The commit whose values the agent put in place in this boot.
pub fn live_commit<'a>(host: &Host, state: &'a State) -> Option<&'a Commit> {
    let commit = match state {
        State::Committed(commit) => commit,
        // A hold leaves what is live as it is until the next boot.
        State::Held { previous } => return live_commit(host, previous),
        _ => return None,
    };
    let boot_id = boot::boot_id(host);
    early::live(host, state, &boot_id).then_some(commit)
}

/// What an admin has to know before he reads the rows.
fn warnings(host: &Host, loaded: &Loaded) -> Vec<String> {
    let mut warnings: Vec<String> = loaded.damage.clone().into_iter().collect();
    match &loaded.file.state {
        state @ State::Committed(_) if live_commit(host, state).is_none() => {
            let why = early::read_marker(host)
                .filter(|marker| marker.boot_id == boot::boot_id(host))
                .map_or_else(
                    || "the early unit did not run in this boot".to_owned(),
                    |marker| marker.why,
                );
            warnings.push(format!("the commit was not put in place in this boot: {why}"));
        }
        State::Rejected(rejection) => {
            warnings.push(format!(
                "{} was rejected on this node: {}",
                rejection.profile, rejection.reason
            ));
        }
        State::Baseline { .. } | State::Trial { .. } => {
            warnings.push("a trial is on disk: the values may be those of the trial".to_owned());
        }
        _ => {}
    }
    warnings
}
