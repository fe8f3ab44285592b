//! `dtn-firstboot confirm`, `commit`, `rollback` and the hidden `watch`: what follows a `try`.

use crate::flow::Context;
use crate::flow::window::{self, Confirmation, Ended};
use crate::host::Host;
use crate::{motd, notify, store};
use dtnforge_profiles::envelope::{Envelope, Exit};
use dtnforge_profiles::window::WINDOW_SCHEMA;
use std::time::Duration;

/// Say that this node can still be reached.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtn-firstboot confirm --extend 60s")]
pub struct ConfirmArgs {
    /// Not for good: only so much more time.
    #[arg(long, value_name = "TIME", value_parser = super::try_out::within)]
    extend: Option<Duration>,
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Keep what is tried.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every knob is read before. What is kept this way was not measured, and `status` says so; `try --prove` measures.

Ends with 3 when a knob is not as it was tried: then nothing is kept.

Example: dtn-firstboot try --confirm-within 120s && dtn-firstboot commit"
)]
pub struct CommitArgs {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Take back what is live.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A trial goes back to what was before it; a commit to the values before it, and the node stays stock until \
the layer or the site's settings change, or `dtn-firstboot retry`. Every knob is read, and only then it says so.

Ends with 5 when a knob does not read as before.

Example: dtn-firstboot rollback"
)]
pub struct RollbackArgs {
    /// As JSON (schema 1).
    #[arg(long)]
    json: bool,
}

/// Confirms the trial that is live.
///
/// # Errors
/// When none is live, or the lock is taken.
pub fn confirm(host: Host, args: &ConfirmArgs) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    let context = Context::open(host);
    let what = args.extend.map_or(Confirmation::Stay, Confirmation::Extend);
    tell(&context, &window::confirm(&context, what)?, args.json)
}

/// Commits the trial that is live.
///
/// # Errors
/// When none is live, or it could not be kept.
pub fn commit(host: Host, args: &CommitArgs) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    notify::catch_stop()?;
    let mut context = Context::open(host);
    let ended = window::keep(&mut context)?;
    tell(&context, &ended, args.json)
}

/// Takes back a trial or a commit.
///
/// # Errors
/// When it could not be begun or stored.
pub fn rollback(host: Host, args: &RollbackArgs) -> anyhow::Result<Exit> {
    let _lock = store::lock(&host)?;
    // Once begun it goes on to its end: a session that is lost by it must not leave half of it.
    notify::catch_stop()?;
    let mut context = Context::open(host);
    let ended = window::roll_back(&mut context)?;
    tell(&context, &ended, args.json)
}

/// Watches a window to its end. Values that cannot be taken back are worth one reboot into stock: nobody may be able
/// to log in.
///
/// # Errors
/// When it could not be taken back.
pub fn watch(host: &Host) -> anyhow::Result<Exit> {
    let Some(ended) = window::watch::watch(host)? else {
        return Ok(Exit::Ok);
    };
    motd::write(host, &store::load(host).file);
    if ended.exit == Exit::RollbackUnverified && host.is_live() {
        super::reboot(host)?;
    }
    // An answer, and none that systemd should start us again for.
    Ok(Exit::Ok)
}

/// Prints what happened, and shows the state to whoever logs in next.
pub(super) fn tell(context: &Context, ended: &Ended, json: bool) -> anyhow::Result<Exit> {
    motd::write(&context.host, &context.file);
    let text = if json {
        Envelope::new(WINDOW_SCHEMA, &ended.report).to_text()?
    } else {
        window::render(&ended.report)
    };
    super::print(&text)?;
    Ok(ended.exit)
}
