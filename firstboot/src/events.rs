//! What the agent tells the journal: one function for each event that others may wait for, with a stable message id.
//!
//! Fields: `DTNFORGE_PROFILE`, `DTNFORGE_STATE`, `DTNFORGE_REASON`, `DTNFORGE_BOOT_ID`. The unit sends its output to
//! the console as well, so the same sentence is on the serial line. When there is no journal (a test, a rescue
//! shell), the sentence goes to standard error.
//!
//! `journalctl -x` shows an explanation beside each event: the overlay `agent` has it in
//! `usr/lib/systemd/catalog/dtnforge.catalog`, under the same ids.

use log::kv::Key;
use log::{Level, LevelFilter};
use std::io::Write;
use systemd_journal_logger::JournalLog;

/// A message id, as `journalctl MESSAGE_ID=` takes it.
#[derive(Debug, Clone, Copy)]
pub struct MessageId(pub &'static str);

/// The node entered a state that it will stay in: stock, committed, rejected, ...
pub const STATE_ENTERED: MessageId = MessageId("5f2b6d3c0c5d4f6c9d1e7a4b8c2f3e10");
/// A trial began.
pub const TRIAL_BEGAN: MessageId = MessageId("a3c1f0e2b4d64c85a7f9083d6e5b2c47");
/// A round of a measurement ended.
pub const ROUND_ENDED: MessageId = MessageId("0d9e8c7b6a5f4e3d8c2b1a0f9e8d7c6b");
/// A rollback ended, verified or not.
pub const ROLLED_BACK: MessageId = MessageId("c7d2e5f8a1b3496d80e4f7c9b2a5d813");
/// The early unit put a committed plan in place, or did not and says why.
pub const ACTIVATED: MessageId = MessageId("91b4a7d0e3f64c2985d1c8b7e6a50f32");
/// A boot was recorded, judged, ended, or its counter moved; or that failed.
pub const BOOT_RECORDED: MessageId = MessageId("2e7c9a41d5b84f0fa6310c8e9d74b25a");

/// Committed values are not the live ones.
pub const DRIFT_FOUND: MessageId = MessageId("7be0c5a94d1f4a6e8b32f1d06c9a7e54");
/// An admin put back the values of a label.
pub const LABEL_RESTORED: MessageId = MessageId("e41d8f03b7a2465c9f60d2c8a5b37e19");

/// All message ids with their names, for documentation and tests.
pub const ALL: &[(&str, MessageId)] = &[
    ("state-entered", STATE_ENTERED),
    ("trial-began", TRIAL_BEGAN),
    ("round-ended", ROUND_ENDED),
    ("rolled-back", ROLLED_BACK),
    ("activated", ACTIVATED),
    ("boot-recorded", BOOT_RECORDED),
    ("drift-found", DRIFT_FOUND),
    ("label-restored", LABEL_RESTORED),
];

/// What an event is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// Profile, or empty.
    pub profile: &'a str,
    /// State, or empty.
    pub state: &'a str,
    /// Reason, or empty.
    pub reason: &'a str,
    /// Boot id.
    pub boot_id: &'a str,
}

/// Sends one sentence with its fields.
pub fn tell(level: Level, id: MessageId, about: About<'_>, sentence: &str) {
    log::log!(
        level,
        MESSAGE_ID = id.0,
        DTNFORGE_PROFILE = about.profile,
        DTNFORGE_STATE = about.state,
        DTNFORGE_REASON = about.reason,
        DTNFORGE_BOOT_ID = about.boot_id;
        "{sentence}"
    );
}

/// The log of a command that somebody started by hand: all of it on his terminal, and the events in the journal too,
/// where others wait for them.
struct Terminal {
    journal: Option<JournalLog>,
}

impl log::Log for Terminal {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        // A terminal that hung up must not end a trial in the middle: nobody reads there any more.
        let _ = writeln!(std::io::stderr(), "dtn-firstboot: {}", record.args());
        if let Some(journal) = self.journal.as_ref().filter(|_| is_event(record)) {
            journal.log(record);
        }
    }

    fn flush(&self) {}
}

/// Whether a record is one of [`ALL`], and no mere remark.
fn is_event(record: &log::Record<'_>) -> bool {
    record.key_values().get(Key::from("MESSAGE_ID")).is_some()
}

/// Sets up logging: the journal when we run as a unit; else standard error, with the events in the journal as well when
/// it is the running system that they are about (`is_live`). Level from `DTN_LOG` (default `info`).
pub fn start(is_live: bool) {
    let level = std::env::var("DTN_LOG")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(LevelFilter::Info);
    let as_unit = std::env::var_os("INVOCATION_ID").is_some() && std::env::var_os("JOURNAL_STREAM").is_some();
    // Without a journal socket standard error serves, which a unit sends to the journal as well.
    let journal = JournalLog::new().ok().filter(|_| is_live);
    // Installing fails only when a logger is there already, and then that one serves.
    let installed = match journal {
        Some(journal) if as_unit => journal.install(),
        journal => log::set_boxed_logger(Box::new(Terminal { journal })),
    };
    if installed.is_ok() {
        log::set_max_level(level);
    }
}

#[cfg(test)]
mod tests;
