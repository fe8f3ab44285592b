//! What systemd is told while we run: a status line, and more time while a measurement runs. And what the console is
//! told.
//!
//! Outside a unit there is no socket to tell; then nothing happens, which is right.

use crate::host::Host;
use sd_notify::NotifyState;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static STOP: AtomicBool = AtomicBool::new(false);

/// Shows `text` in `systemctl status` and asks for `more` time from now on.
pub fn progress(text: &str, more: Duration) {
    let micros = u32::try_from(more.as_micros()).unwrap_or(u32::MAX);
    // No socket, or a manager that is going down: neither changes what we do next.
    let _ = sd_notify::notify(&[NotifyState::Status(text), NotifyState::ExtendTimeoutUsec(micros)]);
}

/// Says `sentence` to whoever looks at the console of `host`.
pub fn console(host: &Host, sentence: &str) {
    let console = std::fs::OpenOptions::new()
        .append(true)
        .open(host.path("/dev/console"));
    if let Ok(mut console) = console {
        // A machine without a console loses nothing: the journal has the same sentence.
        let _ = writeln!(console, "dtn-firstboot: {sentence}\r");
    }
}

extern "C" fn remember_stop(_: nix::libc::c_int) {
    STOP.store(true, Ordering::SeqCst);
}

/// From now on SIGTERM, SIGINT and SIGHUP (a lost SSH session) are remembered instead of killing us, so that a live trial is taken back first.
///
/// # Errors
/// When the handlers cannot be set: then no trial may begin.
pub fn catch_stop() -> nix::Result<()> {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    let action = SigAction::new(
        SigHandler::Handler(remember_stop),
        SaFlags::empty(),
        SigSet::empty(),
    );
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: the handler only stores into an atomic, which is async-signal-safe.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// From now on a lost session is no wish to stop.
///
/// # Errors
/// When the handler cannot be set.
pub fn outlive_session() -> nix::Result<()> {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { sigaction(Signal::SIGHUP, &ignore) }?;
    Ok(())
}

/// Whether somebody asked us to stop.
pub fn stop_asked() -> bool {
    STOP.load(Ordering::SeqCst)
}
