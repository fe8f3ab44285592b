//! `dtn-firstboot early`.

use crate::events::{self, About};
use crate::host::Host;
use crate::{early, goodboot, notify, store};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;
use log::Level;

/// Puts a committed profile in place, or takes away what is left of one.
///
/// # Errors
/// When files cannot be written or removed.
pub fn run(host: &Host) -> anyhow::Result<Exit> {
    let marker = early::run(host)?;
    // A soft-reboot keeps the mark by which the agent of the userspace before said that it had ended.
    goodboot::forget_end(host)?;
    let loaded = store::load(host);
    let state = loaded.file.state.name();
    let about = About {
        state,
        reason: &marker.why,
        boot_id: &marker.boot_id,
        ..About::default()
    };
    let what = if marker.activated {
        "in place"
    } else {
        "nothing in place"
    };
    events::tell(
        Level::Info,
        events::ACTIVATED,
        about,
        &format!("{what}: {}", marker.why),
    );
    if let State::Fallback(fallback) = &loaded.file.state
        && fallback.boot_id == marker.boot_id
    {
        let about = About {
            state,
            reason: &fallback.reason,
            boot_id: &marker.boot_id,
            ..About::default()
        };
        let sentence = format!("fallback: {}", fallback.reason);
        events::tell(Level::Error, events::STATE_ENTERED, about, &sentence);
        notify::console(host, &sentence);
    }
    Ok(Exit::Ok)
}
