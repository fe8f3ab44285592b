//! `dtn-firstboot boot verdict`: ends when there is a verdict, or when the site's services may not wait any longer.

use crate::boot;
use crate::detect::SystemClock;
use crate::host::Host;
use crate::siteunits::wait::{self, Waited};
use dtnforge_profiles::envelope::Exit;
use log::Level;

/// Waits, and says what the services start after.
///
/// # Errors
/// When an agent that is late cannot be stopped.
pub(super) fn run(host: &Host) -> anyhow::Result<Exit> {
    match wait::wait(host, &SystemClock::default())? {
        Waited::AgentEnded(word) => {
            super::super::print(&format!("the services of the site may start: {word}\n"))?;
        }
        Waited::AgentStopped => {
            let sentence = "no verdict in the time that the site gives: the agent was stopped, what it tried was taken \
                            back, and the services of the site start";
            super::say(host, Level::Error, &boot::boot_id(host), sentence);
        }
    }
    Ok(Exit::Ok)
}
