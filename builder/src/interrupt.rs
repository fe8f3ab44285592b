//! Ctrl-C and SIGTERM: noted here, acted on where a child is waited for, so that nothing is left half-made or running.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The user asked us to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted\nhint: run it again; what was finished is kept in the cache")]
pub struct Interrupted;

/// Takes SIGINT, SIGTERM and SIGHUP from now on.
///
/// # Errors
/// As the system says.
pub fn watch() -> std::io::Result<()> {
    let flag = FLAG.get_or_init(|| Arc::new(AtomicBool::new(false)));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Whether such a signal has come.
pub fn requested() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Stops here when such a signal has come.
///
/// # Errors
/// [`Interrupted`], then.
pub fn check() -> Result<(), Interrupted> {
    if requested() { Err(Interrupted) } else { Ok(()) }
}
