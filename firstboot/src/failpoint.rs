//! Fail points: with the feature `failpoints`, `DTN_FAILPOINT=NAME:N` kills this process, as `kill -9` does, when it
//! comes by NAME for the Nth time. Without the feature there is nothing here.
//!
//! Names: `journal` after each line of the journal, `write` after each write of a knob, `file` after each file that is
//! placed, `beside` and `replaced` before and after a file is renamed over another one: the state, the record of an
//! admin's window, the record of placed files. `any` is each of them.

/// Comes by a fail point.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn hit(_name: &str) {}

/// Comes by a fail point.
#[cfg(feature = "failpoints")]
pub(crate) fn hit(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let Ok(wanted) = std::env::var("DTN_FAILPOINT") else {
        return;
    };
    let Some((wanted_name, count)) = wanted.split_once(':') else {
        return;
    };
    if (wanted_name == name || wanted_name == "any")
        && count.parse() == Ok(PASSED.fetch_add(1, Ordering::SeqCst) + 1)
    {
        // Nothing in this process may run after this line, as after a real kill; a kill that fails ends it all the same.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::process::abort();
    }
}
