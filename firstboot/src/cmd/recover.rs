//! `dtn-firstboot recover`.

use crate::events;
use crate::flow::Context;
use crate::flow::leftover::{self, Leftover};
use crate::flow::start;
use crate::flow::window;
use crate::host::Host;
use crate::{boot, measure, notify, store};
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;
use log::Level;

/// Take back what a trial left behind that did not end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot recover")]
pub struct Args {
    /// We run when the boot's unit ends: values that cannot be taken back are worth one reboot into stock.
    #[arg(long)]
    unit: bool,
}

/// Takes back what a dead trial left behind, then stores what became of it. Without leftovers nothing is changed.
///
/// # Errors
/// When the lock is taken, or the state cannot be stored.
pub fn run(host: Host, args: &Args) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    let mut context = Context::open(host);
    let before = context.file.state.clone();
    if let Some(window) = window::live(&context.host, &before, &context.boot_id) {
        super::print(&format!("{}: nothing to take back\n", window::notice(&window)))?;
        return Ok(Exit::Ok);
    }
    let left = leftover::end(&context.host, &before, &context.boot_id);
    if let Err(error) = measure::cleanup_leftovers(&context.host) {
        let sentence = format!("an earlier measurement left something: {error}");
        context.tell(Level::Warn, events::ROUND_ENDED, "", &sentence);
    }
    let sentence = left
        .sentence()
        .unwrap_or_else(|| "nothing to take back".to_owned());
    super::print(&format!("{sentence}\n"))?;
    if let Leftover::NotAsBefore(what) = left {
        let state = State::RollbackUnverified { what };
        context.enter(state, &sentence)?;
        if args.unit && !matches!(before, State::RollbackUnverified { .. }) {
            super::reboot(&context.host)?;
        }
        return Ok(Exit::RollbackUnverified);
    }
    // The attempt on disk is dead: its process does not hold the lock, we do.
    start::begin(&mut context.file, boot::words(&context.host));
    if context.file.state != before {
        let state = context.file.state.clone();
        context.enter(state, &sentence)?;
    }
    Ok(Exit::Ok)
}
