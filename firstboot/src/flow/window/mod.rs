//! The window of an admin: `try` puts a plan in, `commit` keeps it, `rollback` takes it back, and `confirm` says that
//! one can still be reached.
//!
//! The trial outlives the command that began it, so what the boot's own trial keeps in memory lies in a
//! [record](record) under `/run`. Three things hold for every way out:
//!
//! - The state on disk says `trial`, with the state to return to, before the first write and until the last read-back.
//!   A power cut or a reboot ends the window: nothing of it is on disk, and the next start returns to that state.
//! - A [watcher](watch) of its own, outside of the admin's session, is there before the first write. It takes the trial
//!   back when the command dies half way, or when nobody confirms in time.
//! - Whoever ends the window holds the agent's lock and looks at the record under it, so that a `confirm` in the last
//!   second and the watcher cannot both be right.

mod admission;
mod begin;
mod confirm;
mod give_up;
mod keep;
pub mod record;
mod take_back;
mod text;
pub mod watch;

pub use begin::{Wish, begin};
pub use confirm::{Confirmation, confirm};
pub use give_up::roll_back;
pub use keep::keep;
pub use text::render;

use super::context::Context;
use crate::host::Host;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::State;
use dtnforge_profiles::window::{Phase, Report, Window};

/// How a command of the window ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code.
    pub exit: Exit,
    /// What is told.
    pub report: Report,
}

impl Ended {
    /// An end with nothing but a sentence, in the state that `context` has.
    fn with(context: &Context, exit: Exit, sentence: impl Into<String>) -> Self {
        let report = Report {
            state: context.file.state.name().to_owned(),
            sentence: sentence.into(),
            ..Report::default()
        };
        Self { exit, report }
    }
}

/// The window whose values are live, by what is on disk. One whose time to confirm is over counts no more: whoever
/// comes first takes it back.
pub fn live(host: &Host, state: &State, boot_id: &str) -> Option<Window> {
    record_of(host, state, boot_id)
        .filter(|window| window.phase == Phase::Live && !window.is_over(record::since_start()))
}

/// The record that belongs to the trial of `state`.
fn record_of(host: &Host, state: &State, boot_id: &str) -> Option<Window> {
    let State::Trial {
        boot_id: begun_in,
        former: Some(_),
        ..
    } = state
    else {
        return None;
    };
    let window = record::read(host).ok().flatten()?;
    (begun_in == boot_id && window.commit.boot_id == boot_id).then_some(window)
}

/// What the other commands say while the window is open.
pub fn notice(window: &Window) -> String {
    let profile = &window.commit.profile;
    let until = match window.left(record::since_start()) {
        None => "until `dtn-firstboot commit` or `dtn-firstboot rollback`".to_owned(),
        Some(left) => format!(
            "and taken back in {} s unless somebody says `dtn-firstboot confirm`",
            left.as_secs()
        ),
    };
    format!("an admin's trial of {profile} is live, {until}")
}
